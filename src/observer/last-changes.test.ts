import { beforeEach, describe, expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import type { HopTime, Journey } from "../journeys/journey.ts";
import type { WitnessReport } from "../journeys/witness.ts";
import { LastChanges } from "./last-changes.ts";

const endpoint = { cluster: "east", service: "shop/web", address: "a", port: 80, podUid: "p" };

const byCopies: HopTime = {
  hop: "synced",
  witness: "access",
  state: { type: "shown", lagMs: 0 },
};
const byPodLate: HopTime = {
  hop: "pod",
  witness: "east",
  state: { type: "shown", lagMs: 9, range: { minMs: 0, maxMs: 9 } },
};
const byPodInTime: HopTime = { hop: "pod", witness: "east", state: { type: "shown", lagMs: 9 } };
const notByPod: HopTime = { hop: "pod", witness: "east", state: { type: "pending" } };

function changeAt(at: number, hops: readonly HopTime[], podUid = "p"): Journey {
  return {
    id: 1,
    endpoint: { ...endpoint, podUid },
    podName: undefined,
    direction: "leave",
    cause: undefined,
    origin: { at: at as MonotonicMs, notBefore: undefined },
    hops,
    outcome: "pending",
  };
}

describe("the last change of an endpoint", () => {
  let changes: LastChanges;

  beforeEach(() => {
    changes = new LastChanges();
  });

  function note(journey: Journey, now: number): void {
    changes.note(journey, now as MonotonicMs);
  }

  /** What the pod watch tells at an instant; since another where it is late. */
  function isMissedAt(at: number, since?: number): boolean {
    const report: WitnessReport = {
      witness: { hop: "pod", name: "east" },
      endpoint,
      direction: "leave",
      at: at as MonotonicMs,
      ...(since !== undefined && { notBefore: since as MonotonicMs }),
    };
    return changes.isMissedBy(report);
  }

  test("is missed by nobody when there is none", () => {
    expect(isMissedAt(100, 0)).toBe(false);
  });

  test("is missed by who has not shown it, in time or late", () => {
    note(changeAt(50, [notByPod, byCopies]), 50);
    expect([isMissedAt(100), isMissedAt(100, 40)]).toEqual([true, true]);
  });

  test("is not missed by who tells of before it, or only of after it", () => {
    note(changeAt(50, [byCopies]), 50);
    expect([isMissedAt(49), isMissedAt(100, 50)]).toEqual([false, false]);
  });

  test("is not missed by who has shown it in time", () => {
    note(changeAt(50, [byPodInTime, byCopies]), 60);
    expect([isMissedAt(100), isMissedAt(100, 40)]).toEqual([false, false]);
  });

  test("may be missed by who has shown it late and goes on to tell late", () => {
    note(changeAt(50, [byPodLate, byCopies]), 60);
    expect([isMissedAt(100), isMissedAt(100, 40)]).toEqual([false, true]);
  });

  test("stays the last when something is shown of an earlier one", () => {
    note(changeAt(50, [byCopies]), 50);
    note(changeAt(40, [byPodInTime]), 60);
    expect(isMissedAt(100)).toBe(true);
  });

  test("is remembered for ten minutes after it was last shown", () => {
    note(changeAt(50, [byCopies]), 0);
    note(changeAt(50, [byCopies], "other"), 600_000);
    expect(isMissedAt(600_001)).toBe(true);
    note(changeAt(50, [byCopies], "other"), 600_001);
    expect(isMissedAt(600_001)).toBe(false);
  });

  test("is forgotten, the oldest first, where there are too many", () => {
    note(changeAt(50, [byCopies]), 50);
    for (let count = 1; count < 50_000; count += 1) note(changeAt(50, [byCopies], `${count}`), 50);
    expect(isMissedAt(100)).toBe(true);
    note(changeAt(50, [byCopies], "one more"), 50);
    expect(isMissedAt(100)).toBe(false);
  });
});
