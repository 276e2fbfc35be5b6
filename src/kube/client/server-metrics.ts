// Metrics of the search for API servers: one set per registry, with a label for the cluster.
import { Counter, Gauge, type Registry } from "prom-client";
import { oncePerRegistry } from "../metrics-of-registry.ts";
import type { Doubt } from "./server-list.ts";

/**
 * Why another server is used, or none: the one in use failed, its watch was doubted or it is no
 * longer listed; or there was none, and one answered.
 */
export type MoveReason = Doubt | "failed" | "unlisted" | "answered";

export interface ServerMetrics {
  /** So many servers answer. */
  proved(servers: number): void;
  moved(why: MoveReason): void;
}

export function serverMetrics(registry: Registry | undefined, cluster: string): ServerMetrics {
  if (registry === undefined) return noMetrics;
  const { servers, moves } = metricsOf(registry);
  return {
    proved: (count) => servers.set({ cluster }, count),
    moved: (why) => moves.inc({ cluster, why }),
  };
}

const noMetrics: ServerMetrics = { proved: () => undefined, moved: () => undefined };

const metricsOf = oncePerRegistry((registry: Registry) => ({
  servers: new Gauge({
    name: "lockstep_kube_direct_servers",
    help: "API servers that answer at their own address",
    labelNames: ["cluster"] as const,
    registers: [registry],
  }),
  moves: new Counter({
    name: "lockstep_kube_server_moves_total",
    help: "Switches to another API server, by reason: answered, failed, unlisted, silent, incomplete or behind",
    labelNames: ["cluster", "why"] as const,
    registers: [registry],
  }),
}));
