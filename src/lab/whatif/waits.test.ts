import { expect, it } from "vitest";
import type { Probe } from "./pod-changes.ts";
import { changeWaits } from "./waits.ts";

function probes(kind: Probe["kind"], waitsMs: readonly number[]): readonly Probe[] {
  return waitsMs.map((waitMs, index) => ({ kind, atMs: index, waitMs }));
}

const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

it("gives the middle, the worst hundredth and the worst of equal changes", () => {
  expect(changeWaits([{ probes: probes("join", hundred), share: 1 }])).toEqual({
    changes: 100,
    p50Ms: 50,
    p99Ms: 99,
    maxMs: 100,
    joins: { changes: 100, p50Ms: 50, p99Ms: 99, maxMs: 100 },
    leaves: undefined,
  });
});

it("weighs changes by the share of time they stand for, not by their number", () => {
  const quiet = probes("leave", [8, 8]);
  const storm = probes("leave", [1_000, 2_000, 3_000, 4_000]);
  const waits = (share: number) =>
    changeWaits([
      { probes: quiet, share: 1 - share },
      { probes: storm, share },
    ]);
  // Less than a hundredth of the time is a storm: only the worst shows it.
  expect(waits(0.009)?.leaves).toEqual({ changes: 6, p50Ms: 8, p99Ms: 8, maxMs: 4_000 });
  // A fiftieth: the worst hundredth is its worse half.
  expect(waits(0.02)?.leaves).toEqual({ changes: 6, p50Ms: 8, p99Ms: 2_000, maxMs: 4_000 });
  // All of it: what was timed in quiet times counts nothing.
  expect(waits(1)?.leaves).toEqual({ changes: 4, p50Ms: 2_000, p99Ms: 4_000, maxMs: 4_000 });
});

it("says nothing of what was not timed", () => {
  expect(changeWaits([{ probes: [], share: 1 }])).toBeUndefined();
});
