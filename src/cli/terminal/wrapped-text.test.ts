import { expect, test } from "vitest";
import { wrapText } from "./text.ts";

test("breaks at spaces, and cuts a word that is longer than a line", () => {
  expect(wrapText("one two three", { width: 8, first: "- ", rest: "  " })).toEqual([
    "- one",
    "  two",
    "  three",
  ]);
  expect(wrapText("abcdefghij", { width: 4 })).toEqual(["abcd", "efgh", "ij"]);
});

test("a terminal with no room beside what stands before the text still gets all of it", () => {
  for (const width of [0, 3, 6]) {
    const lines = wrapText("ab cd", { width, first: "label ", rest: "      " });
    expect(lines.map((line) => line.slice(6)).join("")).toBe("abcd");
  }
});

test("colours take no room", () => {
  const strong = (text: string): string => `\u001b[1m${text}\u001b[0m`;
  expect(wrapText(`${strong("one two")} three`, { width: 13 })).toEqual([
    `${strong("one two")} three`,
  ]);
  expect(wrapText(strong("abcd"), { width: 4 })).toEqual([strong("abcd")]);
});

test("counts columns, not letters", () => {
  expect(wrapText("東京 大阪 名古屋", { width: 9 })).toEqual(["東京 大阪", "名古屋"]);
  expect(wrapText("名古屋", { width: 5 })).toEqual(["名古", "屋"]);
  expect(wrapText("屋", { width: 1 })).toEqual(["屋"]);
});
