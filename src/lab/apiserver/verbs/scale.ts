// The scale subresource: the number of replicas of a Deployment or ReplicaSet as an object of its
// own kind, so that `kubectl scale` and autoscalers need not know the kinds.
import type { ExpectedKind } from "../decode/request-object.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { ensureObject, type JsonObject, numberAt, objectAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";
import { conflict } from "../listwatch/refusals.ts";
import { formatLabelSelector } from "../select/label-selector.ts";
import { canonicalCopy } from "./api-object.ts";
import type { Backend, Target } from "./backend.ts";
import { updateObject } from "./update.ts";

export const scaleKind: ExpectedKind = {
  kind: "Scale",
  apiVersion: "autoscaling/v1",
  schema: "autoscaling.v1.Scale",
};

export function scaleOf(object: KubeObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: scaleKind.kind,
    apiVersion: scaleKind.apiVersion,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, "spec", "replicas") ?? 0 },
    status: {
      replicas: numberAt(object, "status", "replicas") ?? 0,
      selector: formatLabelSelector(objectAt(object, "spec", "selector")),
    },
  };
}

/** `next` makes the wanted Scale from the current one. */
export async function updateScale(
  backend: Backend,
  target: Target & { readonly dryRun: boolean },
  next: (current: JsonObject) => JsonObject,
): Promise<JsonObject> {
  const object = await updateObject(backend, {
    ...target,
    part: "object",
    next(current) {
      const scale = next(scaleOf(current));
      const version = objectAt(scale, "metadata")?.["resourceVersion"] ?? "";
      if (version !== "" && version !== current.metadata.resourceVersion) {
        throw conflict(target.kind, target.name);
      }
      const replicas = numberAt(scale, "spec", "replicas") ?? 0;
      const errors = new FieldErrors();
      errors.nonNegative("spec.replicas", replicas);
      errors.throwIfAny({ group: "autoscaling", kind: "Scale" }, target.name);
      const scaled = canonicalCopy(target.kind, current);
      ensureObject(scaled, "spec")["replicas"] = replicas;
      return scaled;
    },
  });
  return scaleOf(object);
}
