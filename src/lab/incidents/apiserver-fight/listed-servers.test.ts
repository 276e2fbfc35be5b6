import { expect, it } from "vitest";
import { type Listed, listChanges, listedCounts, shareInTurn } from "./listed-servers.ts";

function history(...lists: readonly string[]): readonly Listed[] {
  return lists.map((list, index) => ({ atMs: index * 1_000, addresses: list.split(" ") }));
}

it("counts changes of the list within a period, and no repetition", () => {
  const seen = history("a", "b", "b", "c", "a");
  expect(listChanges(seen, { fromMs: 0, toMs: 4_000 })).toBe(3);
  expect(listChanges(seen, { fromMs: 1_000, toMs: 3_000 })).toBe(1);
});

it("finds the fewest and the most addresses", () => {
  expect(listedCounts(history("a", "a b", "a b c", "b"))).toEqual({ fewest: 1, most: 3 });
});

it("computes the share of changes in turn", () => {
  expect(shareInTurn(history("a", "b", "c", "a", "b", "c", "a"), 3)).toBe(1);
  expect(shareInTurn(history("a", "b", "c", "a", "c", "b", "a"), 3)).toBe(0.5);
  expect(shareInTurn(history("a"), 3)).toBeUndefined();
});
