// Findings for machines. The version rises when a field changes its meaning or goes; readers ignore
// fields they do not know.
import type { Finding } from "../finding.ts";

export const reportVersion = 1;

export interface JsonReport {
  readonly version: typeof reportVersion;
  readonly findings: readonly Finding[];
}

export function jsonReport(findings: readonly Finding[]): JsonReport {
  return { version: reportVersion, findings };
}
