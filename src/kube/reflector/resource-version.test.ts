import { expect, test } from "vitest";
import { compareResourceVersions, hasReached, isOlder } from "./resource-version.ts";

test.each([
  ["9", "10", -1],
  ["10", "9", 1],
  ["12345678901234567890123", "12345678901234567890124", -1],
  ["7", "7", 0],
  ["abc", "abc", 0],
  ["abc", "abd", undefined],
  ["07", "8", undefined],
  ["0", "1", undefined],
  ["", "1", undefined],
])("%s against %s is %s", (a, b, order) => {
  const result = compareResourceVersions(a, b);
  expect(result === undefined ? undefined : Math.sign(result)).toBe(order);
  expect(hasReached(a, b)).toBe(order !== undefined && order >= 0);
  expect(isOlder(a, b)).toBe(order === -1);
});
