// The signs of all logs, counted. Memory is bounded however long the logs are: of each sign the
// numbers are kept, the first places, the longest, and the most frequent subjects.
import type { EvidenceLine } from "../finding.ts";
import { unknownYear } from "./log-line.ts";
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

/** Enough to see a period: some waves of thousands of lines. */
const timesMax = 20_000;

const samplesMax = 3;

/** A journal of a whole machine has some hundred. */
const programsMax = 1_000;

/** Clients try again after a second or longer. */
const momentMs = 500;

/** A verb or a reason; longer ones are sentences. */
const detailCharsMax = 40;

export class SignGroup {
  readonly name: SignName;
  count = 0;
  /** The first ones. */
  readonly samples: SeenSign[] = [];
  /** The one with the largest `ms`. */
  longest: SeenSign | undefined;
  readonly subjects = new Map<string, number>();
  readonly programs = new Map<string, number>();
  /** By the second word of the sign, such as the verb of a request. */
  readonly details = new Map<string, number>();
  shortestMs: number | undefined;
  /** In the order of the log. */
  readonly timesMs: number[] = [];

  constructor(name: SignName) {
    this.name = name;
  }

  add(sign: SeenSign): void {
    this.count += sign.times;
    if (this.samples.length < samplesMax) this.samples.push(sign);
    if ((sign.ms ?? -1) > (this.longest?.ms ?? -1)) this.longest = sign;
    if (sign.ms !== undefined) this.shortestMs = Math.min(sign.ms, this.shortestMs ?? sign.ms);
    countUp(this.subjects, sign.subject, sign.times);
    if (sign.detail.length <= detailCharsMax) countUp(this.details, sign.detail, sign.times);
    if (sign.program !== undefined) countUp(this.programs, sign.program, sign.times);
    if (sign.atMs !== undefined && this.timesMs.length < timesMax) this.timesMs.push(sign.atMs);
  }

  /** Whether all lines have a time before this one. Times without a year are taken as its year. */
  isBefore(wallMs: number): boolean {
    const year = new Date(wallMs).getUTCFullYear();
    const last = this.#sortedTimes().at(-1);
    if (last === undefined || this.timesMs.length >= timesMax) return false;
    const time = new Date(last);
    if (time.getUTCFullYear() === unknownYear) time.setUTCFullYear(year);
    return time.getTime() < wallMs;
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

  /** Times more than a second apart; `count` where the lines have no times. */
  get moments(): number {
    if (this.timesMs.length === 0) return this.count;
    const sorted = this.#sortedTimes();
    return sorted.filter((at, index) => at - (sorted[index - 1] ?? -Infinity) > momentMs).length;
  }

  /** How often the most frequent subject was seen. */
  get mostOfOne(): number {
    return Math.max(0, ...this.subjects.values());
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
  /** Those whose logs were read, known messages or not; "" for a program that is unknown. */
  readonly programs = new Set<string>();
  /** Of the lines with a year; undefined without any. */
  newestMs: number | undefined;

  add(sign: SeenSign): void {
    const group = this.#groups.get(sign.name) ?? new SignGroup(sign.name);
    this.#groups.set(sign.name, group);
    group.add(sign);
    this.noteLog(sign.program);
    if (sign.atMs !== undefined && sign.atMs > Date.UTC(unknownYear + 1, 0)) {
      this.newestMs = Math.max(sign.atMs, this.newestMs ?? 0);
    }
  }

  noteLog(program: string | undefined): void {
    if (this.programs.size < programsMax) this.programs.add(program ?? "");
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

function countUp(map: Map<string, number>, key: string, times: number): void {
  const before = map.get(key);
  if (before === undefined && map.size >= subjectsMax) return;
  map.set(key, (before ?? 0) + times);
}
