import { describe, expect, test } from "vitest";
import { markName, TimeAxis } from "./charts.ts";

const minutes = new TimeAxis({ fromMs: 0, toMs: 120_000, columns: 60 });

test("an instant has its column, and none outside the axis", () => {
  expect([0, 1_999, 2_000, 120_000].map((at) => minutes.columnOf(at))).toEqual([0, 0, 1, 59]);
  expect([-1, 120_001].map((at) => minutes.columnOf(at))).toEqual([undefined, undefined]);
});

test("marks stand where their entries are; the first stands for those that fall together", () => {
  const axis = new TimeAxis({ fromMs: 0, toMs: 100, columns: 10 });
  expect(axis.line([0, 50, 51, 99, 200])).toBe("1────2───4");
  expect(axis.line([undefined, 50])).toBe("─────2────");
  expect([markName(0), markName(9), markName(99)]).toEqual(["1", "a", "·"]);
});

describe("labels", () => {
  test.each([
    [0, 120_000, "0              30 s           1 min          1 min 30 s"],
    [0, 48 * 3_600_000, "0              12 h           1 d            1 d 12 h"],
    [45_000, 105_000, "45 s           1 min          1 min 15 s     1 min 30 s"],
    [0, 0.5, "0"],
    [120_000_000, 120_600_000, "1 d 9 h     +2 min      +4 min      +6 min      +8 min"],
  ])("from %d to %d ms are round", (fromMs, toMs, labels) => {
    expect(new TimeAxis({ fromMs, toMs, columns: 60 }).labels()).toBe(labels);
  });
});
