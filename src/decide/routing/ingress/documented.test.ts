import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { annotationGroups } from "./annotations.ts";

test("docs/annotations.md lists what is read, each once, and nothing else", () => {
  const text = readFileSync(new URL("../../../../docs/annotations.md", import.meta.url), "utf8");
  const listed = [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
  const read = annotationGroups.flatMap((group) => group.names);
  expect(listed.length).toBe(read.length);
  expect(new Set(listed)).toEqual(new Set(read));
});
