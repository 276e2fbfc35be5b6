import { expect, test } from "vitest";
import { boundsText, compare } from "./view.ts";

test.each([
  [12_954, { from: 12_954, to: 12_954 }, "inside", "the same"],
  [648_000, { value: 646_000, from: 626_620, to: 665_380 }, "inside", "+0.3 %"],
  [2_490, { value: 2_500, from: 2_400, to: 2_600 }, "inside", "−0.4 %"],
  [2_499.9, { value: 2_500, from: 2_400, to: 2_600 }, "inside", "within 0.1 %"],
  [2_490, { from: 2_400, to: 2_600 }, "inside", "as seen"],
  [53_000, { from: 30_000, to: 120_000 }, "inside", "as seen"],
  [134_400, { from: 30_000, to: 120_000 }, "outside", "outside, +12 %"],
  [20_000, { from: 30_000, to: 120_000 }, "outside", "outside, −33 %"],
  [3, { from: 0, to: 0 }, "outside", "outside, +3"],
  [undefined, { from: 0, to: 5 }, "outside", "not measured"],
  [5, {}, "shown", ""],
  [undefined, {}, "shown", ""],
])("%s beside %j is %s: %s", (measured, bounds, verdict, text) => {
  const expected = { source: "write-up" as const, text: "x", ...bounds };
  const figure = { id: "x", text: "x", unit: "count" as const, measured, expected: [expected] };
  expect(compare(figure, expected)).toEqual({ verdict, text });
  expect(compare({ ...figure, fittedBy: "5 workers" }, expected).verdict).toBe("shown");
});

test.each([
  [{ from: 600_000, to: 720_000 }, "ms", "10 min to 12 min"],
  [{ from: 12_954, to: 12_954 }, "requests", "exactly 12,954"],
  [{ from: -0.2, to: 0.2 }, "share", "-20 % to 20 %"],
] as const)("%j in %s are %s", (bounds, unit, text) => {
  expect(boundsText(bounds, unit)).toBe(text);
});
