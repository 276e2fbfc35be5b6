import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { ClusterReach } from "./cluster-reach.ts";

function world(afterMs?: number) {
  let nowMs = 0;
  let boundMs = afterMs ?? 0;
  const clock = { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => nowMs as WallMs };
  const reach = new ClusterReach({
    clock,
    ...(afterMs === undefined ? {} : { unreachableAfterMs: () => boundMs }),
  });
  const look = (isAnyFresh: boolean, isPartlyListed = false, atMs = nowMs) => {
    nowMs = atMs;
    reach.look({ isAnyFresh, isPartlyListed });
    return [reach.isUnreachable, reach.isPartlyListed];
  };
  return { look, reach, bound: (ms: number) => (boundMs = ms) };
}

test("a cluster is unreachable when no watch has been fresh for longer than is allowed", () => {
  const { look, reach, bound } = world(60_000);
  expect(look(false, false, 1_000)).toEqual([false, false]);
  expect(look(false, false, 60_999)).toEqual([false, false]);
  expect(look(false, false, 61_000)).toEqual([true, false]);
  bound(90_000);
  expect(reach.isUnreachable).toBe(false);
  expect(look(true, false, 200_000)).toEqual([false, false]);
  expect(look(false, false, 210_000)).toEqual([false, false]);
  expect(look(false, false, 300_000)).toEqual([true, false]);
});

test("a cluster is never unreachable without a limit for its silence", () => {
  const { look } = world();
  look(false);
  expect(look(false, false, 1e9)).toEqual([false, false]);
});

test("what is listed in part counts when it lasts", () => {
  const { look } = world();
  look(true, true);
  expect(look(true, true, 9_999)).toEqual([false, false]);
  expect(look(true, true, 10_000)).toEqual([false, true]);
  expect(look(true, false, 10_001)).toEqual([false, false]);
});
