import { expect, test } from "vitest";
import { looksLikeRegex, regexProblem } from "./regex.ts";

test.each([
  "/foo(/|$)(.*)",
  "/a/[^/]+/b",
  "/v\\d+\\.\\d+/(?P<rest>.*)",
  "/(?i:a)b*?c{2,3}",
  "/[[:alpha:]]{8}-[0-9a-f]{4}-[0-9a-f]{12}$",
  "/a\\\\b",
  "/(a|b)\\(c\\)",
])("%s is taken", (pattern) => {
  expect(regexProblem(pattern)).toBeUndefined();
});

test.each([
  ["/(a", "is not valid for RE2 (error parsing regexp: missing closing ): `/(a`)"],
  ["/(a)\\1", "has the escape \\1, which is not supported"],
  [
    "/(?=a)",
    "is not valid for RE2 (error parsing regexp: invalid or unsupported Perl syntax: `(?=`)",
  ],
  ["/\\p{Greek}", "has the escape \\p, which is not supported"],
  ["/\\x{10ffff}", "has the escape \\x, which is not supported"],
  ["/\\Qa\\E", "has the escape \\Q, which is not supported"],
  ["/(?P<1a>b)", "has a group whose name is too long or begins with a digit"],
  [`/(?P<${"n".repeat(40)}>b)`, "has a group whose name is too long or begins with a digit"],
  ["/é", "has characters outside printable ASCII"],
  ["/a\n", "has characters outside printable ASCII"],
  ["/[a-z]{600}x[^/]{0,600}", "has repetitions that make it too large"],
  ["/a$*", "is not valid for PCRE"],
  ["/\\b{2}a", "is not valid for PCRE"],
  ["/(?i)?a", "is not valid for PCRE"],
  ["/[:alpha:]", "is not valid for PCRE"],
  ["/(ab){1000}", "has repetitions that make it too large"],
])("%s is refused", (pattern, problem) => {
  const which = `the regular expression ${JSON.stringify(pattern.slice(0, 60))}`;
  expect(regexProblem(pattern)).toBe(`${which} ${problem}`);
});

test("characters that a terminal would obey are spelled out", () => {
  expect(regexProblem("/a\u009b31m")).toBe(
    'the regular expression "/a\\u{9b}31m" has characters outside printable ASCII',
  );
});

test("a long one is refused before anything else is done with it", () => {
  expect(regexProblem(`/${"(a".repeat(1_000_000)}`)).toMatch(/has more than 512 characters$/);
});

test("a path with dots, dashes and tildes is meant as it is written", () => {
  expect(["/v1.0/~me-too", "/a/(.*)", "/a$"].map(looksLikeRegex)).toEqual([false, true, true]);
});
