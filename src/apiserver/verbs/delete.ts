// Delete. An object is removed at once, or marked and removed later: when the kubelet has confirmed
// its grace period, or when its last finalizer has been removed.
import { type Clock, toTime, type WallMs } from "../../environment/clock.ts";
import { ApiError } from "../api-error.ts";
import { badRequest } from "../decode/body.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { type JsonObject, numberAt, textAt, textsAt, valueAt } from "../kinds/fields.ts";
import { foregroundFinalizer, markForDeletion, orphanFinalizer } from "../kinds/object-meta.ts";
import type { DeletionPlan, ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Backend, Target } from "./backend.ts";

interface DeleteOutcome {
  /** The object as it was removed, or as it now waits to be. */
  readonly object: KubeObject;
  readonly removed: boolean;
}

export async function deleteObject(
  backend: Backend,
  target: Target,
  options: DeleteOptions,
): Promise<DeleteOutcome> {
  const { kind, namespace, name } = target;
  if (kind.undeletableNames?.includes(name)) {
    throw new ApiError(
      403,
      "Forbidden",
      `${kind.resource} ${JSON.stringify(name)} is forbidden: this ${kind.singular} may not be deleted`,
      { name, kind: kind.resource },
    );
  }
  let goesNow = false;
  const change = (current: KubeObject) => {
    checkPreconditions(kind, current, options);
    const plan = planDeletion(kind, current, options, backend.clock);
    goesNow = plan.goesNow;
    return plan.object;
  };
  if (options.dryRun) {
    return dryRunDelete(backend, target, change, () => goesNow);
  }
  const { object } = await backend.store(kind).update(namespace, name, change);
  if (!goesNow) {
    return { object, removed: false };
  }
  return { object: await removeObject(backend, target, object), removed: true };
}

/** Takes the object out of the storage, provided it is still the one that was decided about. */
export async function removeObject(
  backend: Backend,
  target: Target,
  decided: KubeObject,
): Promise<KubeObject> {
  const { kind, namespace, name } = target;
  const removed = await backend.store(kind).delete(namespace, name, (current) => {
    if (current.metadata.uid !== decided.metadata.uid) {
      throw preconditionConflict(kind, current, "UID", decided.metadata.uid ?? "");
    }
  });
  if (kind.allocation !== undefined) {
    await backend.allocator.release(kind.allocation.heldKeys(removed));
  }
  return removed;
}

async function dryRunDelete(
  backend: Backend,
  { kind, namespace, name }: Target,
  change: (current: KubeObject) => KubeObject,
  goesNow: () => boolean,
): Promise<DeleteOutcome> {
  const { object: current } = await backend.store(kind).update(namespace, name, (same) => same);
  const object = change(current);
  return { object, removed: goesNow() };
}

function checkPreconditions(
  kind: ResourceKind,
  current: KubeObject,
  { preconditions }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions;
  if (uid !== undefined && uid !== current.metadata.uid) {
    throw preconditionConflict(kind, current, "UID", uid);
  }
  if (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion) {
    throw preconditionConflict(kind, current, "ResourceVersion", resourceVersion);
  }
}

