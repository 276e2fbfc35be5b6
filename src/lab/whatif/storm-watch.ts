// Watches the queues and finds storms: a storm starts when nearly every service is enqueued at once, by a
// start or a resync, and ends when its last key is finished. Counters are kept apart for storms and for
// the quiet times between them. Also decides from the backlog whether a queue keeps up.
import {
  added,
  combined,
  emptyInterval,
  type Instruments,
  type IntervalCounters,
  IntervalReader,
} from "../probe/interval-counters.ts";
import { type ByVerb, noRequests } from "../probe/request-counters.ts";
import type { Probe } from "./pod-changes.ts";

export interface Storm {
  readonly startMs: number;
  /** Undefined while it lasts. */
  endMs: number | undefined;
  /** The next one started before its end. */
  isOvertaken: boolean;
  /** Keys added and publishing requests sent until its end. */
  keys: number;
  requests: number;
}

/** Keys that wait or are in work, at one look. */
export interface Backlog {
  readonly atMs: number;
  readonly keys: number;
}

export type DepthPoint = readonly [atMs: number, keys: number];

export interface StormWatchOptions {
  readonly instruments: Instruments;
  readonly services: number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Between two looks: the precision of the start and the end of a storm. */
  readonly gapMs: number;
}

/** This share of all services at once is a storm and not churn. */
const stormShare = 0.9;

const peakWindowMs = 1_000;

/** Enough for a chart; a long run keeps fewer of its looks. */
const depthsMax = 2_000;

export class StormWatch {
  readonly storms: Storm[] = [];
  gapMs: number;
  readonly #options: StormWatchOptions;
  #adds = 0;
  #lookedMs = 0;
  #requests = 0;
  #peak: ByVerb = noRequests;
  #secondFromMs = 0;
  #secondFrom: ByVerb = noRequests;
  readonly #reader: IntervalReader;
  #stretches = { quiet: emptyInterval, storm: emptyInterval };
  #isExpecting = false;
  #wasEmpty = false;
  #depths: DepthPoint[] = [];
  /** Between two looks that are kept. */
  #depthGapMs = 0;

  constructor(options: StormWatchOptions) {
    this.#options = options;
    this.gapMs = options.gapMs;
    this.#reader = new IntervalReader(options.instruments);
  }

  /** The queue was empty at a look since the last `forget`. */
  get wasEmpty(): boolean {
    return this.#wasEmpty;
  }

  /** Keys that waited, at looks spread over the whole run. */
  get depths(): readonly DepthPoint[] {
    return this.#depths;
  }

  /** The backlog at each look of this time. */
  async backlogs(withinMs: number): Promise<readonly Backlog[]> {
    const { now, queue } = this.#options.instruments;
    const endMs = now() + withinMs;
    const found: Backlog[] = [];
    while (now() < endMs) {
      await this.until(() => false, Math.min(this.gapMs, endMs - now()));
      const { adds } = (await queue.depth()) ?? { adds: 0 };
      found.push({ atMs: now(), keys: adds - ((await queue.look())?.keys ?? 0) });
    }
    return found;
  }

  /** A storm is going on. */
  get isStorm(): boolean {
    const latest = this.storms.at(-1);
    return latest !== undefined && latest.endMs === undefined;
  }

  /** Requests in the busiest second so far, of each verb. */
  get peak(): ByVerb {
    return this.#peak;
  }

  /** Starts all counters again. */
  async forget(): Promise<void> {
    await this.#reader.next();
    this.#stretches = { quiet: emptyInterval, storm: emptyInterval };
    this.#peak = noRequests;
    this.#wasEmpty = false;
  }

  /** A storm is due: everything from now until it is seen counts as part of it. */
  async expectStorm(): Promise<void> {
    await this.#lap("quiet");
    this.#isExpecting = true;
  }

