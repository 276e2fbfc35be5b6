// What an incident is to whoever shows it: a run from a seed, and the figures that came out of it
// beside those of the write-up. No figure of a write-up goes into a run; where a parameter had to be
// chosen so that the run fits, the result says so.

export interface Incident {
  readonly name: string;
  /** One sentence: what people saw. */
  readonly summary: string;
  readonly run: (options: IncidentOptions) => Promise<IncidentResult>;
}

export interface IncidentOptions {
  readonly seed: number;
  /** Applies the write-up's fix and shows what it does; the incident as it was unless given. */
  readonly fix?: boolean;
  /** Called now and then in real time, while virtual time stands still. */
  readonly onProgress?: (progress: IncidentProgress) => void | Promise<void>;
}

export interface IncidentProgress {
  /** What is being done, in a few words. */
  readonly step: string;
  readonly virtualMs: number;
}

export type Unit = "ms" | "requests";

export interface IncidentRow {
  readonly measure: string;
  /** In the write-up's own words; empty where it says nothing. */
  readonly writeUp: string;
  /** Undefined where the measure does not apply to that side. */
  readonly stock: number | undefined;
  readonly lockstep: number | undefined;
  readonly unit: Unit;
}

export interface IncidentResult {
  readonly name: string;
  readonly isFixed: boolean;
  readonly rows: readonly IncidentRow[];
  /** Parameters that were chosen to fit the write-up, and what the model leaves out. */
  readonly fitted: readonly string[];
  readonly seed: number;
  /** How much time passed in the run. */
  readonly virtualMs: number;
}
