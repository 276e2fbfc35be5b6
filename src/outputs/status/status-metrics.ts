// How the leader's writes of Ingress statuses fare.
import { Counter } from "prom-client";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

export const statusMetrics = oncePerRegistry((registry) => ({
  writes: new Counter({
    name: "lockstep_status_writes_total",
    help: "Writes of Ingress statuses by outcome; conflicts are retried with the newer version",
    labelNames: ["outcome"] as const,
    registers: [registry],
  }),
}));
