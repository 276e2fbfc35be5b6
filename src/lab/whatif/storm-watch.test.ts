import { expect, it } from "vitest";
import { fillingOf, waitGrowth } from "./storm-watch.ts";

function looks(keysAt: (atMs: number) => number) {
  return Array.from({ length: 100 }, (_, atMs) => ({ atMs, keys: keysAt(atMs) }));
}

it.each([
  ["was empty now and then", (atMs: number) => atMs % 10, { is: "empty" }],
  ["grows on", (atMs: number) => Math.max(0, atMs - 20), { is: "growing", sinceMs: 20 }],
  ["has grown to its length", (atMs: number) => Math.min(atMs, 30), { is: "level" }],
  ["shrinks and is never empty", (atMs: number) => 200 - atMs, { is: "level" }],
])("sees that a queue %s", (_, keysAt, expected) => {
  expect(fillingOf(looks(keysAt))).toEqual(expected);
});

it("measures by how much the wait grows, whatever is not yet published", () => {
  const waited = [1_000, 2_000, 3_000].map((atMs) => ({
    kind: "join" as const,
    atMs,
    waitMs: atMs / 4,
  }));
  expect(waitGrowth([...waited, { kind: "leave", atMs: 9_000, waitMs: undefined }])).toBe(0.25);
  expect(waitGrowth([])).toBe(0);
});
