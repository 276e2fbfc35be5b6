// pods/eviction: a deletion that a PodDisruptionBudget may refuse, with its reason in the status of
// the pod. PodDisruptionBudgets are not served, so no eviction is refused.
import { toTime } from "../../environment/clock.ts";
import { ApiError } from "../api-error.ts";
import { badRequest } from "../decode/body.ts";
import type { ExpectedKind } from "../decode/request-object.ts";
import { type JsonObject, objectAt, objectsAt, textAt, textsAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Backend, Target } from "./backend.ts";
import { fitNamespace } from "./create.ts";
import { type DeleteOptions, deleteObject, readDeleteOptions } from "./delete.ts";

/** Of any version of its group: they are the same. */
export const evictionKind: ExpectedKind = {
  kind: "Eviction",
  apiVersion: "",
  schema: "policy.v1.Eviction",
};

export async function evictPod(
  backend: Backend,
  target: Target,
  eviction: JsonObject,
  query: URLSearchParams,
): Promise<void> {
  const { kind, namespace, name } = target;
  const metadata = {
    ...objectAt(eviction, "metadata"),
    name: textAt(eviction, "metadata", "name"),
  };
  fitNamespace({ kind: "Eviction", apiVersion: "policy/v1", metadata }, namespace);
  if (metadata.name !== name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  const options = optionsOf(eviction, query);
  if (options.dryRun) {
    await deleteObject(backend, target, options);
    return;
  }
  const now = toTime(backend.clock.wallMs());
  const { object } = await backend.store(kind).update(namespace, name, (pod) => {
    refuseOther(pod, options);
    return marked(pod, now);
  });
  // The update has made a new version, so the precondition must name it.
  const { uid, resourceVersion } = options.preconditions;
  const version = resourceVersion && object.metadata.resourceVersion;
  const preconditions = { uid, resourceVersion: version };
  await deleteObject(backend, target, { ...options, preconditions });
}

/** The dry run of the request counts if the eviction has none. */
function optionsOf(eviction: JsonObject, query: URLSearchParams): DeleteOptions {
  const given = objectAt(eviction, "deleteOptions") ?? {};
  const asked = query.getAll("dryRun").filter((value) => value !== "");
  const dryRun = textsAt(given, "dryRun");
  return readDeleteOptions({ ...given, dryRun: dryRun.length > 0 ? dryRun : asked }, query);
}

function refuseOther(pod: KubeObject, { preconditions }: DeleteOptions): void {
  const { name, uid = "", resourceVersion = "" } = pod.metadata;
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    const problem = `the UID in the precondition (${preconditions.uid}) does not match the UID in`;
    throw conflict(
      name,
      `${problem} record (${uid}). The object might have been deleted and then recreated`,
    );
  }
  const version = preconditions.resourceVersion;
  if (version !== undefined && version !== resourceVersion) {
    const problem = `the ResourceVersion in the precondition (${version}) does not match the`;
    throw conflict(
      name,
      `${problem} ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    );
  }
}

function conflict(name: string, problem: string): ApiError {
  const message = `Operation cannot be fulfilled on Pod ${JSON.stringify(name)}: ${problem}`;
  return new ApiError(409, "Conflict", message, { name, kind: "Pod" });
}

function marked(pod: KubeObject, now: string): KubeObject {
  const conditions = objectsAt(pod, "status", "conditions");
  const before = conditions.find((one) => one["type"] === "DisruptionTarget");
  if (before?.["status"] === "True" && before["reason"] === evictionReason) return pod;
  const target = {
    type: "DisruptionTarget",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: evictionReason,
    message: "Eviction API: evicting",
  };
  const others = conditions.filter((one) => one !== before);
  return {
    ...pod,
    status: { ...objectAt(pod, "status"), conditions: [...others, target] },
  };
}

const evictionReason = "EvictionByEvictionAPI";
