// Counters of workers and clients in an interval of a run: the difference of two readings. The load
// and the bottleneck of a prediction come from these counters.
import type { QueueLook, QueueProbe } from "./queue-probe.ts";
import {
  type ByVerb,
  noRequests,
  type RequestCounters,
  type RequestReading,
} from "./request-counters.ts";

export interface IntervalCounters {
  readonly durationMs: number;
  /** Of the workers that publish endpoints: keys finished, and the time spent on them. */
  readonly keys: number;
  readonly workMs: number;
  /** Requests of these workers, and the time until their answers. */
  readonly requests: number;
  readonly serverMs: number;
  /** Requests of all clients, without the changes that are timed. */
  readonly load: ByVerb;
}

export const emptyInterval: IntervalCounters = {
  durationMs: 0,
  keys: 0,
  workMs: 0,
  requests: 0,
  serverMs: 0,
  load: noRequests,
};

export interface Instruments {
  readonly now: () => number;
  readonly queue: QueueProbe;
  /** The clients of the controllers that publish endpoints. */
  readonly publishing: RequestCounters;
  /** All clients but the one that posts timed changes. */
  readonly allClients: RequestCounters;
}

interface Reading {
  readonly atMs: number;
  readonly work: Pick<QueueLook, "keys" | "workMs">;
  readonly publishing: RequestReading;
  readonly allClients: RequestReading;
}

export class IntervalReader {
  readonly #instruments: Instruments;
  #from: Reading | undefined;

  constructor(instruments: Instruments) {
    this.#instruments = instruments;
  }

  /** Since the last call; empty at the first. */
  async next(): Promise<IntervalCounters> {
    const to = await read(this.#instruments);
    const from = this.#from ?? to;
    this.#from = to;
    return {
      durationMs: to.atMs - from.atMs,
      keys: to.work.keys - from.work.keys,
      workMs: to.work.workMs - from.work.workMs,
      requests: to.publishing.requests - from.publishing.requests,
      serverMs: to.publishing.serverMs - from.publishing.serverMs,
      load: combined(to.allClients.byVerb, from.allClients.byVerb, (one, other) => one - other),
    };
  }
}

export function added(one: IntervalCounters, other: IntervalCounters): IntervalCounters {
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

async function read({ now, queue, publishing, allClients }: Instruments): Promise<Reading> {
  return {
    atMs: now(),
    work: (await queue.look()) ?? { keys: 0, workMs: 0 },
    publishing: publishing.read(),
    allClients: allClients.read(),
  };
}
