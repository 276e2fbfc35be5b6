import { expect, test } from "vitest";
import type { Series } from "../../src/server/api.ts";
import { continued } from "./series-points.ts";

const series: Series = {
  id: "queue",
  chart: "queue",
  title: "queue",
  unit: "count",
  cluster: null,
  side: null,
  hop: null,
  direction: null,
  limit: null,
  points: [
    [1_000, 1],
    [3_600_500, 2],
  ],
};

test("a new point is appended, and points older than an hour go", () => {
  const [next] = continued([series], { at: 3_602_000, values: { queue: null } });
  expect(next?.points).toEqual([
    [3_600_500, 2],
    [3_602_000, null],
  ]);
});

test("a point that is known already, or of another series, changes nothing", () => {
  expect(continued([series], { at: 3_600_500, values: { queue: 9 } })[0]).toBe(series);
  expect(continued([series], { at: 3_602_000, values: { other: 9 } })[0]).toBe(series);
});
