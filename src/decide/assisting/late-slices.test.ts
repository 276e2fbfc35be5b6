import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { LateSlices, medianMs, noLateness } from "./late-slices.ts";

const wallStart = Date.UTC(2026, 0, 1);

function look(lateness: LateSlices, atMs: number, decided: string[], published: string[]) {
  return lateness.compare({
    decided: new Set(decided),
    published: new Set(published),
    at: atMs as MonotonicMs,
    wall: (wallStart + atMs) as WallMs,
  });
}

test("a removal is late until the slices drop the address, with the number they listed", () => {
  const lateness = new LateSlices();
  look(lateness, 0, ["a", "b"], ["a", "b"]);
  look(lateness, 1_000, ["b"], ["a", "b"]);
  expect(lateness.behind(5_000 as MonotonicMs)).toEqual({ count: 1, oldestMs: 4_000 });
  expect(look(lateness, 31_000, ["b"], ["b"])).toEqual([{ kind: "leave", lagMs: 30_000 }]);
  expect(lateness.report).toEqual({
    leaves: { count: 1, late: 1, longestMs: 30_000, recentMs: [30_000] },
    joins: noLateness,
    windows: [{ address: "a", from: wallStart + 1_000, to: wallStart + 31_000, listed: 2 }],
  });
  expect(lateness.behind(31_000 as MonotonicMs)).toEqual({ count: 0, oldestMs: 0 });
});

test("an addition is late until the slices list it, and leaves no window", () => {
  const lateness = new LateSlices();
  look(lateness, 0, ["a", "b"], ["a"]);
  look(lateness, 2_500, ["a", "b"], ["a", "b"]);
  expect(lateness.report).toEqual({
    leaves: noLateness,
    joins: { count: 1, late: 1, longestMs: 2_500, recentMs: [2_500] },
    windows: [],
  });
});

test("a decision that goes back is no lateness of the slices", () => {
  const lateness = new LateSlices();
  look(lateness, 0, [], ["a"]);
  look(lateness, 9_000, ["a"], ["a"]);
  look(lateness, 9_500, ["a", "b"], ["a"]);
  look(lateness, 20_000, ["a"], ["a"]);
  expect(lateness.report).toMatchObject({ leaves: noLateness, joins: noLateness });
});

test("a report is continued and stays bounded", () => {
  const first = new LateSlices();
  for (let round = 0; round < 100; round += 1) {
    look(first, round * 10_000, [], ["a"]);
    look(first, round * 10_000 + 1_100 + round, [], []);
  }
  const next = new LateSlices(first.report);
  look(next, 0, [], ["a"]);
  look(next, 100, [], []);
  const { leaves, windows } = next.report;
  expect(leaves).toMatchObject({ count: 101, late: 100, longestMs: 1_199 });
  expect([leaves.recentMs.length, leaves.recentMs.at(-1), windows.length]).toEqual([60, 100, 20]);
});

test.each([
  [[], undefined],
  [[5], 5],
  [[30, 10, 20], 20],
  [[4, 1, 3, 2], 2],
])("the median of %j is %j", (lags, median) => {
  expect(medianMs(lags)).toBe(median);
});
