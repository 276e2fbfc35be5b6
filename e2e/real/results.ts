// The results of a comparison with the real control plane, one JSON file for each section in the
// folder LOCKSTEP_REAL_RESULTS. scripts/generate-fidelity.mjs makes docs/fidelity.md from these
// files alone, so a test only has to write a result.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface RealResult {
  /** Names its file and its place in the document: sections stand in the order of their names. */
  readonly section: string;
  /** The heading. */
  readonly title: string;
  /** Sentences below the heading: the compared systems, and the method. */
  readonly text: string;
  /** Single figures and versions, in the order they are to be read. */
  readonly facts: Readonly<Record<string, string | number>>;
  /** The heads of the table's columns; with none there is no table. */
  readonly columns: readonly string[];
  /** One cell for each column. */
  readonly rows: readonly (readonly (string | number)[])[];
}

/** Keeps a section's result; does nothing if results are not requested. */
export function writeRealResult(result: RealResult): void {
  const folder = process.env["LOCKSTEP_REAL_RESULTS"] ?? "";
  if (folder === "") return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${result.section}.json`), `${JSON.stringify(result, null, 2)}\n`);
}
