// Update: PUT and PATCH of an object, of its status, or of a namespace's finalizers. All are one
// read-modify-write; what differs is how the next object is made and which part of it counts.
import { ApiError } from "../api-error.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { textsAt } from "../kinds/fields.ts";
import { inheritMeta } from "../kinds/object-meta.ts";
import { qualifiedResource, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { conflict } from "../listwatch/refusals.ts";
import { canonicalCopy, validateChange } from "./api-object.ts";
import type { Backend, Target } from "./backend.ts";
import { fitNamespace } from "./create.ts";
import { removeObject } from "./delete.ts";

export interface UpdateRequest extends Target {
  readonly dryRun: boolean;
  readonly part: "object" | "status" | "finalize";
  /** The wanted object, a new copy each time; called again when another writer was faster. */
  readonly next: (current: KubeObject) => KubeObject;
}

/** How often a service update starts over because another writer changed it in between. */
const serviceMaxTries = 5;

export async function updateObject(backend: Backend, request: UpdateRequest): Promise<KubeObject> {
  const { kind, namespace, name } = request;
  if (kind.kind === "Service" && request.part === "object" && !request.dryRun) {
    return updateService(backend, request);
  }
  if (request.dryRun) {
    const current = await backend.store(kind).get(namespace, name);
    if (current !== undefined) {
      return changed(request, current);
    }
  }
  let finished: KubeObject | undefined;
  const { object } = await backend.store(kind).update(namespace, name, (current) => {
    finished = undefined;
    const next = changed(request, current);
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
function changed(request: UpdateRequest, current: KubeObject): KubeObject {
  const { kind, part } = request;
  const next = request.next(current);
  fitNamespace(next, request.namespace);
  checkVersion(kind, next, current);
  checkUid(kind, next, current);
  kind.setDefaults(next);
  inheritMeta(next, current);
  if (part === "object") {
    kind.prepareUpdate(next, current);
  } else if (part === "status") {
    kind.prepareStatusUpdate(next, current);
  } else {
    next["status"] = current["status"];
  }
  next.metadata.resourceVersion = current.metadata.resourceVersion ?? "";
  validateChange(kind, next, current);
  return canonicalCopy(kind, next);
}

function checkVersion(kind: ResourceKind, next: KubeObject, current: KubeObject): void {
  const version = next.metadata.resourceVersion ?? "";
  if (version === "" && !kind.unconditionalUpdate) {
    const errors = new FieldErrors();
    errors.invalid("metadata.resourceVersion", "", "must be specified for an update");
    errors.throwIfAny(kind, current.metadata.name);
  }
  if (version !== "" && version !== "0" && version !== current.metadata.resourceVersion) {
    throw conflict(kind, current.metadata.name);
  }
}

function checkUid(kind: ResourceKind, next: KubeObject, current: KubeObject): void {
  const uid = next.metadata.uid ?? "";
  if (uid !== "" && uid !== current.metadata.uid) {
    throw uidConflict(kind, current.metadata.name, uid, current.metadata.uid ?? "");
  }
}

export function uidConflict(
  kind: ResourceKind,
  name: string,
  asked: string,
  actual: string,
): ApiError {
  return new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualifiedResource(kind)} ${JSON.stringify(name)}: ` +
      `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${actual}`,
    { name, ...(kind.group === "" ? {} : { group: kind.group }), kind: kind.resource },
  );
}

/** A deleted object whose last finalizer has just been taken away. */
function isFinished(kind: ResourceKind, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0) {
    return false;
  }
  return kind.kind === "Namespace"
    ? textsAt(object, "spec", "finalizers").length === 0
    : deletionGracePeriodSeconds === 0;
}

/** Addresses are taken before the write, so the write must then meet the version they were for. */
async function updateService(backend: Backend, request: UpdateRequest): Promise<KubeObject> {
  const { kind, namespace, name } = request;
  const store = backend.store(kind);
  for (let tries = 1; ; tries++) {
    const { object: current } = await store.update(namespace, name, (same) => same);
    const next = changed(request, current);
    if (isFinished(kind, next)) {
      await removeObject(backend, request, current);
      return next;
    }
    const allocation = await backend.allocator.allocate(next, current);
    const service = canonicalCopy(kind, allocation.service);
    try {
      const { object } = await store.update(namespace, name, (latest) => {
        if (latest.metadata.resourceVersion !== current.metadata.resourceVersion) {
          throw conflict(kind, name);
        }
        return service;
      });
      return object;
    } catch (error) {
      await backend.allocator.release(allocation.keys);
      const isConflict = error instanceof ApiError && error.reason === "Conflict";
      if (!isConflict || tries >= serviceMaxTries) {
        throw error;
      }
    }
  }
}
