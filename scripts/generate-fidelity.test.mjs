import { expect, test } from "vitest";
import { renderFidelity } from "./generate-fidelity.mjs";

test("a section has its heading, its text, its facts and its table", () => {
  const document = renderFidelity([
    {
      section: "1-api",
      title: "The API server",
      text: "What was compared.",
      facts: { cases: 3590, version: "v1.36.0" },
      columns: ["What", "Times"],
      rows: [["a | b", 1200]],
    },
    { section: "2", title: "Next", text: "No table.", facts: {}, columns: [], rows: [] },
  ]);
  expect(document.slice(document.indexOf("## "))).toBe(`## The API server

What was compared.

- cases: 3,590
- version: v1.36.0

| What | Times |
| --- | --- |
| a \\| b | 1,200 |

## Next

No table.
`);
});

test("long texts are broken into lines", () => {
  const text = "word ".repeat(30).trim();
  const document = renderFidelity([
    { section: "1", title: "T", text, facts: {}, columns: [], rows: [] },
  ]);
  const lines = document.split("\n").filter((line) => line.startsWith("word"));
  expect(lines.map((line) => line.length)).toEqual([99, 49]);
});
