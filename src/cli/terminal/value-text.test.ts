import { expect, test } from "vitest";
import { valueText } from "./value-text.ts";

test.each([
  [646_000, "ms", "10 min 46 s"],
  [0.583, "ms", "0.583 ms"],
  [12_954, "requests", "12,954"],
  [592.5, "count", "593"],
  [1_234_567, "count", "1,234,567"],
  [42.6123, "per second", "42.6/s"],
  [0.0345, "share", "3.45 %"],
  [1, "share", "100 %"],
  [1.3712, "factor", "×1.37"],
  [0, "requests", "0"],
  [undefined, "ms", "–"],
] as const)("%s in %s is %s", (value, unit, text) => {
  expect(valueText(value, unit)).toBe(text);
});
