import { expect, test } from "vitest";
import { hasP99, p99Of, samplesText } from "./percentile.ts";

test("there is no 99th percentile of fewer than a hundred samples, only how many there were", () => {
  const quantileMs = (share: number): number => share * 1_000;
  expect([hasP99(99), hasP99(100)]).toEqual([false, true]);
  expect([p99Of({ count: 99, quantileMs }), p99Of({ count: 100, quantileMs })]).toEqual([
    undefined,
    990,
  ]);
  expect(samplesText(12)).toBe("n=12");
});
