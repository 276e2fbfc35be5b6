// Results of sending spans, for Prometheus: an unreachable trace store must not look like a fleet
// without changes.
import { Counter, Gauge } from "prom-client";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";

/** The counts of an exporter. */
export interface CountedExporter {
  readonly counts: {
    readonly sent: number;
    readonly dropped: number;
    readonly rejected: number;
    readonly waiting: number;
  };
}

/** Exporters whose counts are shown; each adds itself. */
export const otlpMetrics = oncePerRegistry((registry) => {
  const exporters = new Set<CountedExporter>();
  const registers = [registry];
  new Counter({
    name: "lockstep_otlp_spans_total",
    help: "Spans for the trace store, by result.",
    labelNames: ["result"] as const,
    registers,
    collect() {
      this.reset();
      for (const { counts } of exporters) {
        for (const result of ["sent", "dropped", "rejected"] as const) {
          this.inc({ result }, counts[result]);
        }
      }
    },
  });
  new Gauge({
    name: "lockstep_otlp_waiting_spans",
    help: "Spans waiting to be sent to the trace store.",
    registers,
    collect() {
      this.set([...exporters].reduce((sum, { counts }) => sum + counts.waiting, 0));
    },
  });
  return exporters;
});
