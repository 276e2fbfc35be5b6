import { describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../../environment/clock.ts";
import { type Instant, isLost, look, type NodeHealth, unknownConditions } from "./node-health.ts";
import { type WholeNode, wholeNodeKind } from "./whole-node.ts";

/** Wall time and the controller's own time need not have anything to do with each other. */
function at(seconds: number): Instant {
  const wall = Date.UTC(2026, 0, 1) + seconds * 1_000;
  return { monotonic: (seconds * 1_000 + 7) as MonotonicMs, wall: wall as WallMs };
}

function nodeAt(heartbeat: string | undefined, since = "2026-01-01T00:00:00Z"): WholeNode {
  const ready = {
    type: "Ready",
    status: "True",
    lastHeartbeatTime: heartbeat,
    lastTransitionTime: since,
  };
  return wholeNodeKind.project({
    metadata: {
      name: "n",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    status: { conditions: heartbeat === undefined ? [] : [ready] },
  });
}

const first = "2026-01-01T00:00:00Z";
const later = "2026-01-01T00:00:10Z";
const renewed = (seconds: number) => at(seconds).wall;

/** After each look: how long ago, in seconds, the last sign of life was seen. */
function silences(looks: readonly [seconds: number, node: WholeNode, renewal?: WallMs][]) {
  let health: NodeHealth | undefined;
  return looks.map(([seconds, node, renewal]) => {
    health = look(health, node, renewal, at(seconds));
    return (at(seconds).monotonic - health.seenAt) / 1_000;
  });
}

describe("a sign of life", () => {
  test("is a changed heartbeat, at the time of the look, whatever its content", () => {
    const wrongClock = "1999-01-01T00:00:00Z";
    expect(
      silences([
        [0, nodeAt(first)],
        [5, nodeAt(first)],
        [10, nodeAt(wrongClock)],
        [15, nodeAt(wrongClock)],
      ]),
    ).toEqual([0, 5, 0, 5]);
  });

  test("is a renewed Lease, though the status is old", () => {
    expect(
      silences([
        [0, nodeAt(first), renewed(0)],
        [5, nodeAt(first), renewed(0)],
        [10, nodeAt(first), renewed(7)],
        [15, nodeAt(first), renewed(7)],
      ]),
    ).toEqual([0, 5, 0, 5]);
  });

  test("is also the Lease as it was, at the look after the one that saw a new status", () => {
    expect(
      silences([
        [0, nodeAt(first), renewed(0)],
        [5, nodeAt(later), renewed(0)],
        [10, nodeAt(later), renewed(0)],
        [15, nodeAt(later), renewed(0)],
      ]),
    ).toEqual([0, 0, 0, 5]);
  });

  test("is the creation of a node that never posted", () => {
    expect(
      silences([
        [30, nodeAt(undefined)],
        [35, nodeAt(undefined)],
        [40, nodeAt(later)],
      ]),
    ).toEqual([30, 35, 0]);
  });
});

test("a node is lost when the grace period is over, and not when it has just passed", () => {
  const health = look(undefined, nodeAt(first), undefined, at(0));
  expect(isLost(health, 40_000, at(40))).toBe(false);
  expect(isLost(health, 40_000, at(40.001))).toBe(true);
});

test("the conditions of a lost node become Unknown, and those it never had are added so", () => {
  const lost = {
    status: "Unknown",
    reason: "NodeStatusUnknown",
    message: "Kubelet stopped posting node status.",
    lastTransitionTime: "2026-01-01T00:00:45Z",
  };
  expect(unknownConditions(nodeAt(first), ["MemoryPressure"], at(45))).toEqual([
    { type: "Ready", lastHeartbeatTime: first, ...lost },
    {
      ...lost,
      type: "MemoryPressure",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: "2026-01-01T00:00:00Z",
    },
  ]);
});
