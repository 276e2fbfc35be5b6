// Update: PUT and PATCH of an object, of its status, or of a namespace's finalizers. All are one
// read-modify-write; they differ in how the next object is made and which part of it counts.
import { isDeepStrictEqual } from "node:util";
import { ApiError } from "../api-error.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject } from "../kinds/fields.ts";
import { inheritMeta, setManagedFields } from "../kinds/object-meta.ts";
import {
  type AllocationRules,
  qualifiedResource,
  type ResourceKind,
} from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { conflict } from "../listwatch/refusals.ts";
import { canonicalCopy, validateChange } from "./api-object.ts";
import type { Backend, Target } from "./backend.ts";
import { fitNamespace } from "./create.ts";
import { removeObject } from "./delete.ts";
import type { RequestContext } from "./request-context.ts";

export interface UpdateRequest extends Target {
  readonly part: "object" | "status" | "finalize";
  /** The wanted object, a new copy each time; called again when another writer was faster. */
  readonly next: (current: KubeObject) => KubeObject;
}

/** How often an update with an allocation starts over because another writer was faster. */
const allocationMaxTries = 5;

export async function updateObject(
  backend: Backend,
  context: RequestContext,
  request: UpdateRequest,
): Promise<KubeObject> {
  const { kind, namespace, name } = request;
  if (kind.allocation !== undefined && request.part === "object") {
    return updateWithAllocation(backend, context, request, kind.allocation);
  }
  if (context.dryRun) {
    const current = await backend.store(kind).get(namespace, name);
    if (current !== undefined) {
      return changed(context, request, current);
    }
  }
  let finished: KubeObject | undefined;
  const { object } = await backend.store(kind).update(namespace, name, (current) => {
    finished = undefined;
    const next = changed(context, request, current);
    if (isFinished(kind, next)) {
      finished = next;
      return current;
    }
    return next;
  });
  if (finished !== undefined) {
    await removeObject(backend, request, object);
    return finished;
  }
  return object;
}

/** The checked and completed next version. */
function changed(context: RequestContext, request: UpdateRequest, current: KubeObject): KubeObject {
  return completed(context, request, drafted(context, request, current), current);
}

/** The object as the client wants it, with defaults, before validation. */
function drafted(context: RequestContext, request: UpdateRequest, current: KubeObject): KubeObject {
  const { kind } = request;
  const next = request.next(current);
  fitNamespace(next, request.namespace);
  checkUid(kind, next, current);
  checkVersion(kind, next, current);
  kind.setDefaults(next);
  setManagedFields(next, context.managedFieldsAfter(next, current));
  inheritMeta(next, current);
  return next;
}

function completed(
  context: RequestContext,
  { kind, part }: UpdateRequest,
  next: KubeObject,
  current: KubeObject,
): KubeObject {
  context.admit(next, current);
  if (part === "object") {
    kind.prepareUpdate(next, current);
  } else if (part === "status") {
    kind.prepareStatusUpdate(next, current);
  } else {
    next["status"] = current["status"];
  }
  next.metadata.resourceVersion = current.metadata.resourceVersion ?? "";
  validateChange(kind, next, current, part);
  return withoutIdleTimes(canonicalCopy(kind, next), current);
}

function checkVersion(kind: ResourceKind, next: KubeObject, current: KubeObject): void {
  const version = next.metadata.resourceVersion ?? "";
  if (version === "" && !kind.unconditionalUpdate) {
    const errors = new FieldErrors();
    errors.invalid("metadata.resourceVersion", 0, "must be specified for an update");
    errors.throwIfAny({ group: kind.group, kind: kind.resource }, current.metadata.name);
  }
  if (version !== "" && version !== "0" && version !== current.metadata.resourceVersion) {
    throw conflict(kind, current.metadata.name);
  }
}

function checkUid(kind: ResourceKind, next: KubeObject, current: KubeObject): void {
  const uid = next.metadata.uid ?? "";
  if (uid !== "" && uid !== current.metadata.uid) {
    throw uidConflict(kind, current, uid);
  }
}

/** The words are those of the real server's storage, which is where it notices. */
function uidConflict(kind: ResourceKind, current: KubeObject, asked: string): ApiError {
  const { name, namespace, uid = "" } = current.metadata;
  const key = `${kind.prefix}${namespace === undefined ? "" : `${namespace}/`}${name}`;
  return new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualifiedResource(kind)} ${JSON.stringify(name)}: ` +
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, ` +
      "AdditionalErrorMsg: Precondition failed: " +
      `UID in precondition: ${asked}, UID in object meta: ${uid}`,
    { name, ...(kind.group === "" ? {} : { group: kind.group }), kind: kind.resource },
  );
}

/** A deleted object whose last finalizer has just been removed. */
function isFinished(kind: ResourceKind, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0) {
    return false;
  }
  const others = kind.otherFinalizers?.(object) ?? [];
  return others.length === 0 && (deletionGracePeriodSeconds ?? 0) === 0;
}

/** Numbers are taken before the write, so the write must meet the version they were taken for. */
async function updateWithAllocation(
  backend: Backend,
  context: RequestContext,
  request: UpdateRequest,
  rules: AllocationRules,
): Promise<KubeObject> {
  const { kind, namespace, name } = request;
  const store = backend.store(kind);
  for (let tries = 1; ; tries++) {
    const { object: current } = await store.update(namespace, name, (same) => same);
    const allocation = await backend.allocator.allocate(rules, {
      object: drafted(context, request, current),
      previous: current,
      dryRun: context.dryRun,
    });
    try {
      const next = completed(context, request, allocation.object, current);
      if (context.dryRun) {
        return next;
      }
      if (isFinished(kind, next)) {
        await removeObject(backend, request, current);
        return next;
      }
      const { object } = await store.update(namespace, name, (latest) => {
        if (latest.metadata.resourceVersion !== current.metadata.resourceVersion) {
          throw conflict(kind, name);
        }
        return next;
      });
      await backend.allocator.release(allocation.released);
      return object;
    } catch (error) {
      await backend.allocator.release(allocation.keys);
      const isConflict = error instanceof ApiError && error.reason === "Conflict";
      if (!isConflict || tries >= allocationMaxTries) {
        throw error;
      }
    }
  }
}

/** A write that changes nothing but the times of its owners changes nothing at all. */
export function withoutIdleTimes(next: KubeObject, current: KubeObject): KubeObject {
  const after = next.metadata.managedFields;
  const before = current.metadata.managedFields;
  if (after === undefined || before === undefined || after.length !== before.length) return next;
  const isTimeChanged = after.some((entry, index) => timeOf(entry) !== timeOf(before[index]));
  if (!isTimeChanged || !isDeepStrictEqual(after.map(timeless), before.map(timeless))) return next;
  const old: KubeObject = { ...next, metadata: { ...next.metadata, managedFields: before } };
  return isDeepStrictEqual(old, current) ? old : next;
}

function timeOf(entry: unknown): unknown {
  return isJsonObject(entry) ? entry["time"] : undefined;
}

function timeless(entry: unknown): unknown {
  return isJsonObject(entry) ? { ...entry, time: undefined } : entry;
}
