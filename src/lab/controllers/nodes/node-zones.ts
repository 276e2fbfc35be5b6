// The zones of a cluster over time: at each look at the nodes a zone's state sets the rate at which
// its lost nodes are emptied. When no node of any zone is ready nothing is emptied at all: then it
// is more likely that the control plane is cut off.
import type { ConditionStatus } from "../../../kube/kinds/pod.ts";
import type { ControllerFlags } from "../flags.ts";
import type { NodeEviction } from "./node-eviction.ts";
import type { NodeMetrics } from "./node-metrics.ts";
import type { UnreadyPodsOptions } from "./unready-pods.ts";
import { type WholeNode, zoneOf } from "./whole-node.ts";

interface NodeZonesOptions extends UnreadyPodsOptions {
  readonly eviction: NodeEviction;
  readonly metrics: NodeMetrics;
}

/** Nodes with this label do not count. */
const excludedLabel = "node.kubernetes.io/exclude-disruption";

export class NodeZones {
  readonly #options: NodeZonesOptions;
  readonly #states = new Map<string, ZoneState>();

  constructor(options: NodeZonesOptions) {
    this.#options = options;
  }

  /** True when nodes are ready again after a time in which none was. */
  async update(statuses: ReadonlyMap<WholeNode, ConditionStatus | undefined>): Promise<boolean> {
    const { nodeLog, flags, eviction, metrics } = this.#options;
    const zones = this.#healthByZone(statuses);
    for (const [zone, health] of zones) {
      metrics.zone(zone, health);
      if (!this.#states.has(zone)) this.#states.set(zone, "Initial");
    }
    for (const zone of this.#states.keys()) if (!zones.has(zone)) this.#states.delete(zone);
    if (zones.size === 0) return false;
    const isAll = [...zones.values()].every(({ state }) => state === "FullDisruption");
    const wasAll = [...this.#states.values()].every((state) => state === "FullDisruption");
    if (isAll && wasAll) return false;
    if (isAll) {
      nodeLog.note({ type: "allLost" });
      await this.#releaseAll(statuses.keys());
      for (const zone of zones.keys()) {
        eviction.setRate(zone, 0);
        this.#states.set(zone, "FullDisruption");
      }
      return false;
    }
    if (wasAll) nodeLog.note({ type: "someBack" });
    for (const [zone, health] of zones) {
      const { state } = health;
      if (!wasAll && this.#states.get(zone) === state) continue;
      if (!wasAll) nodeLog.note({ type: "zoneState", zone, state });
      eviction.setRate(zone, evictionRate(health, flags));
      this.#states.set(zone, state);
    }
    return wasAll;
  }

  #healthByZone(
    statuses: ReadonlyMap<WholeNode, ConditionStatus | undefined>,
  ): ReadonlyMap<string, ZoneHealth> {
    const byZone = new Map<string, (ConditionStatus | undefined)[]>();
    for (const [node, status] of statuses) {
      if (excludedLabel in node.metadata.labels) continue;
      const zone = zoneOf(node);
      byZone.set(zone, [...(byZone.get(zone) ?? []), status]);
    }
    const { flags } = this.#options;
    return new Map([...byZone].map(([zone, conditions]) => [zone, zoneHealth(conditions, flags)]));
  }

  async #releaseAll(nodes: Iterable<WholeNode>): Promise<void> {
    const { eviction, log } = this.#options;
    for (const node of nodes) {
      try {
        await eviction.release(node);
      } catch (error) {
        log.warn("the taints of a node could not be removed", { node: node.metadata.name, error });
      }
    }
  }
}

type ZoneState = "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";

/** node_lifecycle_controller.go ComputeZoneState: up to two lost nodes are no disruption. */
const alwaysTolerated = 2;

export interface ZoneHealth {
  readonly state: ZoneState;
  readonly nodes: number;
  readonly unhealthy: number;
}

/** From the Ready conditions of the zone's nodes; undefined where a node has none. */
export function zoneHealth(
  conditions: readonly (ConditionStatus | undefined)[],
  flags: Pick<ControllerFlags, "unhealthy-zone-threshold">,
): ZoneHealth {
  const nodes = conditions.length;
  const unhealthy = conditions.filter((status) => status !== "True").length;
  return { state: stateOf(nodes, unhealthy, flags), nodes, unhealthy };
}

/** Nodes a second that may be emptied in a zone of this state and size. */
export function evictionRate(
  { state, nodes }: Pick<ZoneHealth, "state" | "nodes">,
  flags: Pick<
    ControllerFlags,
    "node-eviction-rate" | "secondary-node-eviction-rate" | "large-cluster-size-threshold"
  >,
): number {
  if (state !== "PartialDisruption") return flags["node-eviction-rate"];
  const isLarge = nodes > flags["large-cluster-size-threshold"];
  return isLarge ? flags["secondary-node-eviction-rate"] : 0;
}

function stateOf(
  nodes: number,
  unhealthy: number,
  flags: Pick<ControllerFlags, "unhealthy-zone-threshold">,
): ZoneState {
  if (unhealthy > 0 && unhealthy === nodes) return "FullDisruption";
  const share = unhealthy / nodes;
  const isPartial = unhealthy > alwaysTolerated && share >= flags["unhealthy-zone-threshold"];
  return isPartial ? "PartialDisruption" : "Normal";
}
