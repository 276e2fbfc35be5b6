// pods/binding: a scheduler assigns a pod to a node. The spec is otherwise immutable, so this is no
// ordinary update.
import { toTime } from "../../environment/clock.ts";
import { ApiError } from "../api-error.ts";
import { badRequest } from "../decode/body.ts";
import type { ExpectedKind } from "../decode/request-object.ts";
import { type JsonObject, objectAt, objectsAt, textAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Backend, Target } from "./backend.ts";
import type { RequestContext } from "./request-context.ts";

export const bindingKind: ExpectedKind = {
  kind: "Binding",
  apiVersion: "v1",
  schema: "core.v1.Binding",
};

export async function bindPod(
  backend: Backend,
  { dryRun }: RequestContext,
  target: Target,
  binding: JsonObject,
): Promise<void> {
  const { kind, namespace, name } = target;
  if (textAt(binding, "metadata", "name") !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  const node = textAt(binding, "target", "name");
  if (node === "") {
    // The real server does not expect this and answers with 500.
    throw new ApiError(500, "", "target.name: Required value");
  }
  const uid = textAt(binding, "metadata", "uid");
  await backend.store(kind).update(namespace, name, (pod) => {
    refuseUnbindable(pod, uid);
    return dryRun ? pod : bound(pod, node, toTime(backend.clock.wallMs()));
  });
}

function refuseUnbindable(pod: KubeObject, uid: string): void {
  const { name, deletionTimestamp } = pod.metadata;
  if (uid !== "" && uid !== pod.metadata.uid) {
    throw bindingConflict(
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`,
    );
  }
  if (deletionTimestamp !== undefined) {
    throw bindingConflict(name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  const node = textAt(pod, "spec", "nodeName");
  if (node !== "") {
    throw bindingConflict(name, `pod ${name} is already assigned to node ${JSON.stringify(node)}`);
  }
}

function bound(pod: KubeObject, nodeName: string, now: string): KubeObject {
  const conditions = objectsAt(pod, "status", "conditions").filter(
    (condition) => condition["type"] !== "PodScheduled",
  );
  const scheduled = {
    lastProbeTime: null,
    lastTransitionTime: now,
    status: "True",
    type: "PodScheduled",
  };
  return {
    ...pod,
    spec: { ...objectAt(pod, "spec"), nodeName },
    status: { ...objectAt(pod, "status"), conditions: [...conditions, scheduled] },
  };
}

function bindingConflict(name: string, problem: string): ApiError {
  const message = `Operation cannot be fulfilled on pods/binding ${JSON.stringify(name)}: ${problem}`;
  return new ApiError(409, "Conflict", message, { name, kind: "pods/binding" });
}
