// `npm run bench -- NAME [--json] [--quick] [--minutes N] [--parts A,B] [--write-docs]`: measures one area and prints its figures,
// as a table for people or as one JSON object for machines (values by name; goals and notes beside
// them), and writes its section of docs/figures.md where that is asked for.
import { readFileSync, writeFileSync } from "node:fs";
import { allBenchmarks } from "./all-benchmarks.ts";
import { CannotMeasureError, type Figure, type Figures } from "./benchmark.ts";
import { commandText, sectionOf, thisMachine, withSection } from "./figures-document.ts";

const args = process.argv.slice(2);
const minutesAt = args.indexOf("--minutes");
const minutesText = minutesAt < 0 ? undefined : (args.splice(minutesAt, 2)[1] ?? "");
const partsAt = args.indexOf("--parts");
const parts = partsAt < 0 ? undefined : (args.splice(partsAt, 2)[1] ?? "").split(",");
const name = args.find((arg) => !arg.startsWith("-")) ?? "";
const benchmark = allBenchmarks[name];
const known = [
  "--json",
  "--help",
  "--write-docs",
  ...(benchmark?.hasQuickRun === true ? ["--quick"] : []),
];
const minutes = Number(minutesText ?? 1);
const isMinutesWrong =
  minutesText !== undefined && (benchmark?.takesMinutes !== true || !(minutes > 0));
const isPartWrong = parts?.some((one) => benchmark?.parts?.includes(one) !== true) === true;
const wrong = [...(isMinutesWrong ? ["--minutes"] : []), ...(isPartWrong ? ["--parts"] : [])];
const unknown = wrong[0] ?? args.find((arg) => arg.startsWith("-") && !known.includes(arg));

if (benchmark === undefined || unknown !== undefined || args.includes("--help")) {
  const list = Object.entries(allBenchmarks).map(
    ([key, one]) => `  ${key.padEnd(12)}${one.description}${one.hasQuickRun ? " *" : ""}`,
  );
  const usage =
    "Usage: npm run bench -- NAME [--json] [--quick] [--minutes N] [--parts A,B] [--write-docs]";
  const quick =
    "  * takes --quick: a short run, for a look rather than for figures\n" +
    `  scale and page take --minutes: how long changes go on\n${partsHelp()}`;
  process.stderr.write(`${usage}\n\n${list.join("\n")}\n\n${quick}\n`);
  process.exitCode = args.includes("--help") ? 0 : 2;
} else {
  try {
    const progress = (step: string): void => void process.stderr.write(`  ${step}\n`);
    const figures = await benchmark.run(progress, {
      quick: args.includes("--quick"),
      writeDocs: args.includes("--write-docs"),
      ...(minutesText !== undefined && { minutes }),
      ...(parts !== undefined && { parts }),
    });
    process.stdout.write(args.includes("--json") ? json(name, figures) : table(name, figures));
    if (args.includes("--write-docs")) writeDocs(name, figures);
  } catch (error) {
    if (!(error instanceof CannotMeasureError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}

function partsHelp(): string {
  const lines = Object.entries(allBenchmarks).map(([key, one]) =>
    one.parts === undefined ? [] : [`  ${key} takes --parts: ${one.parts.join(",")}`],
  );
  return lines.flat().join("\n");
}

/** Of this checkout, which is where `npm run` starts it. */
function writeDocs(benchmarkName: string, figures: Figures): void {
  const path = "docs/figures.md";
  const command = commandText(benchmarkName, process.argv.slice(3));
  const run = { name: benchmarkName, command, machine: thisMachine() };
  const section = sectionOf(run, figures);
  writeFileSync(path, withSection(readFileSync(path, "utf8"), benchmarkName, section));
}

function json(benchmarkName: string, figures: Figures): string {
  const values = Object.fromEntries(Object.entries(figures).map(([key, one]) => [key, one.value]));
  return `${JSON.stringify({ benchmark: benchmarkName, node: process.version, ...values, figures })}\n`;
}

function table(benchmarkName: string, figures: Figures): string {
  const inList = Object.entries(figures).filter(([, one]) => one.place === undefined);
  const rows = inList.map(([key, one]) => {
    const goal = one.goal === undefined ? "" : `goal ${one.goal} ${one.holds ? "holds" : "MISSED"}`;
    return `  ${key.padEnd(30)}${String(one.value).padStart(10)} ${one.unit.padEnd(18)}${goal}`;
  });
  return `${benchmarkName}\n${rows.join("\n")}\n${besideTable(Object.values(figures))}`;
}

/** Several subjects beside each other: a row for each measure, a column for each subject. */
function besideTable(figures: readonly Figure[]): string {
  const placed = figures.flatMap((one) =>
    one.place === undefined ? [] : [{ ...one, ...one.place }],
  );
  if (placed.length === 0) return "";
  const columns = [...new Set(placed.map(({ column }) => column))];
  const head = ["", ...columns].map((text, at) => (at === 0 ? text.padEnd(30) : text.padStart(16)));
  const lines = [...new Set(placed.map(({ row }) => row))].map((row) => {
    const cells = columns.map((column) => {
      const found = placed.find((one) => one.row === row && one.column === column);
      return shownValue(found?.value).padStart(16);
    });
    const unit = placed.find((one) => one.row === row)?.unit ?? "";
    return `  ${row.padEnd(28)}${cells.join("")} ${unit}`;
  });
  const notes = columns.map((column) => {
    const note = placed.find((one) => one.column === column)?.note;
    return `  ${column}: ${note ?? ""}`;
  });
  return `\n${[head.join("").trimEnd(), ...lines, "", ...notes].join("\n")}\n`;
}

function shownValue(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? "-" : String(value);
}
