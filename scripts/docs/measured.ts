// The parts of the documents with real time, from real runs on this machine: the story of `npm
// start`, the observer's accuracy in live incidents, and the benchmarks. No test repeats them.
import { spawnSync } from "node:child_process";
import { allBenchmarks } from "../../benchmarks/all-benchmarks.ts";
import { machineText, thisMachine } from "../../benchmarks/figures-document.ts";
import { allIncidents } from "../../src/lab/incidents/all-incidents.ts";
import type { ObserverAccuracy } from "../../src/lab/observed/observer-accuracy.ts";
import { type Line, textOf } from "./docs-terminal.ts";
import { type Target, upPicture } from "./documents.ts";
import { runCommand } from "./run-command.ts";
import { terminalPicture } from "./terminal-picture.ts";

export interface Measurement {
  readonly name: string;
  readonly targets: readonly Target[];
  /** The text for each target, in their order. */
  readonly make: () => Promise<readonly string[]>;
}

const liveTable: Target = { path: "docs/incidents.md", part: "measured: live" };

export const measurements: readonly Measurement[] = [
  { name: "up", targets: [upPicture], make: async () => [await upRun()] },
  { name: "live", targets: [liveTable], make: async () => [await liveRuns()] },
  // A benchmark writes its section itself.
  ...Object.keys(allBenchmarks).map((name) => ({
    name,
    targets: [],
    make: async () => runBenchmark(name),
  })),
];

/** The third act: the release under a throttled controller, up to the requests that were lost. */
async function upRun(): Promise<string> {
  const lines = await runCommand(["up", "--once"]);
  const texts = lines.map((line) => textOf([line]));
  const from = texts.findIndex((text) => text.startsWith("3  "));
  const to = texts.findIndex((text, index) => index > from && /^ {2}Lockstep .* lost$/m.test(text));
  if (from < 0 || to < 0) throw new Error(`the third act is not in:\n${textOf(lines)}`);
  const label = "Terminal output of npm start";
  return terminalPicture(lines.slice(from, to + 1), { label });
}

async function liveRuns(): Promise<string> {
  const rows: string[] = [];
  for (const { name } of allIncidents) {
    const [line] = await runCommand(["incident", name, "--live", "--json"]);
    rows.push(liveRow(name, observerOf(line ?? [])));
  }
  return [
    "| live | changes | missed, invented | published p50 / max | routed p50 / max | late, by both |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
    "",
    `\`npm run docs -- --measure live\`, ${machineText(thisMachine())}`,
    "",
  ].join("\n");
}

function observerOf(line: Line): ObserverAccuracy {
  const document: { incidents: [{ observer: ObserverAccuracy }] } = JSON.parse(textOf([line]));
  return document.incidents[0].observer;
}

export function liveRow(name: string, observer: ObserverAccuracy): string {
  const { changes, missed, invented, hops, slowestHop } = observer;
  const lag = (hop: string): string => {
    const found = hops.find((one) => one.hop === hop);
    return found === undefined
      ? "not compared"
      : `${Math.ceil(found.p50Ms)} / ${Math.ceil(found.maxMs)} ms`;
  };
  const { observed, ledger } = slowestHop;
  const [seen, real] = [observed ?? "none", ledger ?? "none"];
  const late = seen === real ? real : `${seen}, by the ledger ${real}`;
  const cells = [name, changes, `${missed}, ${invented}`, lag("published"), lag("routed"), late];
  return `| ${cells.join(" | ")} |`;
}

function runBenchmark(name: string): readonly string[] {
  const args = ["dist/benchmarks/main.js", name, "--write-docs"];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) throw new Error(`the benchmark ${name} ended with exit code ${status}`);
  return [];
}
