import fc from "fast-check";
import { expect, test } from "vitest";
import { WordFinder } from "./word-finder.ts";

test("finds each word once, in the given order", () => {
  const finder = new WordFinder(["leader lost", "took too", "imeout"]);
  expect(finder.find("it took too long: timeout, timeout; leader lost")).toEqual([
    "leader lost",
    "took too",
    "imeout",
  ]);
  expect(finder.find("it took to long")).toEqual([]);
  expect(finder.find("")).toEqual([]);
});

/** Few letters, so that parts of words occur often and overlap. */
const letters = fc.constantFrom("a", "b", "c", "é", "→");
const word = fc.string({ unit: letters, minLength: 3, maxLength: 9 });

test("finds what a search for each word finds", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(word, { minLength: 1, maxLength: 12 }),
      fc.string({ unit: letters, maxLength: 200 }),
      (words, text) => {
        const expected = words.filter((one) => text.includes(one));
        expect(new WordFinder(words).find(text)).toEqual(expected);
      },
    ),
  );
});
