// How a Deployment moves from its old ReplicaSets to the new one, as pure arithmetic: given how
// many pods each set wants and has available, how many each should want next.
import type { RawRecord } from "../../../kube/kinds/fields.ts";

/** One ReplicaSet as far as the arithmetic goes. */
export interface SetSize {
  readonly name: string;
  /** `spec.replicas`. */
  readonly wanted: number;
  readonly available: number;
  /** The maximum of the Deployment when this set was last scaled. */
  readonly maxReplicas: number;
}

export interface RolloutLimits {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** The limits as numbers: a percentage of the surge is rounded up, of the unavailable down. */
export function rolloutLimits(spec: {
  readonly replicas: number;
  readonly strategy: RawRecord;
}): RolloutLimits {
  const { replicas } = spec;
  const maxSurge = scaled(spec.strategy["maxSurge"], replicas, Math.ceil);
  const maxUnavailable = scaled(spec.strategy["maxUnavailable"], replicas, Math.floor);
  // With neither, no pod could ever be replaced.
  const isStuck = maxSurge === 0 && maxUnavailable === 0;
  return { replicas, maxSurge, maxUnavailable: Math.min(isStuck ? 1 : maxUnavailable, replicas) };
}

/** How many pods the new set should want now. */
export function newSetSize(
  limits: RolloutLimits,
  newSet: Pick<SetSize, "wanted">,
  allWanted: number,
): number {
  if (newSet.wanted >= limits.replicas) return limits.replicas;
  const room = limits.replicas + limits.maxSurge - allWanted;
  if (room <= 0) return newSet.wanted;
  return newSet.wanted + Math.min(room, limits.replicas - newSet.wanted);
}

/** How many pods each old set should want now, oldest first: what is not available goes first. */
export function oldSetSizes(
  limits: RolloutLimits,
  newSet: SetSize,
  oldSets: readonly SetSize[],
): readonly number[] {
  const sizes = oldSets.map(({ wanted }) => wanted);
  const minAvailable = limits.replicas - limits.maxUnavailable;
  const newUnavailable = newSet.wanted - newSet.available;
  const allWanted = newSet.wanted + sum(sizes);
  let removable = allWanted - minAvailable - newUnavailable;
  if (removable <= 0) return sizes;
  for (const [index, { wanted, available }] of oldSets.entries()) {
    const unhealthy = Math.min(Math.max(wanted - available, 0), removable);
    sizes[index] = wanted - unhealthy;
    removable -= unhealthy;
  }
  // A set just scaled down still reports pods that are on their way out.
  const available = [newSet, ...oldSets].map((set) => Math.min(set.available, set.wanted));
  let spare = sum(available) - minAvailable;
  for (const [index, size] of sizes.entries()) {
    const surplus = Math.min(size, Math.max(spare, 0));
    sizes[index] = size - surplus;
    spare -= surplus;
  }
  return sizes;
}

/**
 * After the Deployment itself was scaled in the middle of a rollout: every set keeps its share. The
 * largest set, the first, takes what rounding leaves.
 */
export function proportionalSizes(
  limits: RolloutLimits,
  sets: readonly SetSize[],
): readonly number[] {
  const allowed = limits.replicas > 0 ? limits.replicas + limits.maxSurge : 0;
  const toAdd = allowed - sum(sets.map(({ wanted }) => wanted));
  let added = 0;
  const sizes = sets.map(({ wanted, maxReplicas }) => {
    if (toAdd === 0) return wanted;
    const share = limits.replicas === 0 ? -wanted : shareOf(wanted, maxReplicas, allowed);
    const part = toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added);
    added += part;
    return wanted + part;
  });
  return sizes.map((size, index) => Math.max(0, index === 0 ? size + toAdd - added : size));
}

function shareOf(wanted: number, maxReplicas: number, allowed: number): number {
  return Math.round((wanted * allowed) / Math.max(1, maxReplicas)) - wanted;
}

/** A number or a percentage; 0 when it is neither. */
function scaled(value: unknown, total: number, round: (value: number) => number): number {
  if (typeof value === "number") return Math.max(0, value);
  const percent = typeof value === "string" ? /^(\d+)%$/.exec(value)?.[1] : undefined;
  return percent === undefined ? 0 : round((Number(percent) * total) / 100);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
