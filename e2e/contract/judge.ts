// Sorts the differences between two servers into those that are known, with their reasons, and
// those that are not. A known difference that no longer occurs is as much a finding as a new one.
import { type Difference, differences } from "./compare.ts";
import type { Transcript } from "./contract-case.ts";

export interface KnownDifference {
  /** The difference, in a sentence. */
  readonly what: string;
  /** Why it is left so. */
  readonly why: string;
  /** Of a difference that this explains; all that are given must match. */
  readonly where: {
    readonly case?: RegExp;
    readonly place?: RegExp;
    /** Of the value as JSON; absence is `undefined`. */
    readonly real?: RegExp;
    readonly embedded?: RegExp;
  };
}

export interface Verdict {
  readonly cases: number;
  readonly requests: number;
  readonly unlisted: readonly Difference[];
  /** How many differences each known one explains. */
  readonly explained: ReadonlyMap<KnownDifference, number>;
  /** Known ones that did not occur. */
  readonly gone: readonly KnownDifference[];
}

type Transcripts = ReadonlyMap<string, Transcript>;

export function judge(
  real: Transcripts,
  embedded: Transcripts,
  known: readonly KnownDifference[],
): Verdict {
  const explained = new Map<KnownDifference, number>();
  const unlisted: Difference[] = [];
  let requests = 0;
  for (const [name, transcript] of real) {
    requests += transcript.length;
    for (const difference of differences(name, transcript, embedded.get(name) ?? [])) {
      const reason = known.find(({ where }) => explains(where, difference));
      if (reason === undefined) unlisted.push(difference);
      else explained.set(reason, (explained.get(reason) ?? 0) + 1);
    }
  }
  const gone = known.filter((one) => !explained.has(one));
  return { cases: real.size, requests, unlisted, explained, gone };
}

/** The differences for a person to read: each case once, with what either server said. */
export function describeDifferences(list: readonly Difference[], max: number): string {
  const lines = list
    .slice(0, max)
    .map(
      ({ case: name, request, place, real, embedded }) =>
        `${name}\n  ${request}\n  ${place}\n    real:     ${shown(real)}\n    embedded: ${shown(embedded)}`,
    );
  const more = list.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function explains(where: KnownDifference["where"], difference: Difference): boolean {
  return (
    (where.case?.test(difference.case) ?? true) &&
    (where.place?.test(difference.place) ?? true) &&
    (where.real?.test(text(difference.real)) ?? true) &&
    (where.embedded?.test(text(difference.embedded)) ?? true)
  );
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? "undefined";
}

function shown(value: unknown): string {
  const all = text(value);
  return all.length > 400 ? `${all.slice(0, 400)}…` : all;
}
