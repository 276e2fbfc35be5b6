import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InternPool, shareItems } from "./intern.ts";

test("gives back the first of equal values", () => {
  const pool = new InternPool<object>();
  const [first, second] = [{ a: 1 }, { a: 1 }];
  expect(pool.share("a", first)).toBe(first);
  expect(pool.share("a", second)).toBe(first);
});

test("never holds more than its capacity, and keeps what is in use", () => {
  const pool = new InternPool<object>(8);
  const used = pool.share("used", {});
  let largest = 0;
  for (let index = 0; index < 100; index += 1) {
    pool.share(`value ${index}`, {});
    expect(pool.share("used", {})).toBe(used);
    largest = Math.max(largest, pool.size);
  }
  expect(largest).toBe(8);
});

describe("a new version of a list", () => {
  interface Item {
    readonly text: string;
  }

  const isSame = (a: Item, b: Item): boolean => a.text === b.text;
  const itemsOf = (texts: string): readonly Item[] => texts.split("").map((text) => ({ text }));

  test.each([
    ["as it was", "abcde", "abcde"],
    ["where some changed in their places", "abxye", "ab  e"],
    ["where one came first, last or between", "xabycdez", " ab cde "],
    ["where one went", "abde", "abde"],
    ["where one went and another came last", "acdex", "acde "],
  ])("keeps the values of the one before: %s", (_how, texts, kept) => {
    const before = itemsOf("abcde");
    const after = shareItems(itemsOf(texts), before, isSame);
    const found = after.map((item) => (before.includes(item) ? item.text : " ")).join("");
    expect([after.map(({ text }) => text).join(""), found]).toEqual([texts, kept]);
    expect(after === before).toBe(texts === "abcde");
  });

  test("is what it would be without one before", () => {
    const list = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 8 });
    fc.assert(
      fc.property(list, list, (before, texts) => {
        const after = shareItems(itemsOf(texts.join("")), itemsOf(before.join("")), isSame);
        expect(after.map(({ text }) => text)).toEqual(texts);
      }),
    );
  });
});