  /** The counters so far, including the current interval. */
  async stretches(): Promise<Readonly<Record<"quiet" | "storm", IntervalCounters>>> {
    await this.#lap(this.isStorm ? "storm" : "quiet");
    return { ...this.#stretches };
  }

  /** Looks until the condition holds; false when the time came first. */
  async until(isDone: () => boolean, withinMs: number): Promise<boolean> {
    const { instruments, sleep } = this.#options;
    const endMs = instruments.now() + withinMs;
    while (!isDone()) {
      if (instruments.now() >= endMs) return false;
      await sleep(Math.min(this.gapMs, endMs - instruments.now()));
      await this.#look();
    }
    return true;
  }

  async #look(): Promise<void> {
    const { instruments, services } = this.#options;
    const nowMs = instruments.now();
    const { depth, adds } = (await instruments.queue.depth()) ?? { depth: 0, adds: 0 };
    const { requests } = instruments.publishing.read();
    if (depth === 0) this.#wasEmpty = true;
    this.#keepDepth(nowMs, depth);
    const wasStorm = this.isStorm;
    if (adds - this.#adds >= services * stormShare) {
      const current = this.storms.at(-1);
      if (current !== undefined) current.isOvertaken = wasStorm;
      // It started between the two looks.
      const startMs = (this.#lookedMs + nowMs) / 2;
      this.storms.push({ startMs, endMs: undefined, isOvertaken: false, keys: 0, requests: 0 });
    }
    const latest = this.storms.at(-1);
    const isOpen = latest !== undefined && latest.endMs === undefined;
    if (isOpen) {
      latest.keys += adds - this.#adds;
      latest.requests += requests - this.#requests;
    }
    // Keys in work are in no queue. They are read only where it matters, because that is slow.
    if (isOpen && depth === 0 && ((await instruments.queue.look())?.keys ?? 0) >= adds) {
      latest.endMs = nowMs;
    }
    if (this.isStorm !== wasStorm) {
      await this.#lap(wasStorm || this.#isExpecting ? "storm" : "quiet");
      this.#isExpecting = false;
    }
    this.#adds = adds;
    this.#lookedMs = nowMs;
    this.#requests = requests;
    this.#countSecond(nowMs);
  }

  #keepDepth(nowMs: number, depth: number): void {
    const [lastMs = Number.NEGATIVE_INFINITY] = this.#depths.at(-1) ?? [];
    if (nowMs - lastMs < this.#depthGapMs) return;
    this.#depths.push([nowMs, depth]);
    if (this.#depths.length <= depthsMax) return;
    this.#depths = this.#depths.filter((_, index) => index % 2 === 0);
    this.#depthGapMs = (2 * nowMs) / depthsMax;
  }

  async #lap(kind: "quiet" | "storm"): Promise<void> {
    const stretch = added(this.#stretches[kind], await this.#reader.next());
    this.#stretches = { ...this.#stretches, [kind]: stretch };
  }

  #countSecond(nowMs: number): void {
    const seconds = (nowMs - this.#secondFromMs) / peakWindowMs;
    if (seconds < 1) return;
    const { byVerb } = this.#options.instruments.allClients.read();
    const rate = combined(byVerb, this.#secondFrom, (to, from) => (to - from) / seconds);
    this.#peak = combined(this.#peak, rate, Math.max);
    this.#secondFromMs = nowMs;
    this.#secondFrom = byVerb;
  }
}

export type Filling =
  /** It was empty again and again. */
  | { readonly is: "empty" }
  /** Never empty and no longer growing: every key is in it at most once. */
  | { readonly is: "level" }
  | { readonly is: "growing"; readonly sinceMs: number };

/** Of a straight line the last quarter is 1.4 times as high as the one before; of a level one, 1. */
const growingFrom = 1.15;

export function fillingOf(looks: readonly Backlog[]): Filling {
  const half = looks.length >> 1;
  const quarter = looks.length >> 2;
  if (half === 0 || looks.slice(half).some(({ keys }) => keys === 0)) return { is: "empty" };
  const before = meanKeys(looks.slice(half, half + quarter));
  const last = meanKeys(looks.slice(half + quarter));
  if (last < before * growingFrom) return { is: "level" };
  const empty = looks.findLast(({ keys }) => keys === 0);
  return { is: "growing", sinceMs: empty?.atMs ?? 0 };
}

/** The slope of the wait over the time of the change, by least squares. */
export function waitGrowth(probes: readonly Probe[]): number {
  const timed = probes.flatMap(({ atMs, waitMs }) =>
    waitMs === undefined ? [] : { atMs, waitMs },
  );
  const atMean = mean(timed.map(({ atMs }) => atMs));
  const waitMean = mean(timed.map(({ waitMs }) => waitMs));
  let together = 0;
  let spread = 0;
  for (const { atMs, waitMs } of timed) {
    together += (atMs - atMean) * (waitMs - waitMean);
    spread += (atMs - atMean) ** 2;
  }
  return spread === 0 ? 0 : Math.max(0, together / spread);
}

function meanKeys(looks: readonly Backlog[]): number {
  return mean(looks.map(({ keys }) => keys));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
