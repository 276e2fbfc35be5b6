import { expect, test } from "vitest";
import { at } from "../../tests/cli/watched-changes.ts";
import { RecentLags } from "./lag-figures.ts";

const minute = 60_000;

function figures(lags: RecentLags, atMs: number): readonly (number | undefined)[] {
  const recent = lags.at(at(atMs));
  return [recent.count, recent.quantileMs(0.5), recent.quantileMs(0.99), recent.maxMs];
}

test("lags are recent for a quarter of an hour, and go a minute at a time", () => {
  const lags = new RecentLags();
  lags.add(8_000, at(30_000));
  lags.add(100, at(minute));
  lags.add(200, at(10 * minute));
  expect(figures(lags, 10 * minute)).toEqual([3, 200, 8_000, 8_000]);
  expect(figures(lags, 15 * minute - 1)).toEqual([3, 200, 8_000, 8_000]);
  expect(figures(lags, 15 * minute)).toEqual([2, 100, 200, 200]);
  expect(figures(lags, 16 * minute)).toEqual([1, 200, 200, 200]);
  expect(figures(lags, 24 * 60 * minute)).toEqual([0, undefined, undefined, 0]);
});

test("a lag that was shown long ago and is reported only now is left out", () => {
  const lags = new RecentLags();
  lags.add(100, at(60 * minute));
  lags.add(9_000, at(45 * minute));
  lags.add(300, at(46 * minute));
  expect(figures(lags, 60 * minute)).toEqual([2, 100, 300, 300]);
});

test("what is left when minutes have gone is as if they had never been", () => {
  const lags = new RecentLags();
  const left = new RecentLags();
  for (let index = 0; index < 5_000; index += 1) {
    const shownAt = at(index * 300);
    const lagMs = (index * 7_919) % 10_007;
    lags.add(lagMs, shownAt);
    if (shownAt >= 10 * minute) left.add(lagMs, shownAt);
  }
  const [count, p50 = 0, p99 = 0, max] = figures(lags, 25 * minute - 1);
  const [countLeft, p50Left = 0, p99Left = 0, maxLeft] = figures(left, 25 * minute - 1);
  expect([count, max]).toEqual([countLeft, maxLeft]);
  expect(p50).toBeCloseTo(p50Left, 6);
  expect(p99).toBeCloseTo(p99Left, 6);
});
