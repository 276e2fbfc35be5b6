// The signs of all logs, counted. Memory is bounded however long the logs are: of each sign the
// numbers are kept, the first places, the longest, and the most frequent subjects.
import type { EvidenceLine } from "../finding.ts";
import type { LogSign, SignName } from "./log-signs.ts";

/** A text and the line in it. */
export interface Place {
  readonly source: string;
  readonly line: number;
}

export interface SeenSign extends LogSign {
  readonly place: Place;
  /** On the log's own clock. */
  readonly atMs: number | undefined;
  /** The program that wrote it, where it is known. */
  readonly program: string | undefined;
}

/** More different URLs, nodes or addresses are one more, not news. */
const subjectsMax = 2_000;

/** Enough to see a period; ten hours of a line each ten seconds. */
const timesMax = 4_000;

const samplesMax = 3;

export class SignGroup {
  readonly name: SignName;
  count = 0;
  /** The first ones. */
  readonly samples: SeenSign[] = [];
  /** The one with the largest `ms`. */
  longest: SeenSign | undefined;
  readonly subjects = new Map<string, number>();
  readonly programs = new Map<string, number>();
  /** In the order of the log. */
  readonly timesMs: number[] = [];

  constructor(name: SignName) {
    this.name = name;
  }

  add(sign: SeenSign): void {
    this.count += 1;
    if (this.samples.length < samplesMax) this.samples.push(sign);
    if ((sign.ms ?? -1) > (this.longest?.ms ?? -1)) this.longest = sign;
    countUp(this.subjects, sign.subject);
    if (sign.program !== undefined) countUp(this.programs, sign.program);
    if (sign.atMs !== undefined && this.timesMs.length < timesMax) this.timesMs.push(sign.atMs);
  }

  /** From the first to the last line with a time. */
  get spanMs(): number {
    const sorted = this.#sortedTimes();
    return (sorted.at(-1) ?? 0) - (sorted[0] ?? 0);
  }

  /** Median time between two lines; undefined below three lines. */
  get periodMs(): number | undefined {
    const sorted = this.#sortedTimes();
    const gaps = sorted.slice(1).map((at, index) => at - (sorted[index] ?? at));
    if (gaps.length < 2) return undefined;
    return gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  }

  /** The most frequent first. */
  topSubjects(max: number): readonly string[] {
    return [...this.subjects]
      .sort(([, a], [, b]) => b - a)
      .slice(0, max)
      .map(([subject]) => subject);
  }

  /** An evidence line at the place of the longest or the first one. */
  evidence(text: string): EvidenceLine {
    const { place } = this.longest ?? this.samples[0] ?? { place: { source: "", line: 0 } };
    return { text, source: placeText(place) };
  }

  #sortedTimes(): number[] {
    return [...this.timesMs].sort((a, b) => a - b);
  }
}

export class SignLog {
  readonly #groups = new Map<SignName, SignGroup>();

  add(sign: SeenSign): void {
    const group = this.#groups.get(sign.name) ?? new SignGroup(sign.name);
    this.#groups.set(sign.name, group);
    group.add(sign);
  }

  /** Undefined when there is no such line. */
  get(name: SignName): SignGroup | undefined {
    return this.#groups.get(name);
  }

  get all(): readonly SignGroup[] {
    return [...this.#groups.values()];
  }
}

export function placeText({ source, line }: Place): string {
  return line === 0 ? source : `${source}:${line}`;
}

function countUp(map: Map<string, number>, key: string): void {
  const before = map.get(key);
  if (before === undefined && map.size >= subjectsMax) return;
  map.set(key, (before ?? 0) + 1);
}
