import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  commandText,
  machineText,
  sectionOf,
  withSection,
} from "../benchmarks/figures-document.ts";

const machine = {
  date: "2026-01-02",
  node: "v22.1.0",
  processors: "2 × X",
  cores: 2,
  loadBefore: 0.25,
  load: 3.1,
};

test("a run replaces its own section and no other, and a new one comes last", () => {
  const first = withSection("# Figures\n", "one", "a\n");
  const both = withSection(first, "two", "b\n");
  expect(both).toBe(
    "# Figures\n\n<!-- bench one -->\na\n<!-- end -->\n\n<!-- bench two -->\nb\n<!-- end -->\n",
  );
  expect(withSection(both, "one", "c\n")).toBe(both.replace("a\n<!--", "c\n<!--"));
});

test("a section has every figure, with its goal and what it was measured beside", () => {
  const figures = {
    ratio: { value: 1.4, unit: "×", goal: "≤ 1.3", holds: false, note: "beside JSON.parse" },
    p99: { value: Number.NaN, unit: "ms", place: { row: "p99, 1/s", column: "stock" } },
  };
  const command = commandText("kube", ["--write-docs", "--json"]);
  expect(sectionOf({ name: "kube", command, machine }, figures)).toBe(`## kube

\`npm run bench -- kube --write-docs\`, 2026-01-02, Node v22.1.0, 2 × X, load average 0.3 before and 3.1 after.

| figure | value | unit | goal | note |
| --- | --- | --- | --- | --- |
| ratio | 1.4 | × | ≤ 1.3: missed | beside JSON.parse |
| p99 | not measured | ms |  | stock, p99, 1/s |
`);
});

test("a run on a busy machine says so, and one of less than everything names its flags", () => {
  expect(machineText({ ...machine, loadBefore: 20.6 })).toBe(
    "2026-01-02, Node v22.1.0, 2 × X, load average 20.6 before and 3.1 after. " +
      "The machine was busy with other work: times are longer than on an idle one.",
  );
  const flags = ["--write-docs", "--quick", "--parts", "lag,silent", "--json"];
  expect(commandText("peers", flags)).toBe(
    "`npm run bench -- peers --write-docs --quick --parts lag,silent`",
  );
});

/** The cells of the rows of a table, by area if the document has sections for it. */
function rowsOf(name: string): readonly (readonly string[])[] {
  const text = readFileSync(new URL(`../docs/${name}.md`, import.meta.url), "utf8");
  let area = "";
  return text.split("\n").flatMap((line) => {
    if (line.startsWith("## ")) area = line.slice(3);
    if (!line.startsWith("| ")) return [];
    return [[area, ...line.split("|").map((cell) => cell.trim())]];
  });
}

test("the sizes in the operations guide rest on the figures as they were measured", () => {
  const measured = rowsOf("figures").map(([area, , figure, value, unit]) => ({
    area,
    figure,
    value: `${value} ${unit}`,
  }));
  const areas = new Set(measured.map(({ area }) => area));
  const quoted = rowsOf("operations")
    .filter(([section, , area]) => section === "Size" && areas.has(area ?? ""))
    .map(([, , area, figure, value]) => ({ area, figure, value }));
  expect(quoted.length).toBeGreaterThan(4);
  expect(measured).toEqual(expect.arrayContaining(quoted));
});
