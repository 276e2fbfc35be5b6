// The evidence of the doctor, each piece with its source. Rules read this and nothing else.
import type { Journey } from "../../timeline/journey.ts";
import type { MetricsPage } from "./metrics-window.ts";

export interface Evidence {
  readonly logs: readonly LogEvidence[];
  readonly metrics: readonly MetricsEvidence[];
  readonly journeys: JourneyEvidence | undefined;
}

/** Lines of one component's log. */
export interface LogEvidence {
  /** The program that wrote it: `kube-controller-manager`. */
  readonly component: string;
  /** A file, or `kube-system/kube-controller-manager-a` for a pod's log. */
  readonly source: string;
  readonly lines: readonly string[];
  /** The number of the first line; 1 unless given. */
  readonly firstLine?: number;
}

/** One metrics page, read at least twice. */
export interface MetricsEvidence {
  /** The program it is of. */
  readonly component: string;
  /** An address or a file. */
  readonly source: string;
  /** Oldest first. */
  readonly pages: readonly MetricsPage[];
}

/** Changes that were observed, those that are pending included. */
export interface JourneyEvidence {
  readonly source: string;
  readonly journeys: readonly Journey[];
  /** By the clock of the journeys. */
  readonly nowMs: number;
}
