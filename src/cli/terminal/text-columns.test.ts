import { expect, test } from "vitest";
import { cutText, leftText, rightText, textColumns } from "./text.ts";

test.each([
  ["", 0],
  ["prod-eu", 7],
  ["−10.0.0.1", 9],
  ["東京", 4],
  ["e\u0301te\u0301", 3],
  ["🚢 fleet", 8],
  ["⚡✅", 4],
  ["👩‍💻 dev", 6],
  ["🇩🇪 de", 5],
  ["❤️", 2],
  ["\u001b[31mlost\u001b[0m", 4],
])("%j takes %i columns", (text, columns) => {
  expect(textColumns(text)).toBe(columns);
});

test("a text that is too long ends in an ellipsis and is never wider than asked", () => {
  expect(cutText("web-frontend", 12)).toBe("web-frontend");
  expect(cutText("web-frontend", 6)).toBe("web-f…");
  // Half of a wide character cannot be shown.
  expect(cutText("東京クラスタ", 6)).toBe("東京…");
  expect(cutText("anything", 0)).toBe("");
});

test("texts are filled up on either side, by columns and not by letters", () => {
  expect(leftText("東京", 6)).toBe("東京  ");
  expect(rightText("12 ms", 8)).toBe("   12 ms");
  expect(rightText("10 min 46 s", 6)).toBe("10 mi…");
});
