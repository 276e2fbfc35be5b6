// A conclusion of the doctor: the cause in a sentence, severity, confidence, evidence with its
// source, and the exact change that fixes it.

export type Severity = "info" | "warning" | "critical";

/** `certain: two sources`, `likely: one source`, `possible: two sources`. */
export type Confidence = `${"certain" | "likely" | "possible"}: ${string}`;

/** The hop that a cause makes late (see the vocabulary). */
export type Hop = "pod" | "published" | "synced" | "routed" | "traffic";

export interface Finding {
  /** The name of the cause, which is also its section in docs/causes/README.md. */
  readonly rule: string;
  readonly severity: Severity;
  readonly confidence: Confidence;
  readonly hop: Hop | undefined;
  /** One sentence. */
  readonly cause: string;
  readonly evidence: readonly EvidenceLine[];
  readonly fix: Fix;
  /** One sentence: the versions that have this cause, and whether current ones do. */
  readonly affected: string;
  /** Its section in the documents. */
  readonly page: string;
  /** Evidence that would make it surer, with the command that provides it. */
  readonly missing: readonly string[];
  /** Findings that follow from this one. */
  readonly consequences: readonly Finding[];
}

export interface EvidenceLine {
  readonly text: string;
  /** A file with its line, an object, or a metrics page. */
  readonly source: string;
}

export interface Fix {
  readonly component: string;
  /** The flag, manifest or command, ready to be copied. */
  readonly change: string;
  /** Why this helps, and why the obvious other thing does not. */
  readonly reason: string;
  /** Predicted by a simulation of the sizes and flags that were found; absent without one. */
  readonly effect?: string;
  /** Why there is no prediction although the fix could be simulated. */
  readonly notPredicted?: string;
}

/** The section of a cause. */
export function pageOf(rule: string): string {
  return `docs/causes/README.md#${rule}`;
}

/** Prints the essentials of that section. */
export function explainCommand(rule: string): string {
  return `lockstep doctor --explain ${rule}`;
}

export const severities: readonly Severity[] = ["info", "warning", "critical"];
