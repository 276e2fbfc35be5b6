// One change with its time at every hop, as it is shown, measured and kept.
import { elapsedMs, type MonotonicMs, type WallMs } from "../environment/clock.ts";
import type { Direction, Hop, WitnessedEndpoint } from "./witness.ts";

export interface Journey {
  readonly id: number;
  readonly endpoint: WitnessedEndpoint;
  readonly podName: string | undefined;
  readonly direction: Direction;
  readonly cause: string | undefined;
  readonly origin: Origin;
  /** In the order of the hops, and of the witnesses' names at a hop. */
  readonly hops: readonly HopTime[];
  readonly outcome: Outcome;
  /** An earlier run of the observer has seen it in flight: the id of its record there. */
  readonly continues?: string;
  /** The cluster's own time of the event; absent if the cluster has none. */
  readonly clusterTime?: ClusterTime;
  /** The requests to the address after it left; absent without an access log. */
  readonly traffic?: LeaveTraffic;
}

/** The earliest witness; requests never make an origin. */
export interface Origin {
  readonly at: MonotonicMs;
  /** When the change was learnt from a list: it happened between this instant and `at`. */
  readonly notBefore: MonotonicMs | undefined;
  /**
   * Some hop had yet to show it when the observation began at `at`: it happened some time before. Where an
   * earlier run had seen it in flight, `at` is its origin there. Every lag is then a lower bound without an upper one.
   */
  readonly beforeStart?: true;
}

/** The cluster's own word, by its own clock. */
export interface ClusterTime {
  /** Kubernetes cuts fractions off: it happened within the second that begins here. */
  readonly at: WallMs;
  /** How long before the origin that was, once the clocks' difference is taken out of it. */
  readonly beforeOriginMs?: LagRange;
}

/** Requests to an address after it left and before another pod had it. */
export interface LeaveTraffic {
  readonly requests: number;
  /** Those that it did not answer: sent to a dead address. */
  readonly failed: number;
  readonly lastFailedAt: MonotonicMs | undefined;
}

/** The bounds of a lag that is not known exactly. */
export interface LagRange {
  readonly minMs: number;
  /** Undefined when there is no telling how long it was. */
  readonly maxMs: number | undefined;
}

export type Outcome =
  | "pending"
  /** Every witness that follows the service has shown it. */
  | "complete"
  /** The opposite change came before every witness had shown this one. */
  | "superseded"
  /** Some witness showed it, the pod watch never did, and the witness took it back. */
  | "withdrawn"
  /** It was pending for so long that it is no longer waited for. */
  | "abandoned"
  /** It had to go because too many were pending. */
  | "dropped"
  /** In a history only: the observer ended before the journey did. */
  | "unknown";

export interface HopTime {
  readonly hop: Hop;
  /** The name of the witness at that hop. */
  readonly witness: string;
  readonly state: HopState;
}

export type HopState =
  /**
   * At `traffic`: the first request to an address that joined, the last to one that left. `range` is
   * there when the lag is not exact: the origin or the hop was learnt from a list, or the change
   * began before the observation. With an exact origin `lagMs` is the upper end of it; otherwise it
   * is the least that one can say, and does not belong into a histogram.
   */
  | { readonly type: "shown"; readonly lagMs: number; readonly range?: LagRange }
  | { readonly type: "pending" }
  /** Pending for longer than the hop's budget. */
  | { readonly type: "stuck" }
  /** The witness had it so all along: it never showed the change that this one undid. */
  | { readonly type: "unchanged" }
  /** The witness went on to a later change without showing this one. */
  | { readonly type: "passed" }
  /** At `traffic`: no request was sent there as long as one was waited for. */
  | { readonly type: "quiet" };

/** How long ago the change began. */
export function ageMs(journey: Journey, now: MonotonicMs): number {
  return elapsedMs(journey.origin.at, now);
}

/** Where it is not exact, every lag is no more than the least that it can have been. */
export function hasExactOrigin({ origin }: Journey): boolean {
  return origin.notBefore === undefined && origin.beforeStart === undefined;
}

/** The lag at each witness of the hop that has shown it. */
export function lagsAt(journey: Journey, hop: Hop): readonly number[] {
  return journey.hops.flatMap(({ hop: at, state }) =>
    at === hop && state.type === "shown" ? [state.lagMs] : [],
  );
}

/** No request is expected, so `traffic` is never awaited. */
export function isAwaited({ hops }: Journey): boolean {
  return hops.some(
    ({ hop, state }) => hop !== "traffic" && (state.type === "pending" || state.type === "stuck"),
  );
}

export function hasStuckHop({ hops }: Journey): boolean {
  return hops.some(({ state }) => state.type === "stuck");
}
