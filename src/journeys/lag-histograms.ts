// How long changes take at each hop, for Prometheus. Labels are cluster, hop and direction, never
// an address, a pod or a replica, so the number of series stays small. A histogram shows nothing of
// a change that never arrives: the age of the oldest pending one stands beside it.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Clock } from "../environment/clock.ts";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";
import type { JourneyEvent, Journeys } from "./journeys.ts";

export interface LagHistogramsOptions {
  readonly registry: Registry;
  readonly clock: Clock;
}

/** What is asked at every scrape. */
interface MeasuredJourneys {
  readonly journeys: Pick<Journeys, "counts" | "oldestPending">;
  readonly clock: Clock;
}

/** From a millisecond to two hours: the worst write-up says ten minutes, and stuck ones last. */
const lagBucketsSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600,
  1200, 1800, 3600, 7200,
];

export class LagHistograms {
  readonly #options: LagHistogramsOptions;
  readonly #metrics: JourneyMetrics;

  constructor(options: LagHistogramsOptions) {
    this.#options = options;
    this.#metrics = metricsOf(options.registry);
  }

  /** For `JourneysOptions.onEvent`. */
  readonly onEvent = (event: JourneyEvent): void => {
    const { journey } = event;
    const { direction } = journey;
    const cluster = journey.endpoint.cluster ?? "";
    switch (event.type) {
      case "shown": {
        const { hop, state } = event.hop;
        if (state.type !== "shown") return;
        this.#metrics.lag.observe({ cluster, hop, direction }, state.lagMs / 1000);
        break;
      }
      case "stuck":
        this.#metrics.stuck.inc({ cluster, hop: event.hop.hop, direction });
        break;
      case "over":
        this.#metrics.over.inc({ cluster, direction, outcome: journey.outcome });
        break;
    }
  };

  /** Shows the ages and counts of these journeys until the returned function is called. */
  measure(journeys: Pick<Journeys, "counts" | "oldestPending">): () => void {
    const measured = { journeys, clock: this.#options.clock };
    this.#metrics.measured.add(measured);
    return () => void this.#metrics.measured.delete(measured);
  }
}

type JourneyMetrics = ReturnType<typeof createMetrics>;

const metricsOf = oncePerRegistry(createMetrics);

function createMetrics(registry: Registry) {
  const measured = new Set<MeasuredJourneys>();
  const registers = [registry];
  const hopLabels = ["cluster", "hop", "direction"] as const;
  new Gauge({
    name: "lockstep_journey_oldest_pending_seconds",
    help: "Age of the oldest change that a hop has yet to show.",
    labelNames: hopLabels,
    registers,
    collect() {
      this.reset();
      for (const { journeys, clock } of measured) {
        for (const { cluster, hop, direction, ageMs } of journeys.oldestPending(
          clock.monotonicMs(),
        )) {
          this.set({ cluster, hop, direction }, ageMs / 1000);
        }
      }
    },
  });
  new Counter({
    name: "lockstep_journey_reports_total",
    help: "What witnesses reported, by what became of it.",
    labelNames: ["result"] as const,
    registers,
    collect() {
      this.reset();
      for (const { journeys } of measured) {
        for (const [result, count] of Object.entries(journeys.counts)) this.inc({ result }, count);
      }
    },
  });
  return {
    measured,
    lag: new Histogram({
      name: "lockstep_journey_lag_seconds",
      help: "Time from a change's origin until a witness of the hop showed it.",
      labelNames: hopLabels,
      buckets: lagBucketsSeconds,
      registers,
    }),
    stuck: new Counter({
      name: "lockstep_journey_stuck_total",
      help: "Hops that a change had not reached within the hop's budget.",
      labelNames: hopLabels,
      registers,
    }),
    over: new Counter({
      name: "lockstep_journeys_total",
      help: "Changes of which nothing more will be learnt, by how they ended.",
      labelNames: ["cluster", "direction", "outcome"] as const,
      registers,
    }),
  };
}
