// The evidence, each piece with the place that it came from. Causes read this and nothing else.
import type { Journey } from "../../timeline/journey.ts";
import { MetricsFacts } from "./metrics-facts.ts";
import type { MetricsPage } from "./metrics-window.ts";
import { ObjectFacts } from "./objects.ts";
import { RequestLog } from "./request-log.ts";
import { SeenChanges } from "./seen-changes.ts";
import { Settings } from "./settings.ts";
import { SignLog } from "./sign-log.ts";
import { type TextFacts, TextReader } from "./text-reader.ts";

export interface Evidence extends TextFacts {
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
  /** When the observation began, by the wall clock; undefined when that is unknown. */
  readonly beganAtMs?: number | undefined;
}

/** Filled by readers, from files and from clusters alike. */
export interface Facts extends TextFacts {
  readonly metrics: MetricsFacts;
  readonly changes: SeenChanges;
}

/** Nothing yet: to be filled by readers. */
export function noFacts(): Facts {
  return {
    signs: new SignLog(),
    objects: new ObjectFacts(),
    settings: new Settings(),
    requests: new RequestLog(),
    metrics: new MetricsFacts(),
    changes: new SeenChanges(),
  };
}

/** As causes read it. */
export function evidenceIn({ metrics, changes, ...texts }: Facts): Evidence {
  return { ...texts, metrics: metrics.all, journeys: changes.evidence };
}

/** Everything that texts say, with metrics and changes where there are some. */
export function evidenceOf(given: {
  readonly logs?: readonly LogEvidence[];
  readonly metrics?: readonly MetricsEvidence[];
  readonly journeys?: JourneyEvidence | undefined;
}): Evidence {
  const facts = noFacts();
  for (const { source, lines, firstLine = 1, component } of given.logs ?? []) {
    const reader = new TextReader(facts, source, component);
    for (const [index, line] of lines.entries()) reader.push(line, firstLine + index);
    reader.end();
  }
  return { ...facts, metrics: given.metrics ?? [], journeys: given.journeys };
}
