// A conclusion of the doctor: the cause in a sentence, severity, confidence, evidence with its
// source, and the exact change that fixes it.

export type Severity = "info" | "warning" | "critical";

export interface Finding {
  /** The name of the rule, which is also the name of its page. */
  readonly rule: string;
  readonly severity: Severity;
  /** `certain: two sources`, `likely: one source`. */
  readonly confidence: string;
  /** One sentence. */
  readonly cause: string;
  readonly evidence: readonly EvidenceLine[];
  readonly fix: Fix;
}

export interface EvidenceLine {
  readonly text: string;
  /** A file with its line, an object, or a metrics page. */
  readonly source: string;
}

export interface Fix {
  readonly component: string;
  /** The setting, ready to be copied. */
  readonly change: string;
  /** Why this helps, and why the obvious other thing does not. */
  readonly reason: string;
}

const numerals = ["no", "one", "two", "three"];

/** In words, by the number of sources that say the same independently. */
export function confidenceOf(sources: number): string {
  const count = numerals[sources] ?? String(sources);
  return sources === 1 ? "likely: one source" : `certain: ${count} sources`;
}
