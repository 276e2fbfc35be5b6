// How the writes of Events fare.
import { Counter } from "prom-client";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

export const eventMetrics = oncePerRegistry((registry) => ({
  writes: new Counter({
    name: "lockstep_events_written_total",
    help: "Writes of Events about problems in objects, by outcome",
    labelNames: ["outcome"] as const,
    registers: [registry],
  }),
}));