function preconditionConflict(
  kind: ResourceKind,
  current: KubeObject,
  what: "UID" | "ResourceVersion",
  asked: string,
): ApiError {
  const { name, uid = "", resourceVersion = "" } = current.metadata;
  const actual = what === "UID" ? uid : resourceVersion;
  if (kind.planDeletion !== undefined) {
    // A kind with a deletion of its own is not checked by the generic store, which words it
    // otherwise.
    return new ApiError(
      409,
      "Conflict",
      `Operation cannot be fulfilled on ${kind.resource} ${JSON.stringify(name)}: Precondition ` +
        `failed: ${what} in precondition: ${asked}, ${what} in object meta: ${actual}`,
      { name, kind: kind.resource },
    );
  }
  const outcome = what === "UID" ? "deleted and then recreated" : "modified";
  return new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualifiedKind(kind)} ${JSON.stringify(name)}: the ` +
      `${what} in the precondition (${asked}) does not match the ${what} in record (${actual}). ` +
      `The object might have been ${outcome}`,
    { name, ...(kind.group === "" ? {} : { group: kind.group }), kind: kind.kind },
  );
}

/** Here the server names the kind and not the resource. */
function qualifiedKind({ kind, group }: ResourceKind): string {
  return group === "" ? kind : `${kind}.${group}`;
}

function planDeletion(
  kind: ResourceKind,
  current: KubeObject,
  options: DeleteOptions,
  clock: Clock,
): DeletionPlan {
  if (kind.planDeletion !== undefined) {
    return kind.planDeletion(current, clock.wallMs());
  }
  const isDeleting = current.metadata.deletionTimestamp !== undefined;
  if (kind.markDeleted !== undefined && !isDeleting) {
    return { object: kind.markDeleted(current, toTime(clock.wallMs())), goesNow: false };
  }
  const grace = kind.gracePeriodSeconds?.(current, options.gracePeriodSeconds);
  const finalizers = finalizersFor(kind, current, options);
  if (grace !== undefined && isDeleting && current.metadata.deletionGracePeriodSeconds !== 0) {
    return planShorterGrace(current, options, clock.wallMs());
  }
  if (grace !== undefined && !isDeleting) {
    const object = markForDeletion(current, { wall: clock.wallMs(), grace, finalizers });
    return { object, goesNow: grace === 0 && finalizers.length === 0 };
  }
  if (finalizers.length > 0) {
    return {
      object: markForDeletion(current, { wall: clock.wallMs(), grace: 0, finalizers }),
      goesNow: false,
    };
  }
  return { object: current, goesNow: true };
}

/** A second DELETE of a pod may only shorten its grace period. */
function planShorterGrace(current: KubeObject, options: DeleteOptions, wall: WallMs): DeletionPlan {
  const {
    deletionTimestamp = "",
    deletionGracePeriodSeconds = 0,
    finalizers = [],
  } = current.metadata;
  const asked = options.gracePeriodSeconds;
  if (asked === undefined || asked >= deletionGracePeriodSeconds) {
    return { object: current, goesNow: false };
  }
  const began = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  const ends = began + asked * 1000;
  const isOver = ends < wall;
  const grace = isOver && asked !== 0 ? 1 : asked;
  const object = {
    ...current,
    metadata: {
      ...current.metadata,
      deletionTimestamp: isOver ? toTime(wall) : `${new Date(ends).toISOString().slice(0, 19)}Z`,
      deletionGracePeriodSeconds: grace,
    },
  };
  return { object, goesNow: grace === 0 && finalizers.length === 0 };
}

/** The propagation policy, recorded as the finalizer that the garbage collector looks for. */
function finalizersFor(
  { orphansByDefault }: ResourceKind,
  current: KubeObject,
  options: DeleteOptions,
): readonly string[] {
  const { finalizers = [], deletionTimestamp } = current.metadata;
  const { propagationPolicy = orphansByDefault && "Orphan" } = options;
  if (propagationPolicy === undefined || deletionTimestamp !== undefined) {
    return finalizers;
  }
  const others = finalizers.filter(
    (name) => name !== orphanFinalizer && name !== foregroundFinalizer,
  );
  switch (propagationPolicy) {
    case "Orphan":
      return [...others, orphanFinalizer];
    case "Foreground":
      return [...others, foregroundFinalizer];
    case "Background":
      return others;
  }
}

// The options of a DELETE, from its body or, if there is no body, from the query.

const policies = ["Foreground", "Background", "Orphan"] as const;

type PropagationPolicy = (typeof policies)[number];

export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: PropagationPolicy | undefined;
  readonly preconditions: {
    readonly uid: string | undefined;
    readonly resourceVersion: string | undefined;
  };
  readonly dryRun: boolean;
}

/** `body` conforms to `meta.v1.DeleteOptions`, or is undefined when the request had none. */
export function readDeleteOptions(
  body: JsonObject | undefined,
  query: URLSearchParams,
): DeleteOptions {
  const given = body ?? fromQuery(query);
  const orphan = valueAt(given, "orphanDependents");
  const policy = textAt(given, "propagationPolicy") || legacyPolicy(orphan);
  const dryRun = textsAt(given, "dryRun");
  const errors = new FieldErrors();
  if (policy !== "" && !isPolicy(policy)) {
    errors.notSupported("propagationPolicy", policy, [...policies, "nil"]);
  }
  if (dryRun.some((value) => value !== "All")) {
    errors.notSupported("dryRun", dryRun, ["All"]);
  }
  if (
    valueAt(given, "orphanDependents") !== undefined &&
    textAt(given, "propagationPolicy") !== ""
  ) {
    const detail = "orphanDependents and deletionPropagation cannot be both set";
    errors.invalid("propagationPolicy", policy, detail);
  }
  errors.throwIfAny({ group: "meta.k8s.io", kind: "DeleteOptions" }, "");
  return {
    gracePeriodSeconds: numberAt(given, "gracePeriodSeconds"),
    propagationPolicy: isPolicy(policy) ? policy : undefined,
    preconditions: {
      uid: textAt(given, "preconditions", "uid") || undefined,
      resourceVersion: textAt(given, "preconditions", "resourceVersion") || undefined,
    },
    dryRun: dryRun.length > 0,
  };
}

function legacyPolicy(orphan: unknown): string {
  if (orphan === undefined) {
    return "";
  }
  return orphan === true ? "Orphan" : "Background";
}

function isPolicy(text: string): text is PropagationPolicy {
  return policies.some((policy) => policy === text);
}

function fromQuery(query: URLSearchParams): JsonObject {
  const grace = query.get("gracePeriodSeconds");
  if (grace !== null && !/^-?\d+$/.test(grace)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
  }
  const orphan = query.get("orphanDependents");
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(orphan === null ? {} : { orphanDependents: orphan === "true" }),
    propagationPolicy: query.get("propagationPolicy") ?? "",
    dryRun: query.getAll("dryRun"),
  };
}
