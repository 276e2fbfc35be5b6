// What became of the spans that were to be sent, for Prometheus: a trace store that is away must not
// look like a fleet in which nothing happens.
import { Counter, Gauge } from "prom-client";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";

/** What an exporter has counted. */
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
