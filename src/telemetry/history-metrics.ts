// Counters of kept journeys for Prometheus: a history that cannot be written is noticed before it
// is needed.
import { Counter } from "prom-client";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";

/** A history, as far as it counts. */
export interface CountedHistory {
  readonly counts: {
    readonly committed: number;
    readonly dropped: number;
    readonly removed: number;
  };
}

/** Histories whose counts are shown: add to it what is opened. */
export const historyMetrics = oncePerRegistry((registry) => {
  const histories = new Set<CountedHistory>();
  new Counter({
    name: "lockstep_history_journeys_total",
    help: "Records of changes in the history, by result: written, lost, or deleted because of age or size.",
    labelNames: ["result"] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { counts } of histories) {
        for (const result of ["committed", "dropped", "removed"] as const) {
          this.inc({ result }, counts[result]);
        }
      }
    },
  });
  return histories;
});
