import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allCauses } from "./diagnose.ts";

test("each cause has a summary and a section in the document, and no section is left over", () => {
  const document = readFileSync(new URL("../../docs/causes/README.md", import.meta.url), "utf8");
  const sections = [...document.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
  expect(new Set(sections)).toEqual(new Set(allCauses.map(({ name }) => name)));
  for (const { summary } of allCauses) expect(summary).toMatch(/^\S.*\.$/);
});

test("each cause says in a sentence which versions it affects, and which sources can show it", () => {
  for (const { affected, shownBy } of allCauses) {
    expect(affected).toMatch(/^[A-Z].*\.$/);
    expect(affected.split(" ").length).toBeLessThanOrEqual(25);
    expect(shownBy).not.toEqual([]);
  }
});

test("a cause explains only causes that exist", () => {
  const names = allCauses.map(({ name }) => name);
  for (const { explains } of allCauses)
    expect(names).toEqual(expect.arrayContaining([...explains]));
});
