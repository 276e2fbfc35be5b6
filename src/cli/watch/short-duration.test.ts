import { expect, test } from "vitest";
import { shortDuration } from "./short-duration.ts";

test.each([
  [0, "0"],
  [0.068, "0.07 ms"],
  [0.25, "0.25 ms"],
  [0.9314, "0.93 ms"],
  [12.34, "12.3 ms"],
  [340, "340 ms"],
  [31_240, "31.2 s"],
  [59_970, "1m00s"],
  [646_000, "10m46s"],
  [3_599_600, "1h00m"],
  [11_100_000, "3h05m"],
  [187_200_000, "2d04h"],
  [-646_000, "−10m46s"],
])("%f ms is %s", (ms, text) => {
  expect(shortDuration(ms)).toBe(text);
});
