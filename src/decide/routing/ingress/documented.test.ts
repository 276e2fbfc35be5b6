import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { annotationGroups } from "./annotations.ts";

interface Row {
  readonly name: string;
  readonly effect: string;
  readonly difference: string;
}

function documented(): readonly Row[] {
  const text = readFileSync(new URL("../../../../docs/annotations.md", import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => {
      const [, name = "", effect = "", , difference = ""] = line
        .split(/(?<!\\)\|/)
        .map((one) => one.trim());
      return { name: name.replaceAll("`", ""), effect, difference };
    });
}

test("docs/annotations.md lists what is read, each once, and nothing else", () => {
  const listed = documented().map(({ name }) => name);
  const read = annotationGroups.flatMap((group) => group.names);
  expect(listed.length).toBe(read.length);
  expect(new Set(listed)).toEqual(new Set(read));
});

test("docs/annotations.md and lockstep migrate name differences of the same annotations", () => {
  const inDocument = documented()
    .filter(({ effect, difference }) => difference !== "" && !effect.includes("closes"))
    .map(({ name }) => name);
  const inCode = annotationGroups.flatMap((group) => Object.keys(group.differences ?? {}));
  expect(inCode.sort()).toEqual(inDocument.sort());
});
