// A stretch of a run and what was measured over it, from one reading to another. Everything that is
// said of a prediction's load and of what held it up comes from such stretches.
import type { QueueReader, WorkReading } from "./queue-probe.ts";
import {
  type ByVerb,
  noRequests,
  type SentReading,
  type SentRequests,
} from "./request-counters.ts";

export interface Stretch {
  readonly durationMs: number;
  /** Of the workers that publish endpoints. */
  readonly keys: number;
  readonly workMs: number;
  /** What those workers sent, and how long the server took over it. */
  readonly requests: number;
  readonly serverMs: number;
  /** Of everybody, timed changes left out. */
  readonly load: ByVerb;
}

export const noStretch: Stretch = {
  durationMs: 0,
  keys: 0,
  workMs: 0,
  requests: 0,
  serverMs: 0,
  load: noRequests,
};

export interface Instruments {
  readonly now: () => number;
  readonly queue: QueueReader;
  /** The clients of the controllers that publish endpoints. */
  readonly publishing: SentRequests;
  /** Every client but the one that posts timed changes. */
  readonly everybody: SentRequests;
}

interface Reading {
  readonly atMs: number;
  readonly work: WorkReading;
  readonly publishing: SentReading;
  readonly everybody: SentReading;
}

export class StretchMeter {
  readonly #instruments: Instruments;
  #from: Reading | undefined;

  constructor(instruments: Instruments) {
    this.#instruments = instruments;
  }

  /** What happened since the last lap, nothing at the first; the next lap begins here. */
  async lap(): Promise<Stretch> {
    const to = await read(this.#instruments);
    const from = this.#from ?? to;
    this.#from = to;
    return {
      durationMs: to.atMs - from.atMs,
      keys: to.work.keys - from.work.keys,
      workMs: to.work.workMs - from.work.workMs,
      requests: to.publishing.requests - from.publishing.requests,
      serverMs: to.publishing.serverMs - from.publishing.serverMs,
      load: combined(to.everybody.byVerb, from.everybody.byVerb, (one, other) => one - other),
    };
  }
}

export function together(one: Stretch, other: Stretch): Stretch {
  return {
    durationMs: one.durationMs + other.durationMs,
    keys: one.keys + other.keys,
    workMs: one.workMs + other.workMs,
    requests: one.requests + other.requests,
    serverMs: one.serverMs + other.serverMs,
    load: combined(one.load, other.load, (first, second) => first + second),
  };
}

export function combined(
  one: ByVerb,
  other: ByVerb,
  combine: (one: number, other: number) => number,
): ByVerb {
  return {
    GET: combine(one.GET, other.GET),
    LIST: combine(one.LIST, other.LIST),
    WATCH: combine(one.WATCH, other.WATCH),
    POST: combine(one.POST, other.POST),
    PUT: combine(one.PUT, other.PUT),
    PATCH: combine(one.PATCH, other.PATCH),
    DELETE: combine(one.DELETE, other.DELETE),
  };
}

async function read({ now, queue, publishing, everybody }: Instruments): Promise<Reading> {
  return {
    atMs: now(),
    work: await queue.work(),
    publishing: publishing.read(),
    everybody: everybody.read(),
  };
}
