// The proxy's counters for each endpoint: requests, failures, last use. Read at a low rate, and
// only for endpoints used since the last read; kept as long as the proxy has the endpoint.
import { Counter, type Registry } from "prom-client";
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Timers } from "../environment/timers.ts";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";

export interface EndpointUse {
  /** Since the proxy has it. */
  readonly requests: number;
  /** Those of them that it did not answer. */
  readonly failures: number;
  readonly lastUsedMsAgo: number;
  /** Until its answers begin, on average; known of endpoints that are chosen by it. */
  readonly latencyMs?: number;
}

export interface CountedEndpoint extends EndpointUse {
  /** Its `endpointId`. */
  readonly key: string;
  readonly cluster: string;
}

export interface CounterReading {
  /** Where the next reading begins. */
  readonly revision: number;
  readonly counted: readonly CountedEndpoint[];
}

export interface CounterReporter {
  /**
   * Endpoints that were used since that revision; all that ever were unless it is given. Undefined
   * when there is no proxy that can be asked.
   */
  counters(since: number | undefined, signal: AbortSignal): Promise<CounterReading | undefined>;
  /** Whether the proxy still has the endpoint, by its `endpointId`. */
  hasEndpoint(key: string): boolean;
}

export interface EndpointCountersOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly reporter: CounterReporter;
  readonly metrics?: Registry;
}

/** Nothing is decided by it, and a reading of 100,000 endpoints takes a worker some milliseconds. */
export const readEveryMs = 10_000;

interface Known {
  readonly counted: CountedEndpoint;
  readonly readAt: MonotonicMs;
}

export class EndpointCounters {
  readonly #options: EndpointCountersOptions;
  readonly #stopping = new AbortController();
  /** By `endpointId`; never more than the proxy has endpoints. */
  readonly #known = new Map<string, Known>();
  #revision: number | undefined;
  #running: Promise<void> | undefined;

  constructor(options: EndpointCountersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the proxy's counters are read no more"));
    await this.#running;
  }

  /** By `endpointId`; undefined when it was never used, as far as is known. */
  of(key: string): EndpointUse | undefined {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    const { requests, failures, lastUsedMsAgo, latencyMs } = known.counted;
    const agoMs = lastUsedMsAgo + elapsedMs(known.readAt, this.#options.clock.monotonicMs());
    return {
      requests,
      failures,
      lastUsedMsAgo: Math.round(agoMs),
      ...(latencyMs === undefined ? {} : { latencyMs }),
    };
  }

  /** Of every endpoint that was ever used, by `endpointId`. */
  all(): ReadonlyMap<string, EndpointUse> {
    const uses = [...this.#known.keys()].flatMap((key): [string, EndpointUse][] => {
      const use = this.of(key);
      return use === undefined ? [] : [[key, use]];
    });
    return new Map(uses);
  }

  /** Reads now; says whether there was a proxy to ask. */
  async refresh(): Promise<boolean> {
    const { signal } = this.#stopping;
    try {
      return this.#take(await this.#options.reporter.counters(this.#revision, signal));
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { timers } = this.#options;
    while (!signal.aborted) {
      // Aborted only by the stop.
      await timers.sleep(readEveryMs, signal).catch(() => undefined);
      if (!signal.aborted) await this.refresh();
    }
  }

  #take(reading: CounterReading | undefined): boolean {
    const { clock, reporter } = this.#options;
    // A clock that went back would hide what is used from now on.
    const isBefore = (reading?.revision ?? 0) < (this.#revision ?? 0);
    this.#revision = isBefore ? undefined : reading?.revision;
    const readAt = clock.monotonicMs();
    for (const counted of reading?.counted ?? []) {
      this.#count(counted);
      this.#known.set(counted.key, { counted, readAt });
    }
    for (const key of this.#known.keys()) if (!reporter.hasEndpoint(key)) this.#known.delete(key);
    return reading !== undefined;
  }

  #count({ key, cluster, requests, failures }: CountedEndpoint): void {
    const { metrics } = this.#options;
    if (metrics === undefined) return;
    const before = this.#known.get(key)?.counted;
    const { requestsTotal, failuresTotal } = useMetrics(metrics);
    requestsTotal.inc({ cluster }, growth(before?.requests, requests));
    failuresTotal.inc({ cluster }, growth(before?.failures, failures));
  }
}

/** A restarted proxy counts from zero. */
function growth(before: number | undefined, now: number): number {
  return before === undefined || now < before ? now : now - before;
}

/** By cluster: addresses would make a new series for every pod that ever was. */
const useMetrics = oncePerRegistry((registry) => {
  const registers = [registry];
  const labelNames = ["cluster"] as const;
  return {
    requestsTotal: new Counter({
      name: "lockstep_proxy_endpoint_requests_total",
      help: "Requests that the proxy sent to endpoints, including retries, by cluster.",
      labelNames,
      registers,
    }),
    failuresTotal: new Counter({
      name: "lockstep_proxy_endpoint_failures_total",
      help: "Requests that an endpoint did not answer, including retries, by cluster.",
      labelNames,
      registers,
    }),
  };
});
