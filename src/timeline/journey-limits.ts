// How long is waited for what, and how much is kept at most.
import type { Hop } from "./witness.ts";

/** How late a hop may be before the journey is stuck there; requests are never stuck. */
export type HopBudgets = Readonly<Record<Exclude<Hop, "traffic">, number>>;

export interface JourneyLimits {
  readonly budgetMs?: HopBudgets;
  readonly endpointsMax?: number;
  readonly pendingMax?: number;
}

/** Ordinary changes take less than a second at each hop; after this a person should know. */
export const defaultBudgetMs: HopBudgets = {
  pod: 30_000,
  published: 30_000,
  synced: 30_000,
  routed: 30_000,
};

/** At under 2 kB each 400 MB: more endpoints than Kubernetes supports pods in a cluster. */
export const defaultEndpointsMax = 200_000;

/** A rollout of a whole large cluster while nothing is published. */
export const defaultPendingMax = 50_000;

/** How long a witness that agrees may still show the changes it seems to have left out. */
export const settleMs = 10_000;

/** Of one endpoint. If it flaps more often in the time, some flaps are left out. */
export const keptMax = 32;

/** Of all endpoints that are gone, at under 2 kB each 20 MB. */
export const goneMax = 10_000;

/** Of the endpoints that a first list shows; more would take a noticeable moment. */
export const settledAtOnceMax = 10_000;

/** Longer than any incident was allowed to last. */
export const abandonAfterMs = 6 * 3_600_000;

/** Proxies wait a minute for an answer and write a request down when it is over. */
export const trafficQuietMs = 75_000;

/** The share of endpoints, and of what is pending, that only proxies or copies have named. */
export const strangersShare = 0.5;
