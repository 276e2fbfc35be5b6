// Runs the rule about plain words over documents and the proxy's files, and shows that it can fail.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { tidyConfiguration, tidyDocument, unclearWords } from "./plain-words.ts";
import { describeBreach } from "./tidy.ts";

function filesOf(...patterns: readonly string[]): readonly string[] {
  const found = ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns];
  return execFileSync("git", found, { encoding: "utf8" })
    .split("\n")
    .filter((path) => path !== "" && existsSync(path));
}

it("finds no unclear word in the documents of this repository", () => {
  const documents = filesOf("*.md");
  expect(documents.length).toBeGreaterThan(20);
  const breaches = documents.flatMap((path) => tidyDocument(path, readFileSync(path, "utf8")));
  expect(breaches.map(describeBreach)).toEqual([]);
});

it("finds no unclear word in comments of the proxy's Lua and nginx files", () => {
  const files = filesOf("proxy/*.lua", "proxy/*.conf");
  expect(files.length).toBeGreaterThan(20);
  const breaches = files.flatMap((path) => tidyConfiguration(path, readFileSync(path, "utf8")));
  expect(breaches.map(describeBreach)).toEqual([]);
});

it.each([
  ["x.lua", "local told = 1 -- is told", [1]],
  ["x.lua", "local a = 1\n-- `told` is heard", [2]],
  ["x.conf", "map $told $a; # for nobody", [1]],
  ["x.lua", "-- What it sends.\n-- Events, and what they show.", [1]],
  ["x.conf", "# plain\nmap $told $a;", []],
])("checks comments only: %s %s", (path, source, lines) => {
  expect(tidyConfiguration(path, source).map(({ line }) => line)).toEqual(lines);
});

it("names file, line and the word to use instead", () => {
  const [breach] = tidyDocument("docs/x.md", "# Title\n\nThe proxy\nis told of a change.\n");
  expect(breach && describeBreach(breach)).toBe(
    'docs/x.md:4: the word "told"\n' +
      "    why: use 'reported', 'received' or 'known': data is not told",
  );
});

it.each([
  ["nginx cannot be told now", ["told"]],
  ["a pod that was heard late", ["heard"]],
  ["The service that Whoever decides asks, and whom", ["Whoever", "whom"]],
  ["nobody reports it, but somebody may", ["nobody", "somebody"]],
  ["nginx opens its logs anew", ["anew"]],
  ["it ends of its\nown accord", ["of its\nown accord"]],
  ["packings that were foretold, a renewed lease", []],
])("finds each word in a text, in order: %s", (text, words) => {
  expect(unclearWords(text).map(({ word }) => word)).toEqual(words);
});

it.each([
  ["a generated part", "<!-- made: x -->\nwas told\n<!-- end -->\n"],
  ["a block of code", "```sh\nls   # nobody\n```\n"],
  ["a block of code in a list", "- see\n  ```\n  nobody\n  ```\n"],
  ["code in a line", "the user `nobody` owns it"],
  ["the target of a link", "[page](told.md)"],
])("leaves out %s, and checks the text after it", (_, quote) => {
  expect(tidyDocument("docs/x.md", quote)).toEqual([]);
  const lines = quote.split("\n").length;
  expect(tidyDocument("docs/x.md", `${quote}\n\nstarts anew`)).toMatchObject([
    { line: lines + 2, problem: 'the word "anew"' },
  ]);
});

it("leaves out the changelog and documents that programs write", () => {
  expect(tidyDocument("CHANGELOG.md", "told")).toEqual([]);
  expect(tidyDocument("docs/fidelity.md", "told")).toEqual([]);
});
