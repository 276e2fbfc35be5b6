import { expect, test } from "vitest";
import { compare, isInside } from "./comparison.ts";

test.each([
  [12_954, { from: 12_954, to: 12_954 }, "inside", "the same"],
  [648_000, { value: 646_000, from: 626_620, to: 665_380 }, "inside", "+0.3 %"],
  [2_490, { value: 2_500, from: 2_400, to: 2_600 }, "inside", "−0.4 %"],
  [2_499.9, { value: 2_500, from: 2_400, to: 2_600 }, "inside", "within 0.1 %"],
  [2_490, { from: 2_400, to: 2_600 }, "inside", "as seen"],
  [53_000, { from: 30_000, to: 120_000 }, "inside", "as seen"],
  [0.034, { to: 0.2 }, "inside", "as seen"],
  [700, { from: 600 }, "inside", "as seen"],
  [1_800, { value: 600, from: 60 }, "inside", "+200 %"],
  [134_400, { from: 30_000, to: 120_000 }, "outside", "outside, +12 %"],
  [20_000, { from: 30_000, to: 120_000 }, "outside", "outside, −33 %"],
  [3, { from: 0, to: 0 }, "outside", "outside, +3"],
  [undefined, { to: 5 }, "outside", "not measured"],
  [5, {}, "shown", ""],
  [undefined, {}, "shown", ""],
])("%s beside %j is %s: %s", (measured, expectation, verdict, text) => {
  expect(compare(measured, expectation)).toEqual({ verdict, text });
});

test("a figure is inside when no expectation says otherwise", () => {
  const figure = (...bounds: readonly { from?: number; to?: number }[]) => ({
    id: "x",
    text: "x",
    unit: "count" as const,
    measured: 5,
    expected: bounds.map((one) => ({ source: "write-up" as const, text: "x", ...one })),
  });
  expect(isInside(figure())).toBe(true);
  expect(isInside(figure({}, { from: 5 }))).toBe(true);
  expect(isInside(figure({ from: 5 }, { to: 4 }))).toBe(false);
});
