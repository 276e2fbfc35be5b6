// An incident and its findings: it is played on a stage and compared with the write-up and with Lockstep.
// Numbers that a write-up gives about its cluster, and parameters chosen to fit it, are inputs. The
// findings list them. A figure that follows from an input is shown apart.
import type { ObserverAccuracy } from "../observed/observer-accuracy.ts";
import type { Figure, Unit } from "./figure.ts";
import type { OpenStage } from "./stage.ts";

export interface Incident {
  readonly name: string;
  /** One sentence: what people saw. */
  readonly summary: string;
  /** One sentence: why it was so. */
  readonly cause: string;
  /** The cause as `lockstep doctor` names it. */
  readonly rule: string;
  /** One sentence: what the write-up did about it. */
  readonly fix: string;
  /** May open several stages one after the other, one for each variant it compares. */
  readonly play: (open: OpenStage, options: IncidentOptions) => Promise<IncidentFindings>;
}

export interface IncidentOptions {
  /** With the write-up's fix, to show what it does, both sides of it. */
  readonly fix: boolean;
}

export interface IncidentFindings {
  /** Events of the play, in order. */
  readonly timeline: readonly TimelineEntry[];
  /** Numbers of the incident report and of this play. */
  readonly figures: readonly Figure[];
  /** The effect on traffic, with stock components and with Lockstep in their place. */
  readonly measures: readonly Measure[];
  /** For charts; all on the time of the stage they were measured on. */
  readonly series: readonly Series[];
  /** Inputs taken from the write-up or chosen to fit it, and what the model leaves out. */
  readonly fitted: readonly string[];
}

export interface IncidentResult extends IncidentFindings {
  readonly name: string;
  readonly isFixed: boolean;
  readonly stage: "virtual" | "live";
  readonly seed: number;
  /** How much time passed on all stages together. */
  readonly durationMs: number;
  /** Of everything that happened in virtual time: the same from the same seed. */
  readonly traceHash: string | undefined;
  /** How right the observer was, by the lab's own ledger. */
  readonly observer: ObserverAccuracy;
}

/** With fewer objects and shorter times the figures differ: they are shown and not compared. */
export function ofShortPlay(findings: IncidentFindings): IncidentFindings {
  const shownOnly = (figure: Figure): Figure => ({
    ...figure,
    expected: figure.expected.map(({ source, text }) => ({ source, text })),
  });
  return {
    ...findings,
    figures: findings.figures.map(shownOnly),
    fitted: [
      ...findings.fitted,
      "fewer objects and shorter times than in the full play, so numbers are shown and not compared",
    ],
  };
}

export interface TimelineEntry {
  /** On which of several stages, counted as those of the series are; the first unless given. */
  readonly stage?: number;
  /** Since that stage was opened. */
  readonly atMs: number;
  readonly text: string;
}

export interface Measure {
  readonly id: string;
  readonly text: string;
  readonly unit: Unit;
  /** Undefined where the measure does not apply to that side. */
  readonly stock: number | undefined;
  readonly lockstep: number | undefined;
  /** The goal for Lockstep, as text; undefined where the measure is only context. */
  readonly goal: string | undefined;
  /** Whether it did; true where there is no goal. */
  readonly held: boolean;
  /** Tells the incident in a line, for a summary of many. */
  readonly isHeadline?: true;
}

export interface Series {
  readonly id: string;
  /** Series of one text and different sides are drawn in one chart; those in `ms` are lags. */
  readonly text: string;
  readonly unit: Unit;
  /** The side, where stock and Lockstep are compared. */
  readonly side?: "stock" | "lockstep";
  /** On which of several stages it was measured; the first is 1, and meant unless given. */
  readonly stage?: number;
  /** Time and value, in order. */
  readonly points: readonly (readonly [atMs: number, value: number])[];
}
