// Metrics of the node lifecycle controller, with the real names (metrics.go of
// pkg/controller/nodelifecycle, and of pkg/controller/node before it).
import { Counter, Gauge, type Registry } from "prom-client";
import type { NodeRules } from "./node-rules.ts";
import type { ZoneHealth } from "./node-zones.ts";

export class NodeMetrics {
  readonly #health: Gauge<"zone">;
  readonly #size: Gauge<"zone">;
  readonly #unhealthy: Gauge<"zone">;
  readonly #evictions: Counter<"zone">;

  /** Once for each registry: a controller manager has one node controller. */
  constructor(registry: Registry, { evictionsMetric }: NodeRules) {
    const gauge = (name: string, help: string): Gauge<"zone"> =>
      new Gauge({
        name: `node_collector_${name}`,
        help,
        labelNames: ["zone"],
        registers: [registry],
      });
    this.#health = gauge("zone_health", "Gauge measuring percentage of healthy nodes per zone.");
    this.#size = gauge("zone_size", "Gauge measuring number of registered Nodes per zones.");
    this.#unhealthy = gauge(
      "unhealthy_nodes_in_zone",
      "Gauge measuring number of not Ready Nodes per zones.",
    );
    this.#evictions = new Counter({
      name: `node_collector_${evictionsMetric}`,
      help:
        "Number of Node evictions that happened since current instance of " +
        "NodeController started.",
      labelNames: ["zone"],
      registers: [registry],
    });
  }

  zone(zone: string, { nodes, unhealthy }: ZoneHealth): void {
    this.#size.set({ zone }, nodes);
    this.#unhealthy.set({ zone }, unhealthy);
    this.#health.set({ zone }, (100 * (nodes - unhealthy)) / nodes);
  }

  /** None yet, unless given. */
  evictions(zone: string, count = 0): void {
    this.#evictions.inc({ zone }, count);
  }
}
