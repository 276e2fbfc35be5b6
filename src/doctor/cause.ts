// One way to weigh evidence, shared by all causes. A cause is a table of signs and some sentences.
//
// A *proof* is a sign that has no other explanation. A *support* is an effect that other causes have
// too. A cause is found if it has a proof. With supports from two independent sources and no proof it
// is possible. A sign *against* it rules it out. Each further source that agrees makes it surer.
import { assert } from "../environment/assert.ts";
import type { Evidence } from "./evidence/evidence.ts";
import type { SignName } from "./evidence/log-signs.ts";
import type { SignGroup } from "./evidence/sign-log.ts";
import {
  type Confidence,
  type EvidenceLine,
  type Finding,
  type Fix,
  type Hop,
  pageOf,
  type Severity,
} from "./finding.ts";
import type { FixTrial } from "./fix-effect.ts";
import type { SourceName } from "./sources.ts";

export type SourceKind = "changes" | "flags" | "logs" | "metrics" | "objects";

export interface Sign {
  readonly weight: "proof" | "support" | "against";
  readonly source: SourceKind;
  readonly lines: readonly EvidenceLine[];
}

/** The conclusion of a cause from its signs. */
export interface Conclusion {
  readonly severity: Severity;
  /** Without a proof; one step lower unless given. */
  readonly severityIfPossible?: Severity;
  /** One sentence. */
  readonly cause: string;
  readonly fix: Fix;
  /** Evidence that would make it surer, and the command that provides it. */
  readonly missing?: readonly string[];
}

export interface Cause {
  /** Also the name of its section in docs/causes/README.md. */
  readonly name: string;
  /** One to three sentences for `--explain`. */
  readonly summary: string;
  /** One sentence: the versions that have it, and whether current ones do. */
  readonly affected: string;
  /** The sources that can show it; without any of them it is not examined. */
  readonly shownBy: readonly SourceName[];
  /** The hop that it makes late; undefined when it concerns none. */
  readonly hop: Hop | undefined;
  /** Causes that this one brings about: they are shown below it. */
  readonly explains: readonly string[];
  /** Further ones, if the evidence shows that they follow from this one. */
  explainsToo?(evidence: Evidence): readonly string[];
  /** The signs that are there; empty when nothing points to the cause. */
  signs(evidence: Evidence): readonly Sign[];
  conclude(evidence: Evidence): Conclusion;
  /** Settings that a simulation can compare; only for fixes whose effect the lab can show. */
  trial?(evidence: Evidence): FixTrial | undefined;
}

/** The finding of one cause; undefined when it is ruled out or nothing points to it. */
export function weigh(cause: Cause, evidence: Evidence): Finding | undefined {
  const signs = cause.signs(evidence);
  if (signs.some(({ weight }) => weight === "against")) return undefined;
  const isProved = signs.some(({ weight }) => weight === "proof");
  const sources = new Set(signs.map(({ source }) => source)).size;
  if (!isProved && sources < 2) return undefined;
  const { severity, cause: sentence, fix, missing = [], ...rest } = cause.conclude(evidence);
  return {
    rule: cause.name,
    severity: isProved ? severity : (rest.severityIfPossible ?? lower(severity)),
    confidence: confidenceOf(isProved, sources),
    hop: cause.hop,
    cause: sentence,
    evidence: [...signs].sort(byWeight).flatMap(({ lines }) => lines),
    fix,
    affected: cause.affected,
    page: pageOf(cause.name),
    missing,
    consequences: [],
  };
}

const byWeight = (a: Sign, b: Sign): number =>
  Number(b.weight === "proof") - Number(a.weight === "proof");

function lower(severity: Severity): Severity {
  return severity === "critical" ? "warning" : "info";
}

const numerals = ["no", "one", "two", "three", "four", "five"];

/** In words, by the number of independent sources that agree. */
function confidenceOf(isProved: boolean, sources: number): Confidence {
  const count = numerals[sources] ?? String(sources);
  if (!isProved) return `possible: ${count} sources`;
  return sources === 1 ? "likely: one source" : `certain: ${count} sources`;
}

/** A cause that one kind of log line proves, if there are enough of them. */
export interface LogCause extends Pick<Cause, "name" | "summary" | "affected" | "shownBy"> {
  readonly hop: Hop | undefined;
  readonly explains?: readonly string[];
  readonly sign: SignName;
  readonly linesMin: number;
  /** The lines that have to be of one subject; 1 unless given. */
  readonly ofOneMin?: number;
  /** One line is enough if its duration is at least this. */
  readonly longMs?: number;
  /** A further condition, where numbers alone are not enough. */
  isEnough?(group: SignGroup): boolean;
  /** Fewer lines prove it, because of what they say. */
  isProved?(group: SignGroup): boolean;
  /** The lines in words, for the evidence. */
  text(group: SignGroup): string;
  /** Further signs, where there are some. */
  others?(evidence: Evidence): readonly Sign[];
  conclude(group: SignGroup, evidence: Evidence): Conclusion;
}

export function logCause(definition: LogCause): Cause {
  const {
    name,
    summary,
    affected,
    shownBy,
    hop,
    explains = [],
    sign,
    linesMin,
    ofOneMin = 1,
    longMs = Number.POSITIVE_INFINITY,
  } = definition;
  const isProved = (group: SignGroup): boolean => {
    if (definition.isEnough?.(group) === false) return false;
    const isFrequent = group.count >= linesMin && group.mostOfOne >= ofOneMin;
    const isLong = (group.longest?.ms ?? 0) >= longMs;
    return isFrequent || isLong || definition.isProved?.(group) === true;
  };
  /** A text may be too short to tell; a longer one with few lines says that there is nothing. */
  const isOpen = (group: SignGroup, evidence: Evidence): boolean =>
    group.count < linesMin && definition.conclude(group, evidence).severity !== "info";
  return {
    name,
    summary,
    affected,
    shownBy,
    hop,
    explains,
    signs(evidence) {
      const group = evidence.signs.get(sign);
      const others = definition.others?.(evidence) ?? [];
      if (group === undefined) return [];
      const lines = [group.evidence(definition.text(group))];
      if (isProved(group)) return [{ weight: "proof", source: "logs", lines }, ...others];
      return isOpen(group, evidence) ? [{ weight: "support", source: "logs", lines }] : [];
    },
    conclude(evidence) {
      const group = evidence.signs.get(sign);
      assert(group !== undefined, "a cause is concluded only from its signs");
      const conclusion = definition.conclude(group, evidence);
      if (isProved(group)) return conclusion;
      const { text, source } = group.evidence(definition.text(group));
      const longer = `a longer part of the log: ${text} (${source}) is not enough; ${linesMin} such lines are`;
      return { ...conclusion, missing: [longer] };
    },
  };
}
