// The metrics of journeys as Prometheus sees them: names, help, labels and buckets. One set a
// registry, shared by all observers of a process.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { OldestPending } from "../timeline/pending-changes.ts";
import type { ObservationCounts } from "../timeline/timeline.ts";
import type { Direction, Hop } from "../timeline/witness.ts";
import { LabelBound } from "./label-bound.ts";

/** From a millisecond to two hours: the worst write-up says ten minutes, and stuck ones last. */
const lagBucketsSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600,
  1200, 1800, 3600, 7200,
];

/** The values of an observer at a scrape; the clusters' names are bounded already. */
export interface Measured {
  counts(): ObservationCounts;
  oldestPending(): readonly OldestPending[];
  watchAges(): readonly WatchAge[];
}

export interface WatchAge {
  readonly cluster: string;
  readonly watch: string;
  readonly ageMs: number;
}

/** Where a change is counted. */
export interface Place {
  readonly cluster: string;
  readonly service?: string;
}

/** A fleet larger than any that was described to us; each cluster costs some 300 series. */
const clustersMax = 100;

export type Instruments = ReturnType<typeof createInstruments>;

export function createInstruments(registry: Registry, more: readonly "service"[]) {
  const measured = new Set<Measured>();
  const shownHops = new ShownHops();
  const registers = [registry];
  const hopLabels = ["cluster", "hop", "direction", ...more] as const;
  createGauges(registry, measured, shownHops);
  return {
    measured,
    shownHops,
    clusters: new LabelBound(clustersMax),
    /** Places whose series exist; they must not be made twice, for that would set them to zero. */
    begun: new Map<string, Place>(),
    /** Hops that have histograms; the others may have no source. */
    measuredHops: new Set<Hop>(["pod", "published"]),
    lag: new Histogram({
      name: "lockstep_journey_lag_seconds",
      help: "Time from the change of the pod until a source reports it at this hop.",
      labelNames: hopLabels,
      buckets: lagBucketsSeconds,
      registers,
    }),
    intervalLags: new Counter({
      name: "lockstep_journey_interval_lags_total",
      help: "Changes reported at a hop without an exact start time; they are not in the lags.",
      labelNames: hopLabels,
      registers,
    }),
    stuck: new Counter({
      name: "lockstep_journey_stuck_total",
      help: "Changes that a source did not report at a hop within the time limit of the hop.",
      labelNames: hopLabels,
      registers,
    }),
    requests: new Counter({
      name: "lockstep_journey_requests_after_leave_total",
      help: "Requests in access logs to removed addresses, by result.",
      labelNames: ["cluster", "result"] as const,
      registers,
    }),
    over: new Counter({
      name: "lockstep_journeys_total",
      help: "Finished changes, by outcome.",
      labelNames: ["cluster", "direction", "outcome", ...more] as const,
      registers,
    }),
  };
}

function createGauges(
  registry: Registry,
  measured: ReadonlySet<Measured>,
  shownHops: ShownHops,
): void {
  const registers = [registry];
  new Gauge({
    name: "lockstep_journey_oldest_pending_seconds",
    help: "Age of the oldest change not yet visible at a hop; absent if no source reports the hop.",
    labelNames: ["cluster", "hop", "direction"] as const,
    registers,
    collect() {
      this.reset();
      for (const { cluster, hop, direction } of shownHops.all)
        this.set({ cluster, hop, direction }, 0);
      const all = [...measured].flatMap((one) => one.oldestPending());
      // The oldest last, for several clusters may share a label.
      for (const { cluster, hop, direction, ageMs } of all.sort(byAge)) {
        this.set({ cluster, hop, direction }, ageMs / 1_000);
      }
    },
  });
  new Gauge({
    name: "lockstep_observer_watch_age_seconds",
    help: "Seconds since a watch was last known to be up to date; +Inf before the first time.",
    labelNames: ["cluster", "watch"] as const,
    registers,
    collect() {
      this.reset();
      const all = [...measured].flatMap((one) => one.watchAges());
      for (const { cluster, watch, ageMs } of all.sort(byAge)) {
        this.set({ cluster, watch }, ageMs / 1_000);
      }
    },
  });
  new Counter({
    name: "lockstep_journey_reports_total",
    help: "Reports of sources, by result.",
    labelNames: ["result"] as const,
    registers,
    collect() {
      this.reset();
      for (const one of measured) {
        for (const [result, count] of Object.entries(one.counts())) this.inc({ result }, count);
      }
    },
  });
}

interface ShownHop {
  readonly cluster: string;
  readonly hop: Hop;
  readonly direction: Direction;
}

/** Hops with a source: if nothing is pending there, the age is zero and not unknown. */
class ShownHops {
  readonly #byKey = new Map<string, ShownHop>();

  get all(): Iterable<ShownHop> {
    return this.#byKey.values();
  }

  add(cluster: string, hop: Hop, direction: Direction): void {
    const key = `${cluster} ${hop} ${direction}`;
    if (!this.#byKey.has(key)) this.#byKey.set(key, { cluster, hop, direction });
  }
}

type Aged = Pick<WatchAge, "ageMs">;

/** Not by subtraction: the difference of two infinities is no number. */
function byAge(a: Aged, b: Aged): number {
  if (a.ageMs === b.ageMs) return 0;
  return a.ageMs < b.ageMs ? -1 : 1;
}
