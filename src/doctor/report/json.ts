// A diagnosis for machines. The version rises when a field changes its meaning or goes; readers ignore
// fields they do not know.
import type { Diagnosis, OpenCause } from "../diagnose.ts";
import type { Finding } from "../finding.ts";

export const reportVersion = 2;

export interface JsonReport {
  readonly version: typeof reportVersion;
  readonly findings: readonly Finding[];
  /** Causes that something points to, with what is missing to tell. */
  readonly open: readonly OpenCause[];
}

export function jsonReport({ findings, open }: Diagnosis): JsonReport {
  return { version: reportVersion, findings, open };
}
