// The runs of keys against a plain sorted set.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SortedKeys } from "./sorted-keys.ts";

describe("SortedKeys", () => {
  it("holds what a sorted set would hold, through any adding and removing", () => {
    const change = fc.record({ number: fc.nat({ max: 3000 }), remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(change, { size: "max", maxLength: 4000 }), (changes) => {
        const keys = new SortedKeys();
        const model = new Set<string>();
        for (const { number, remove } of changes) {
          const key = `/${number % 3}/${number}`;
          if (remove) {
            keys.remove(key);
            model.delete(key);
          } else {
            keys.add(key);
            model.add(key);
          }
        }
        const sorted = [...model].sort();
        const ones = sorted.filter((key) => key.startsWith("/1/"));
        const later = ones.filter((key) => key > "/1/2");
        expect(keys.size).toBe(sorted.length);
        expect([...keys.under("")]).toEqual(sorted);
        expect([...keys.under("/1/")]).toEqual(ones);
        expect([...keys.under("/1/", "/1/2")]).toEqual(later);
        expect(keys.countUnder("/1/")).toBe(ones.length);
        expect(keys.countUnder("/1/", "/1/2")).toBe(later.length);
      }),
      { numRuns: 30 },
    );
  });

  it("keeps its order over many runs", () => {
    const keys = new SortedKeys();
    const numbers = Array.from({ length: 5000 }, (_, index) => (index * 2_654_435_761) % 100_000);
    for (const number of numbers) keys.add(String(number));
    expect([...keys.under("")]).toEqual([...new Set(numbers.map(String))].sort());
    expect(keys.countUnder("", "5")).toBe(
      new Set(numbers.map(String).filter((key) => key > "5")).size,
    );
  });

  it("gives nothing for a prefix that no key has and for a start beyond the prefix", () => {
    const keys = new SortedKeys();
    for (const key of ["/a/1", "/c/1"]) keys.add(key);
    expect([...keys.under("/b/")]).toEqual([]);
    expect([...keys.under("/a/", "/b")]).toEqual([]);
    expect([keys.countUnder("/b/"), keys.countUnder("/a/", "/b")]).toEqual([0, 0]);
  });
});
