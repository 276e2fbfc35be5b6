// Everything that the live view, the status lines and the summary are made from, at one instant.
import type { MonotonicMs } from "../../../environment/clock.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { ObserverRun } from "../../../timeline/journey-record.ts";
import type { OldestPending } from "../../../timeline/pending-changes.ts";
import type { ObservationCounts } from "../../../timeline/timeline.ts";
import type { Hop } from "../../../timeline/witness.ts";
import type { WatchTally } from "./watch-tally.ts";

export interface Picture {
  readonly now: MonotonicMs;
  readonly startedAt: MonotonicMs;
  readonly run: ObserverRun;
  readonly tally: WatchTally;
  readonly oldest: readonly OldestPending[];
  readonly counts: ObservationCounts;
  readonly clusters: readonly ClusterStatus[];
  /** Why a hop stays unknown, and what would make it known. */
  readonly unknown: ReadonlyMap<Hop, string>;
  /** Hops that somebody was asked to report, so that their columns are there from the start. */
  readonly asked: readonly Hop[];
  /** What else somebody should know now: a proxy that is silent, a log that cannot be read. */
  readonly notes: readonly string[];
  /** Of the live view; `lockstep watch` unless given. */
  readonly title?: string | undefined;
}

/** How a change stands in it. */
export function latestIn({ tally }: Pick<Picture, "tally">): (journey: Journey) => Journey {
  return (journey) => tally.inFlight.latest(journey);
}

export interface ViewOptions {
  readonly width: number;
  readonly rows: number;
  readonly slowMs: number;
  readonly utc: boolean;
}
