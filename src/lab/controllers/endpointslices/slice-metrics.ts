// Metrics of the EndpointSlice controller, with the real names
// (staging/src/k8s.io/endpointslice/metrics of 1.33).
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../../../kube/metrics-of-registry.ts";
import type { SliceCounts } from "./slice-plan.ts";

export type SliceOperation = "create" | "update" | "delete";

/** ExponentialBuckets(2, 2, 15). */
const endpointBuckets = Array.from({ length: 15 }, (_, power) => 2 ** (power + 1));

/** Prometheus' own: the changed slices name none. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The traffic settings of a service. */
export interface WantedTraffic {
  readonly topology: "Auto" | "Disabled";
  readonly traffic_distribution: string;
}

interface Totals {
  readonly endpoints: number;
  readonly slices: number;
  readonly desired: number;
}

const none: Totals = { endpoints: 0, slices: 0, desired: 0 };

export class SliceMetrics {
  readonly #metrics: ReturnType<typeof metricsOf>;
  readonly #maxEndpoints: number;
  /** By service, as the last sync left it. */
  readonly #services = new Map<string, Totals>();

  constructor(options: { readonly registry: Registry; readonly maxEndpoints: number }) {
    this.#metrics = metricsOf(options.registry);
    this.#maxEndpoints = options.maxEndpoints;
  }

  synced(result: "success" | "stale" | "error"): void {
    this.#metrics.syncs.inc({ result });
  }

  changed(operation: SliceOperation): void {
    this.#metrics.changes.inc({ operation });
  }

  /** Of one service and address family; where there are two, the last one stands, as in the source. */
  planned(service: string, { added, removed, groups }: SliceCounts): void {
    this.#metrics.added.observe(added);
    this.#metrics.removed.observe(removed);
    const sum = (part: (group: SliceCounts["groups"][number]) => number): number =>
      groups.reduce((total, group) => total + part(group), 0);
    this.#replace(service, {
      endpoints: sum(({ endpoints }) => endpoints),
      slices: sum(({ slices }) => slices),
      // An empty service has its placeholder.
      desired: Math.max(
        1,
        sum(({ endpoints }) => Math.ceil(endpoints / this.#maxEndpoints)),
      ),
    });
  }

  carriedOut(slices: number, { topology, traffic_distribution }: WantedTraffic): void {
    this.#metrics.changedPerSync.observe({ topology, traffic_distribution }, slices);
  }

  gone(service: string): void {
    if (!this.#services.has(service)) return;
    this.#replace(service, none);
    this.#services.delete(service);
  }

  #replace(service: string, now: Totals): void {
    const before = this.#services.get(service) ?? none;
    this.#services.set(service, now);
    this.#metrics.endpoints.inc(now.endpoints - before.endpoints);
    this.#metrics.slices.inc(now.slices - before.slices);
    this.#metrics.desired.inc(now.desired - before.desired);
  }
}

const metricsOf = oncePerRegistry((registry: Registry) => {
  const registers = [registry];
  const named = (name: string, help: string) => ({
    name: `endpoint_slice_controller_${name}`,
    help: `[ALPHA] ${help}`,
    registers,
  });
  return {
    added: new Histogram({
      ...named("endpoints_added_per_sync", "Number of endpoints added on each Service sync"),
      buckets: endpointBuckets,
    }),
    removed: new Histogram({
      ...named("endpoints_removed_per_sync", "Number of endpoints removed on each Service sync"),
      buckets: endpointBuckets,
    }),
    endpoints: new Gauge(named("endpoints_desired", "Number of endpoints desired")),
    slices: new Gauge(named("num_endpoint_slices", "Number of EndpointSlices")),
    desired: new Gauge(
      named(
        "desired_endpoint_slices",
        "Number of EndpointSlices that would exist with perfect endpoint allocation",
      ),
    ),
    changes: new Counter({
      ...named("changes", "Number of EndpointSlice changes"),
      labelNames: ["operation"] as const,
    }),
    changedPerSync: new Histogram({
      ...named(
        "endpointslices_changed_per_sync",
        "Number of EndpointSlices changed on each Service sync",
      ),
      labelNames: ["topology", "traffic_distribution"] as const,
      buckets: defaultBuckets,
    }),
    syncs: new Counter({
      ...named("syncs", "Number of EndpointSlice syncs"),
      labelNames: ["result"] as const,
    }),
  };
});
