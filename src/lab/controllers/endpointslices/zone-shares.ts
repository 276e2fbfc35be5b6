// How many endpoints each zone should have, by the CPUs of its ready nodes, as a pure function: the
// arithmetic of topology aware hints (topologycache.go and utils.go of endpointslice/topologycache).
import { optionalString, recordAt } from "../../../kube/kinds/fields.ts";
import type { WholeNode } from "../nodes/whole-node.ts";
import { zoneLabel } from "./slice-groups.ts";

/** Endpoints by zone. */
export type Counts = ReadonlyMap<string, number>;

export interface Allocation {
  readonly minimum: number;
  readonly maximum: number;
  readonly desired: number;
}

/** Why no hints can be given. */
export interface Impossible {
  readonly message: string;
}

/** How much more than its share an endpoint may get. */
const overloadThreshold = 0.2;

/** Nodes with one of these labels are not counted. */
const excludedLabels = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/** Each zone's share of all CPUs; undefined when a node has no zone or CPUs, or there is one zone. */
export function zoneShares(nodes: Iterable<WholeNode>): Counts | undefined {
  const zones = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const { labels } = node.metadata;
    if (excludedLabels.some((label) => label in labels)) continue;
    if (node.ready?.status !== "True") continue;
    const zone = labels[zoneLabel] ?? "";
    const milliCpus = allocatableMilliCpus(node);
    if (zone === "" || milliCpus === 0) return undefined;
    zones.set(zone, (zones.get(zone) ?? 0) + milliCpus);
    total += milliCpus;
  }
  if (zones.size < 2) return undefined;
  return new Map([...zones].map(([zone, milliCpus]) => [zone, milliCpus / total]));
}

export function allocationsOf(
  shares: Counts | undefined,
  endpoints: number,
): ReadonlyMap<string, Allocation> | Impossible {
  if (shares === undefined) {
    return {
      message:
        "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
    };
  }
  const figures = `(${endpoints} endpoints, ${shares.size} zones)`;
  if (shares.size > endpoints) {
    return { message: `Insufficient number of endpoints ${figures}` };
  }
  const least = new Map(
    [...shares].map(([zone, share]) => [zone, leastOf(share * endpoints)] as const),
  );
  const sum = [...least.values()].reduce((one, other) => one + other, 0);
  if (sum > endpoints) {
    return {
      message:
        "Unable to allocate minimum required endpoints to each zone without exceeding overload " +
        `threshold ${figures}`,
    };
  }
  return new Map(
    [...shares].map(([zone, share]) => {
      const minimum = least.get(zone) ?? 0;
      const desired = Math.max(share * endpoints, minimum);
      return [zone, { minimum, maximum: minimum + endpoints - sum, desired }] as const;
    }),
  );
}

/** Whether a zone has fewer endpoints than its nodes' CPUs call for. */
export function isOverloaded(counts: Counts, shares: Counts | undefined): boolean {
  if (counts.size === 0) return false;
  if (shares === undefined) return true;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return [...shares].some(([zone, share]) => (counts.get(zone) ?? -1) < leastOf(total * share));
}

/** How many endpoints each zone should give to others, and how many each should get. */
export function movesBetween(
  allocations: ReadonlyMap<string, Allocation>,
  counts: Counts,
): { readonly giving: Map<string, number>; readonly receiving: Map<string, number> } {
  const surplus = new Map<string, number>();
  const lack = new Map<string, number>();
  for (const [zone, { desired }] of allocations) {
    const over = (counts.get(zone) ?? 0) - desired;
    if (over > 0) surplus.set(zone, over);
    if (over < 0) lack.set(zone, -over);
  }
  const giving = new Map<string, number>();
  const receiving = new Map<string, number>();
  for (;;) {
    const [giver, toGive] = most(surplus);
    const [receiver, toReceive] = most(lack);
    const isTooLittle = (toGive < 1 && toReceive < 1) || toGive < 0.5 || toReceive < 0.5;
    if (giver === undefined || receiver === undefined || isTooLittle) break;
    giving.set(giver, (giving.get(giver) ?? 0) + 1);
    receiving.set(receiver, (receiving.get(receiver) ?? 0) + 1);
    surplus.set(giver, toGive - 1);
    lack.set(receiver, toReceive - 1);
  }
  return { giving, receiving };
}

function leastOf(desired: number): number {
  return Math.ceil(desired * (1 / (1 + overloadThreshold)));
}

function most(zones: Counts): readonly [string | undefined, number] {
  let best: readonly [string | undefined, number] = [undefined, 0];
  for (const [zone, amount] of zones) if (amount > best[1]) best = [zone, amount];
  return best;
}

/** `4` or `3920m`; other forms of a quantity are as good as none. */
function allocatableMilliCpus({ raw }: WholeNode): number {
  const status = recordAt(recordAt(raw, "status"), "allocatable");
  const [, digits = "", milli] =
    /^(\d+(?:\.\d+)?)(m?)$/.exec(optionalString(status, "cpu") ?? "") ?? [];
  const amount = Number(digits);
  return digits === "" ? 0 : milli === "m" ? amount : amount * 1000;
}
