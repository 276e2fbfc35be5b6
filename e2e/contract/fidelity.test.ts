import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { knownDifferences } from "../real/known-differences.ts";

const heading = "## Differences of the API server, with reasons";

test("docs/fidelity.md lists the known differences, and no others", () => {
  const document = readFileSync("docs/fidelity.md", "utf8");
  const start = document.indexOf(heading);
  expect(start).toBeGreaterThan(0);
  const [section = ""] = document.slice(start + heading.length).split("\n## ");
  const rows = section
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(2)
    .map((line) =>
      line
        .split(/(?<!\\) \| /)
        .slice(0, 2)
        .join(" | ")
        .slice(2),
    );
  const expected = knownDifferences.map(({ what, why }) =>
    `${what} | ${why}`.replaceAll("|", "\\|").replace(" \\| ", " | "),
  );
  expect(rows.toSorted()).toEqual(expected.toSorted());
});
