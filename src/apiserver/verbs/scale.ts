// The scale subresource: the number of replicas of an object as a separate kind, Scale, so that
// `kubectl scale` and autoscalers need not know all kinds.
import { conform } from "../decode/conform.ts";
import type { ExpectedKind } from "../decode/request-object.ts";
import { internalError } from "../http/answer.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { ensureObject, type JsonObject, numberAt, objectAt, textAt } from "../kinds/fields.ts";
import type { ScalePaths } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { conflict } from "../listwatch/refusals.ts";
import { formatLabelSelector } from "../select/label-selector.ts";
import {
  ageColumn,
  ageOf,
  countAt,
  type KindColumns,
  nameColumn,
  nameOf,
  numberColumn,
} from "../tables/columns.ts";
import { canonicalCopy } from "./api-object.ts";
import type { Backend, Target } from "./backend.ts";
import type { RequestContext } from "./request-context.ts";
import { updateObject } from "./update.ts";

export const scaleColumns: KindColumns = {
  columns: [
    { ...nameColumn, format: "" },
    numberColumn("Desired", "How many pods are wanted."),
    numberColumn("Available", "How many pods there are."),
    ageColumn,
  ],
  cells: (scale, now) => [
    nameOf(scale),
    countAt(scale, "spec", "replicas"),
    countAt(scale, "status", "replicas"),
    ageOf(scale, now),
  ],
};

export const scaleKind: ExpectedKind = {
  kind: "Scale",
  apiVersion: "autoscaling/v1",
  schema: "autoscaling.v1.Scale",
};

/** `custom` has the paths of these fields in a custom kind. */
export function scaleOf(object: KubeObject, custom?: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { kind, apiVersion, schema } = scaleKind;
  return conform(schema, {
    kind,
    apiVersion,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, ...(custom?.specReplicas ?? builtInReplicas)) ?? 0 },
    status: {
      replicas: numberAt(object, ...(custom?.statusReplicas ?? ["status", "replicas"])) ?? 0,
      selector:
        custom === undefined
          ? formatLabelSelector(objectAt(object, "spec", "selector"))
          : textAt(object, ...(custom.labelSelector ?? [])),
    },
  }).value;
}

const builtInReplicas = ["spec", "replicas"];

/** A custom object without a number of replicas has no Scale to show. */
export function shownScale(object: KubeObject, custom: ScalePaths | undefined): JsonObject {
  if (custom !== undefined && numberAt(object, ...custom.specReplicas) === undefined) {
    const path = JSON.stringify(`.${custom.specReplicas.join(".")}`);
    throw internalError(new Error(`the spec replicas field ${path} does not exist`));
  }
  return scaleOf(object, custom);
}

/** `next` makes the wanted Scale from the current one; it also sees the object it is of. */
export async function updateScale(
  backend: Backend,
  context: RequestContext,
  target: Target,
  next: (current: JsonObject, object: KubeObject) => JsonObject,
): Promise<JsonObject> {
  const object = await updateObject(backend, context, {
    ...target,
    part: "object",
    next(current) {
      const custom = target.kind.custom?.scale;
      const scale = next(scaleOf(current, custom), current);
      const version = objectAt(scale, "metadata")?.["resourceVersion"] ?? "";
      if (version !== "" && version !== current.metadata.resourceVersion) {
        throw conflict(target.kind, target.name);
      }
      const replicas = numberAt(scale, "spec", "replicas") ?? 0;
      const errors = new FieldErrors();
      if (custom === undefined) errors.nonNegative("spec.replicas", replicas);
      errors.throwIfAny({ group: "autoscaling", kind: "Scale" }, target.name);
      const scaled = canonicalCopy(target.kind, current);
      setAt(scaled, custom?.specReplicas ?? builtInReplicas, replicas);
      return scaled;
    },
  });
  return scaleOf(object, target.kind.custom?.scale);
}

function setAt(object: JsonObject, steps: readonly string[], value: number): void {
  const [step = "", ...rest] = steps;
  if (rest.length === 0) object[step] = value;
  else setAt(ensureObject(object, step), rest, value);
}
