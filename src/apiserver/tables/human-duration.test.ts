import { describe, expect, test } from "vitest";
import type { WallMs } from "../../environment/clock.ts";
import { ageAt, humanDuration } from "./human-duration.ts";

describe("a duration for people", () => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  const year = 365 * day;
  test.each([
    [-2 * second, "<invalid>"],
    [-1.9 * second, "0s"],
    [0, "0s"],
    [1999, "1s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [2 * minute + 3 * second, "2m3s"],
    [10 * minute - 1, "9m59s"],
    [10 * minute + 59 * second, "10m"],
    [3 * hour - 1, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [8 * hour + 59 * minute, "8h"],
    [47 * hour, "47h"],
    [48 * hour, "2d"],
    [7 * day + 23 * hour, "7d23h"],
    [8 * day + 23 * hour, "8d"],
    [2 * year - 1, "729d"],
    [2 * year, "2y"],
    [2 * year + day, "2y1d"],
    [8 * year + 300 * day, "8y"],
  ])("of %d ms is %s", (durationMs, text) => {
    expect(humanDuration(durationMs)).toBe(text);
  });

  test("is unknown where there is no time to count from", () => {
    expect(ageAt("", 5 as WallMs)).toBe("<unknown>");
  });
});
