// The metrics of twins. A histogram of late slices shows what the twins are worth; its count is there
// before the first late change, so that an alert can use it.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

export type TwinMetrics = ReturnType<typeof createMetrics>;

export const twinMetrics = oncePerRegistry(createMetrics);

/** From a write's own time to an hour: lags of several minutes must still be distinguishable. */
const lateBuckets = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

function createMetrics(registry: Registry) {
  const registers = [registry];
  const writes = new Counter({
    name: "lockstep_assist_writes_total",
    help: "Writes to twins that the API server accepted",
    labelNames: ["by"] as const,
    registers,
  });
  for (const by of ["leader", "standby"] as const) writes.inc({ by }, 0);
  return {
    writes,
    originalLate: new Histogram({
      name: "lockstep_assist_original_late_seconds",
      help: "Time from a change in a twin until the Service's own EndpointSlices show it",
      labelNames: ["direction"] as const,
      buckets: lateBuckets,
      registers,
    }),
    twins: new Gauge({
      name: "lockstep_assist_twins",
      help: "Twins by state: kept by Lockstep, handed back to Kubernetes",
      labelNames: ["state"] as const,
      registers,
    }),
    blocked: new Gauge({
      name: "lockstep_assist_blocked_twins",
      help: "Twins that are wanted and cannot be kept",
      registers,
    }),
    behind: new Gauge({
      name: "lockstep_assist_original_behind_seconds",
      help: "Age of the oldest change that a twin shows and its Service's own slices do not",
      registers,
    }),
    leading: new Gauge({
      name: "lockstep_assist_leading",
      help: "1 while this replica holds the Lease and writes, else 0",
      registers,
    }),
    fresh: new Gauge({
      name: "lockstep_assist_watches_fresh",
      help: "1 while every watch of this replica is up to date, else 0",
      registers,
    }),
  };
}
