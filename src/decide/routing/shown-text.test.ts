import { expect, test } from "vitest";
import { plain, shown } from "./shown-text.ts";

test("texts are shown on one line, not too long, and with what is invisible spelled out", () => {
  expect(['a"b', "a\nb", "\u202egnp.exe", "\x9b1m", "\ud800", "é"].map(shown)).toEqual([
    '"a\\"b"',
    '"a\\nb"',
    '"\\u{202e}gnp.exe"',
    '"\\u{9b}1m"',
    '"\\ud800"',
    '"é"',
  ]);
  expect(shown("x".repeat(100))).toBe(`"${"x".repeat(60)}…"`);
});

test("an ordinary word needs no quotes", () => {
  expect(["/a/(.*)", "two words", "", "/é"].map(plain)).toEqual([
    "/a/(.*)",
    '"two words"',
    '""',
    '"/é"',
  ]);
});
