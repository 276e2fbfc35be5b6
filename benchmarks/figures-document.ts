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
  /** Over the last minute, at the end of the run: other load on the machine. */
  readonly load: number;
}

/** The one that this runs on, now. */
export function thisMachine(): Machine {
  const processors = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    processors: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    load: loadavg()[0] ?? 0,
  };
}

export function machineText({ date, node, processors, load }: Machine): string {
  return `${date}, Node ${node}, ${processors}, load average ${load.toFixed(1)}.`;
}

/** The document with this benchmark's section replaced, or added at its end. */
export function withSection(document: string, name: string, section: string): string {
  const part = `bench ${name}`;
  return withPart(document, part, section) ?? `${document.trimEnd()}\n\n${newPart(part, section)}`;
}

export function sectionOf(name: string, figures: Figures, machine: Machine): string {
  const rows = Object.entries(figures).map(([id, figure]) => rowOf(id, figure));
  return [
    `## ${name}`,
    "",
    `\`npm run bench -- ${name} --write-docs\`, ${machineText(machine)}`,
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
