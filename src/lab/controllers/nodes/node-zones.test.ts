import { expect, test } from "vitest";
import type { ConditionStatus } from "../../../kube/kinds/pod.ts";
import { evictionRate, zoneHealth } from "./node-zones.ts";

const flags = {
  "unhealthy-zone-threshold": 0.55,
  "node-eviction-rate": 0.1,
  "secondary-node-eviction-rate": 0.01,
  "large-cluster-size-threshold": 50,
};

function zone(nodes: number, lost: number) {
  const statuses = Array.from({ length: nodes }, (_, index): ConditionStatus | undefined =>
    index < lost ? "Unknown" : "True",
  );
  const health = zoneHealth(statuses, flags);
  return [health.state, evictionRate(health, flags)];
}

test.each([
  [10, 0, "Normal", 0.1],
  [10, 1, "Normal", 0.1],
  // Two lost nodes are never a disruption, unless there are no others.
  [3, 2, "Normal", 0.1],
  [2, 2, "FullDisruption", 0.1],
  [10, 5, "Normal", 0.1],
  [10, 6, "PartialDisruption", 0],
  [50, 28, "PartialDisruption", 0],
  [51, 29, "PartialDisruption", 0.01],
  [100, 54, "Normal", 0.1],
  [100, 100, "FullDisruption", 0.1],
])("of %i nodes %i lost is %s and empties %f a second", (nodes, lost, state, rate) => {
  expect(zone(nodes, lost)).toEqual([state, rate]);
});

test("a node without a condition is not ready", () => {
  expect(zoneHealth([undefined, "False", "True"], flags)).toEqual({
    state: "Normal",
    nodes: 3,
    unhealthy: 2,
  });
});
