// How healthy a zone of nodes is, and at what rate its lost nodes may be emptied: many lost at once
// rather mean that the control plane cannot hear them than that all have died. Pure.
import type { ConditionStatus } from "../../../kube/kinds/pod.ts";
import type { ControllerFlags } from "../flags.ts";

export type ZoneState = "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";

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
