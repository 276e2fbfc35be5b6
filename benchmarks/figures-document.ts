// docs/figures.md: a section for each benchmark, written by `npm run bench -- NAME --write-docs` from
// what that run measured, so that no figure is typed by hand. Pure.
import type { Figure, Figures } from "./benchmark.ts";

/** Where and when the figures were measured. */
export interface Machine {
  readonly date: string;
  readonly node: string;
  readonly processors: string;
  /** Over the last minute, at the end of the run: what else the machine had to do. */
  readonly load: number;
}

/** The document with this benchmark's section replaced, or added at its end. */
export function withSection(document: string, name: string, section: string): string {
  const [from, to] = [`<!-- bench ${name} -->\n`, "<!-- end -->\n"];
  const written = `${from}${section}${to}`;
  const start = document.indexOf(from);
  if (start < 0) return `${document.trimEnd()}\n\n${written}`;
  const end = document.indexOf(to, start) + to.length;
  return document.slice(0, start) + written + document.slice(end);
}

export function sectionOf(name: string, figures: Figures, machine: Machine): string {
  const { date, node, processors, load } = machine;
  const rows = Object.entries(figures).map(([id, figure]) => rowOf(id, figure));
  return [
    `## ${name}`,
    "",
    `\`npm run bench -- ${name} --write-docs\`, ${date}, Node ${node}, ${processors}, load average ` +
      `${load.toFixed(1)}.`,
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
