// Metrics of Lockstep's actions on nginx. Metrics of nginx's own work come from its counters.
import { Counter, Histogram } from "prom-client";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

/** From well below a push over an idle socket to the control deadline. */
const pushBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];

export const nginxMetrics = oncePerRegistry((registry) => {
  const registers = [registry];
  return {
    pushes: new Histogram({
      name: "lockstep_nginx_push_seconds",
      help: "Time until nginx confirms one push of changes",
      buckets: pushBuckets,
      registers,
    }),
    loads: new Counter({
      name: "lockstep_nginx_full_loads_total",
      help: "Full loads that nginx confirmed",
      registers,
    }),
    failures: new Counter({
      name: "lockstep_nginx_push_failures_total",
      help: "Failed pushes and loads, by error code; each is retried",
      labelNames: ["code"] as const,
      registers,
    }),
    refused: new Counter({
      name: "lockstep_nginx_refused_entries_total",
      help: "Hosts and services that nginx rejected; they are left out",
      registers,
    }),
    starts: new Counter({
      name: "lockstep_nginx_starts_total",
      help: "Starts of nginx by Lockstep, by result",
      labelNames: ["outcome"] as const,
      registers,
    }),
  };
});
