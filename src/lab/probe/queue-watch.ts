// Looks at a work queue of a controller manager over time, as a monitoring system does, and keeps the
// points for charts: the depth of the queue and the rate of requests. Bounded by the time of one play.
import type { LabelFilter } from "../../doctor/evidence/metrics-window.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Series } from "../incidents/incident.ts";
import { httpMetrics } from "./metrics-source.ts";
import { type QueueLook, QueueProbe } from "./queue-probe.ts";

export interface QueueWatchOptions extends Pick<Environment, "timers" | "network"> {
  /** Undefined while the process starts. */
  readonly metricsUrl: () => string | undefined;
  /** The time that points are on. */
  readonly now: () => number;
  /** `endpoint`. */
  readonly queue: string;
  /** The requests that the rate counts: `{ method: "PUT" }`; all unless given. */
  readonly requests?: LabelFilter;
}

export interface TimedLook extends QueueLook {
  readonly atMs: number;
}

export type Point = readonly [atMs: number, value: number];

/** Between two tries while the process starts; far less than anything measured. */
const startingMs = 100;

export class QueueWatch {
  readonly #options: QueueWatchOptions;
  readonly #probe: QueueProbe;
  readonly #stopping = new AbortController();
  readonly #depths: Point[] = [];
  readonly #rates: Point[] = [];
  #isRecording = false;
  #first: TimedLook | undefined;
  #last: TimedLook | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: QueueWatchOptions) {
    this.#options = options;
    const { network, metricsUrl, queue, requests } = options;
    const { signal } = this.#stopping;
    this.#probe = new QueueProbe({
      metrics: httpMetrics({ network, url: metricsUrl, signal }),
      queues: [queue],
      ...(requests && { requests }),
    });
  }

  /** Records, and looks by itself until `stop`. */
  start(everyMs: number): void {
    this.record();
    this.#watching = this.#watch(everyMs);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the play is over"));
    await this.#watching;
  }

  /** Looks are kept for the charts from now on. */
  record(): void {
    this.#isRecording = true;
    this.#last = undefined;
  }

  /** Keys that waited, at every recorded look. */
  get depths(): readonly Point[] {
    return this.#depths;
  }

  /** Requests a second between two recorded looks. */
  get rates(): readonly Point[] {
    return this.#rates;
  }

  /** Mean time of a key in the queue and in work, between the first look and the last. */
  get meanTurnMs(): number | undefined {
    if (this.#first === undefined || this.#last === undefined) return undefined;
    const { keys, workMs, taken, waitMs } = workBetween(this.#first, this.#last);
    if (keys === 0) return undefined;
    return workMs / keys + (taken === 0 ? 0 : waitMs / taken);
  }

  series(): readonly Series[] {
    const { queue, requests } = this.#options;
    const kind = requests?.["method"] === undefined ? "requests" : `${requests["method"]}s`;
    return [
      {
        id: `${queue}-queue-depth`,
        text: `keys in the ${queue} queue`,
        unit: "count",
        points: this.#depths,
      },
      {
        id: "controller-requests",
        text: `${kind} of the controller manager a second`,
        unit: "per second",
        points: this.#rates,
      },
    ];
  }

  /** Waits while the process does not listen. */
  async look(): Promise<TimedLook> {
    for (;;) {
      const look = await this.#tryLook();
      if (look !== undefined) return look;
      await this.#options.timers.sleep(startingMs);
    }
  }

  /**
   * Looks until so many keys were added between two looks, as a resync adds every service, and returns
   * the last look before that.
   */
  async untilAdded(since: TimedLook, keys: number, everyMs: number): Promise<TimedLook> {
    let last = since;
    for (;;) {
      const look = await this.look();
      if (look.adds - last.adds >= keys) return last;
      last = look;
      await this.#options.timers.sleep(everyMs);
    }
  }

  async untilEmpty(everyMs: number): Promise<TimedLook> {
    for (;;) {
      const look = await this.look();
      if (look.depth === 0) return look;
      await this.#options.timers.sleep(everyMs);
    }
  }

  async #watch(everyMs: number): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#tryLook();
      try {
        await this.#options.timers.sleep(everyMs, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  /** Undefined while the process does not listen. */
  async #tryLook(): Promise<TimedLook | undefined> {
    const found = await this.#probe.look();
    if (found === undefined) return undefined;
    const look = { ...found, atMs: this.#options.now() };
    const before = this.#last;
    this.#last = look;
    if (!this.#isRecording) return look;
    this.#first ??= look;
    this.#depths.push([look.atMs, look.depth]);
    if (before !== undefined && look.atMs > before.atMs) {
      const sent = increase(before.requests, look.requests);
      this.#rates.push([look.atMs, (sent * 1_000) / (look.atMs - before.atMs)]);
    }
    return look;
  }
}

export type WorkBetween = Pick<QueueLook, "keys" | "workMs" | "taken" | "waitMs">;

/** The work of the workers between two looks. */
export function workBetween(from: QueueLook, to: QueueLook): WorkBetween {
  return {
    keys: increase(from.keys, to.keys),
    workMs: increase(from.workMs, to.workMs),
    taken: increase(from.taken, to.taken),
    waitMs: increase(from.waitMs, to.waitMs),
  };
}

/** A counter that went down was restarted and counts from zero. */
function increase(from: number, to: number): number {
  return to < from ? to : to - from;
}
