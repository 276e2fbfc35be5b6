import { expect, test } from "vitest";
import type { Finding } from "../../doctor/finding.ts";
import { findingText } from "./finding-text.ts";

const finding: Finding = {
  rule: "some-rule",
  severity: "warning",
  confidence: "certain: two sources",
  hop: undefined,
  cause: "Something holds something back, and here is a sentence that needs more than one line.",
  evidence: [
    { text: "short", source: "a.log:12" },
    {
      text: "a line of evidence that is so long that it has to be continued on the next line, twice, because it never ends",
      source: `/${"very-long-name/".repeat(8)}b.log:7`,
    },
  ],
  fix: { component: "some-component", change: "--flag=1", reason: "Because." },
  affected: "All versions.",
  page: "docs/causes/README.md#some-rule",
  missing: [],
  consequences: [],
};

test("a finding is a verdict, what was seen, and a fix to copy, within 80 columns", () => {
  const text = findingText(finding);
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(`\n${text}`).toMatchInlineSnapshot(`
    "
    WARNING some-rule (certain: two sources)
    Something holds something back, and here is a sentence that needs more than one
    line.
    late hop: none
    affected: All versions.
    more:     lockstep doctor --explain some-rule, docs/causes/README.md#some-rule

    Seen
      · short
        in a.log:12
      · a line of evidence that is so long that it has to be continued on the next
        line, twice, because it never ends
        in /very-long-name/very-long-name/very-long-name/very-long-name/very-long-na
           me/very-long-name/very-long-name/very-long-name/b.log:7

    Fix, on some-component
    ────────────────────────────────────────────────────────────────────────────────
    --flag=1
    ────────────────────────────────────────────────────────────────────────────────
    Because.
    "
  `);
});

test("a narrow terminal loses nothing", () => {
  const text = findingText(finding, { width: 40 });
  expect(text.split("\n").filter((line) => line.length > 40)).toEqual([]);
  expect(text.replaceAll(/\s/g, "")).toContain("very-long-name/".repeat(8));
});
