// Metrics of the ingress's decisions. Endpoints are counted by state and never named: their
// addresses would make a new series for every pod.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { overridesSlices } from "../decide/truth/truth.ts";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";
import type { Decisions } from "./decisions.ts";
import { byNamespace, type LeftOutSource } from "./left-out.ts";
import type { AgedWatch, Readiness } from "./readiness.ts";

/** A service takes microseconds; the routes of a large cluster some hundred milliseconds. */
const decisionBuckets = [0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1];

/** From a push over an idle socket to a proxy that was away for minutes. */
const routedBuckets = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300];

/** The parts of a replica that have metrics. */
export interface ShownReplica extends Pick<LeftOutSource, "leftOut" | "memoryUse"> {
  readonly readiness: Readiness;
  watches(): readonly AgedWatch[];
}

/** Namespaces with a series of their own; all others share `other`. */
const maxNamespaces = 100;

export const ingressMetrics = oncePerRegistry((registry: Registry) => {
  /** Decisions that stand; a loop adds its own while it runs. */
  const shown = new Set<Decisions>();
  /** Replicas that run. */
  const replicas = new Set<ShownReplica>();
  const registers = [registry];
  new Gauge({
    name: "lockstep_ingress_endpoints",
    help: "Endpoints of routed services by state; overriding: routed differently from their EndpointSlice.",
    labelNames: ["state"] as const,
    registers,
    collect() {
      this.reset();
      for (const [state, count] of countEndpoints(shown)) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "lockstep_ingress_problems",
    help: "Problems in Ingresses; the affected parts are ignored.",
    registers,
    collect() {
      this.set([...shown].reduce((sum, { routes }) => sum + routes.problems.length, 0));
    },
  });
  new Gauge({
    name: "lockstep_ingress_watch_age_seconds",
    help: "Seconds since a watch was last known to be up to date; +Inf before the first time.",
    labelNames: ["cluster", "watch"] as const,
    registers,
    collect() {
      this.reset();
      const watches = [...replicas].flatMap((one) => one.watches());
      for (const { cluster, kind, provedCurrentMsAgo } of watches) {
        this.set({ cluster, watch: kind }, (provedCurrentMsAgo ?? Infinity) / 1000);
      }
    },
  });
  new Gauge({
    name: "lockstep_ingress_ready",
    help: "1 while this replica is ready for requests (see /readyz), else 0.",
    registers,
    collect() {
      const areReady = [...replicas].every(({ readiness }) => readiness.problem === undefined);
      this.set(areReady && replicas.size > 0 ? 1 : 0);
    },
  });
  showMemory(registers, replicas);
  return {
    shown,
    replicas,
    accessLogDropped: new Counter({
      name: "lockstep_ingress_access_log_dropped_lines_total",
      help: "Access log lines that were dropped because standard output is read too slowly.",
      registers,
    }),
    decisions: new Histogram({
      name: "lockstep_ingress_decision_seconds",
      help: "Duration of one decision, by kind of decision.",
      labelNames: ["kind"] as const,
      buckets: decisionBuckets,
      registers,
    }),
    routed: new Histogram({
      name: "lockstep_ingress_routed_seconds",
      help: "Time from the decision about a service until the proxy confirms that it uses it.",
      buckets: routedBuckets,
      registers,
    }),
  };
});

function showMemory(registers: Registry[], replicas: ReadonlySet<ShownReplica>): void {
  new Gauge({
    name: "lockstep_ingress_left_out_entries",
    help: "Entries left out of the proxy because their namespace exceeds its share of the memory.",
    labelNames: ["namespace"] as const,
    registers,
    collect() {
      this.reset();
      const entries = [...replicas].flatMap((one) => one.leftOut());
      for (const [index, [name, own]] of [...byNamespace(entries)].entries()) {
        this.inc({ namespace: index < maxNamespaces ? name : "other" }, own.length);
      }
    },
  });
  const uses = () => [...replicas].flatMap((one) => one.memoryUse());
  new Gauge({
    name: "lockstep_ingress_memory_used_bytes",
    help: "Bytes of shared memory in the proxy for all entries, including those left out.",
    labelNames: ["memory"] as const,
    registers,
    collect() {
      for (const { memory, usedBytes } of uses()) this.set({ memory }, usedBytes);
    },
  });
  new Gauge({
    name: "lockstep_ingress_memory_capacity_bytes",
    help: "Size of the proxy's shared memory; a full load needs twice the size of the entries.",
    labelNames: ["memory"] as const,
    registers,
    collect() {
      for (const { memory, capacityBytes } of uses()) this.set({ memory }, capacityBytes);
    },
  });
}

/** All of them always: an alert on a series that vanishes when it is zero would never fire. */
const countedStates = ["active", "draining", "held", "suspect", "out", "overriding"];

function countEndpoints(shown: ReadonlySet<Decisions>): ReadonlyMap<string, number> {
  const counts = new Map(countedStates.map((state) => [state, 0]));
  const count = (state: string) => void counts.set(state, (counts.get(state) ?? 0) + 1);
  for (const { truths } of shown) {
    for (const { truth } of truths.values()) {
      for (const endpoint of truth.endpoints) {
        count(endpoint.state);
        if (overridesSlices(endpoint)) count("overriding");
      }
    }
  }
  return counts;
}
