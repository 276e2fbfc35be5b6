// A diagnosis for machines. The version rises when a field changes its meaning or goes; readers ignore
// fields they do not know.
import type { Diagnosis, OpenCause } from "../diagnose.ts";
import type { Finding } from "../finding.ts";
import type { Unexamined } from "../sources.ts";

export const reportVersion = 2;

export interface JsonReport {
  readonly version: typeof reportVersion;
  readonly findings: readonly Finding[];
  /** Causes that something points to, with what is missing to tell. */
  readonly open: readonly OpenCause[];
  /** Causes for which no evidence was given, with how to provide it. */
  readonly unexamined: readonly Unexamined[];
}

export function jsonReport({ findings, open, unexamined }: Diagnosis): JsonReport {
  return { version: reportVersion, findings, open, unexamined };
}
