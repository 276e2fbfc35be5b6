// docs/figures.md: a section for each benchmark, written by `npm run bench -- NAME --write-docs` from
// what that run measured, so that no figure is typed by hand.
import { cpus, loadavg } from "node:os";
import { newPart, withPart } from "../scripts/docs/marked-part.ts";
import type { Figure, Figures } from "./benchmark.ts";

/** Where and when the figures were measured. */
export interface Machine {
  readonly date: string;
  readonly node: string;
  readonly processors: string;
  readonly cores: number;
  /** Over the last minute, when this program began: of others alone. */
  readonly loadBefore: number;
  /** The same at the end of the run. */
  readonly load: number;
}

const loadBefore = loadNow();

/** The one that this runs on, now. */
export function thisMachine(): Machine {
  const processors = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    processors: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    cores: processors.length,
    loadBefore,
    load: loadNow(),
  };
}

function loadNow(): number {
  return loadavg()[0] ?? 0;
}

export function machineText({ date, node, processors, cores, ...loads }: Machine): string {
  const average = `load average ${loads.loadBefore.toFixed(1)} before and ${loads.load.toFixed(1)} after`;
  const text = `${date}, Node ${node}, ${processors}, ${average}.`;
  if (loads.loadBefore < cores) return text;
  return `${text} The machine was busy with other work: times are longer than on an idle one.`;
}

/** What was run, with the flags that decide how much is measured. */
export function commandText(name: string, args: readonly string[]): string {
  const flags = args.filter((arg, at) => {
    const owner = arg.startsWith("-") ? arg : (args[at - 1] ?? "");
    return !["--json", "--write-docs"].includes(owner) && owner.startsWith("-");
  });
  return `\`npm run bench -- ${[name, "--write-docs", ...flags].join(" ")}\``;
}

/** The document with this benchmark's section replaced, or added at its end. */
export function withSection(document: string, name: string, section: string): string {
  const part = `bench ${name}`;
  return withPart(document, part, section) ?? `${document.trimEnd()}\n\n${newPart(part, section)}`;
}

export interface Section {
  readonly name: string;
  /** As `commandText` gives it. */
  readonly command: string;
  readonly machine: Machine;
}

export function sectionOf({ name, command, machine }: Section, figures: Figures): string {
  const rows = Object.entries(figures).map(([id, figure]) => rowOf(id, figure));
  return [
    `## ${name}`,
    "",
    `${command}, ${machineText(machine)}`,
    "",
    "| figure | value | unit | goal | note |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function rowOf(id: string, { value, unit, goal, holds, note, place }: Figure): string {
  const aim = goal === undefined ? "" : `${goal}: ${holds === true ? "met" : "missed"}`;
  const where = place === undefined ? "" : `${place.column}, ${place.row}`;
  const words = [where, note ?? ""].filter((text) => text !== "").join(": ");
  const shown = Number.isFinite(value) ? String(value) : "not measured";
  return `| ${[id, shown, unit, aim, words].map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
}
