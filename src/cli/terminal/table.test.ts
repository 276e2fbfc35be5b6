import { expect, test } from "vitest";
import { rowLines, tableWidth } from "./table.ts";

const columns = [
  { width: 6, align: "left" },
  { width: 5, align: "right" },
] as const;

test("a cell that is too long goes on below itself, and wide characters take two columns", () => {
  expect(tableWidth(columns)).toBe(13);
  expect(rowLines(["東京", "12 ms"], columns)).toEqual(["東京    12 ms"]);
  expect(rowLines(["two words", "1 s"], columns)).toEqual(["two       1 s", "words"]);
});
