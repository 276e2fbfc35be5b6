// The metrics of the syncer. Writes that changed nothing are a bug, of Lockstep or another program,
// and have their own counter so that an alert can use it.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

/** A running syncer, as the gauges show it. */
export interface ShownSyncer {
  readonly target: string;
  readonly isWriting: boolean;
  /** Whether the access cluster's objects are known to be current. */
  readonly isTargetFresh: boolean;
  readonly sources: readonly { readonly cluster: string; readonly currentMsAgo: number }[];
}

export type SyncMetrics = ReturnType<typeof createMetrics>;

export const syncMetrics = oncePerRegistry(createMetrics);

/** From a millisecond to an hour: lags of several minutes must still be distinguishable. */
const lagBuckets = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

function createMetrics(registry: Registry) {
  const registers = [registry];
  /** Each gives its state when Prometheus asks. */
  const shown = new Set<() => ShownSyncer>();
  const gauge = (
    name: string,
    help: string,
    label: "source" | "target",
    series: (one: ShownSyncer) => readonly (readonly [name: string, value: number])[],
  ) =>
    new Gauge({
      name,
      help,
      labelNames: [label] as const,
      registers,
      collect() {
        this.reset();
        for (const [cluster, value] of [...shown].flatMap((state) => series(state()))) {
          this.set({ [label]: cluster }, value);
        }
      },
    });
  gauge(
    "lockstep_sync_writing",
    "1 while this instance writes the copies, 0 while it is a standby",
    "target",
    ({ target, isWriting }) => [[target, Number(isWriting)]],
  );
  gauge(
    "lockstep_sync_target_fresh",
    "1 while the objects of the access cluster are known to be up to date, else 0",
    "target",
    ({ target, isTargetFresh }) => [[target, Number(isTargetFresh)]],
  );
  gauge(
    "lockstep_sync_source_age_seconds",
    "Seconds since everything in the source was last known to be up to date; +Inf before the first time",
    "source",
    ({ sources }) => sources.map(({ cluster, currentMsAgo }) => [cluster, currentMsAgo / 1000]),
  );
  return {
    shown,
    writes: new Counter({
      name: "lockstep_sync_writes_total",
      help: "Writes that the access cluster accepted",
      labelNames: ["target", "kind", "type"] as const,
      registers,
    }),
    noopWrites: new Counter({
      name: "lockstep_sync_noop_writes_total",
      help: "Writes that changed nothing (no-op); each one is a bug",
      labelNames: ["target", "kind"] as const,
      registers,
    }),
    conflicts: new Counter({
      name: "lockstep_sync_conflicts_total",
      help: "Writes rejected because the object was changed, created or deleted in the meantime",
      labelNames: ["target", "kind"] as const,
      registers,
    }),
    blocked: new Gauge({
      name: "lockstep_sync_blocked_services",
      help: "Selected services that cannot be synced",
      labelNames: ["target"] as const,
      registers,
    }),
    ruleProblems: new Gauge({
      name: "lockstep_sync_ingress_problems",
      help: "Ingresses, rules of Ingresses and TLS secrets that cannot be delivered",
      labelNames: ["target"] as const,
      registers,
    }),
    phaseSeconds: new Histogram({
      name: "lockstep_sync_phase_seconds",
      help: "Time for one service: to decide its endpoints, or to make its writes",
      labelNames: ["target", "phase"] as const,
      buckets: lagBuckets,
      registers,
    }),
    lagSeconds: new Histogram({
      name: "lockstep_sync_lag_seconds",
      help: "Time from a change in the source cluster until its copy is written",
      labelNames: ["source", "target"] as const,
      buckets: lagBuckets,
      registers,
    }),
  };
}
