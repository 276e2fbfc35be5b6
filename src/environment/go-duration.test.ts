import { expect, test } from "vitest";
import { goDuration, parseGoDuration, parseGoNanos } from "./go-duration.ts";

test.each([
  [0, "0s"],
  [0.25, "250µs"],
  [249.123_456, "249.123456ms"],
  [2490, "2.49s"],
  [2_491_534 / 1000, "2.491534s"],
  [60_500, "1m0.5s"],
  [3_600_000, "1h0m0s"],
])("%d ms are %s in Go", (ms, expected) => {
  expect(goDuration(ms)).toBe(expected);
});

test.each([
  ["0", 0],
  ["0s", 0],
  ["250ms", 250],
  ["2.489742918s", 2489.742918],
  ["1m0.5s", 60_500],
  ["1h2m3s", 3_723_000],
  ["15µs", 0.015],
  ["-1.5s", -1500],
  ["", undefined],
  ["12", undefined],
  ["1.2s!", undefined],
])("Go writes %s for %s ms", (text, ms) => {
  expect(parseGoDuration(text)).toBe(ms);
});

test("a duration that Go cannot hold is none", () => {
  expect(parseGoNanos("9223372036854775807ns")).toBe(2n ** 63n - 1n);
  expect(parseGoNanos("9223372036854775808ns")).toBeUndefined();
});
