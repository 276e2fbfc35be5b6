// One access log as a witness at `traffic`. It speaks for the services that it has been seen to name,
// for as long as it is read, and may yet name one of which an endpoint changed a moment ago: where no
// log speaks, the hop is unknown. A log that ends or breaks off is said to, and harms nothing else.

import { accessLogEntries } from "../../access-log/access-log-entries.ts";
import type { AccessLogEntry } from "../../access-log/access-log-entry.ts";
import type { AccessLogParser, AccessLogReport } from "../../access-log/access-log-parser.ts";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import { trafficQuietMs } from "../../timeline/journey-limits.ts";
import type { ObservationSink } from "../../timeline/observation.ts";
import type { TrafficReport, Witness } from "../../timeline/witness.ts";
import { LogClock } from "./log-clock.ts";
import { requestTries } from "./request-tries.ts";

/** Where requests and services are told: the observer. */
export interface TrafficTarget {
  readonly sink: Pick<ObservationSink, "follow" | "unfollow">;
  traffic(report: TrafficReport): void;
}

export interface TrafficSourceOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  /** The log's, as people know it. */
  readonly name: string;
  /** The log's bytes, until the signal aborts or there are no more. */
  readonly chunks: (stream: LogStream) => AsyncIterable<Uint8Array>;
  readonly parser: AccessLogParser;
  readonly target: TrafficTarget;
}

export interface LogStream {
  readonly signal: AbortSignal;
  /** To be told when nothing is heard of the log for now, and when it is again. */
  readonly onConnected: (isConnected: boolean) => void;
}

export interface TrafficStatus {
  readonly name: string;
  readonly state: "reading" | "ended" | "failed";
  readonly problem: string | undefined;
  readonly report: AccessLogReport;
}

/** Services a log may make us follow: more than any proxy has, less than rubbish could name. */
const servicesMax = 50_000;

/**
 * How long a log may take to name a service after a change there. Less than requests are waited for:
 * of a service that it never names, nobody must say that no request came.
 */
const expectedForMs = trafficQuietMs - 5_000;

/** More than a wrong time zone makes: a line from beyond it is rubbish, and moves no other. */
const aheadMostMs = 24 * 3_600_000;

/** Entries after which others get a turn: a file can be read faster than anything else runs. */
const entriesAtOnce = 500;

export class TrafficSource {
  readonly #options: TrafficSourceOptions;
  readonly #witness: Witness;
  /** Services that the log has named. */
  readonly #followed = new Set<string>();
  /** Services that it may name yet, none of which it has; and how to end the wait. */
  readonly #expected = new Map<string, CancelTimer>();
  #isHeard = false;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  readonly #proxyClock: LogClock;
  #state: TrafficStatus["state"] = "reading";
  #problem: string | undefined;

  constructor(options: TrafficSourceOptions) {
    this.#options = options;
    this.#proxyClock = new LogClock(options.clock);
    this.#witness = { hop: "traffic", name: options.name };
  }

  get status(): TrafficStatus {
    const { name, parser } = this.#options;
    return { name, state: this.#state, problem: this.#problem, report: parser.report };
  }

  /** Resolves when the log has no more, could not be read, or was stopped. Never rejects. */
  start(): Promise<void> {
    this.#running ??= this.#run(this.#stopping.signal);
    return this.#running;
  }

  /** Idempotent; from then on its hop is unknown. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the access log is no longer read"));
    await this.#running;
  }

  /**
   * An endpoint of the service has changed. A log that was quiet until then names the service only
   * with the first request afterwards, and the change must not be over by then.
   */
  expect(service: string): void {
    if (!this.#isHeard || !this.#isNew(service) || this.#expected.has(service)) return;
    const { timers, target } = this.#options;
    const unnamed = { cluster: undefined, service };
    const giveUp = (): void => {
      this.#expected.delete(service);
      target.sink.unfollow(this.#witness, unnamed);
    };
    this.#expected.set(service, timers.after(expectedForMs, giveUp));
    target.sink.follow(this.#witness, unnamed);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { chunks, parser, timers, name, log } = this.#options;
    const onConnected = (isConnected: boolean): void => {
      this.#isHeard = isConnected;
      if (!isConnected) this.#silent();
    };
    this.#isHeard = true;
    try {
      let entries = 0;
      for await (const entry of accessLogEntries(chunks({ signal, onConnected }), parser)) {
        if (signal.aborted) break;
        this.#take(entry);
        entries += 1;
        if (entries % entriesAtOnce === 0) await timers.breathe();
      }
      this.#state = "ended";
    } catch (error) {
      this.#state = signal.aborted ? "ended" : "failed";
      if (!signal.aborted) {
        this.#problem = error instanceof Error ? error.message : String(error);
        log.warn("an access log cannot be read any more", { accessLog: name, error });
      }
    } finally {
      this.#isHeard = false;
      this.#silent();
    }
  }

  /** Nothing is heard of the log at present; its next entries make it speak again. */
  #silent(): void {
    const { sink } = this.#options.target;
    const services = [...this.#followed, ...this.#expected.keys()];
    for (const cancel of this.#expected.values()) cancel();
    this.#followed.clear();
    this.#expected.clear();
    for (const service of services) {
      sink.unfollow(this.#witness, { cluster: undefined, service });
    }
  }

  #take(entry: AccessLogEntry): void {
    const { target, clock } = this.#options;
    const aheadMs = entry.endedMs - clock.wallMs();
    if (aheadMs > aheadMostMs) return;
    this.#proxyClock.see(aheadMs);
    if (entry.service !== undefined && entry.tries.length > 0) this.#follow(entry.service);
    for (const { sentMs, ...request } of requestTries(entry)) {
      target.traffic({ witness: this.#witness, ...request, at: this.#instantOf(sentMs) });
    }
  }

  #follow(service: string): void {
    if (!this.#isNew(service)) return;
    this.#expected.get(service)?.();
    this.#expected.delete(service);
    this.#followed.add(service);
    this.#options.target.sink.follow(this.#witness, { cluster: undefined, service });
  }

  /** It is not followed for good yet, and there is room for it. */
  #isNew(service: string): boolean {
    if (this.#followed.has(service)) return false;
    return this.#expected.has(service) || this.#followed.size + this.#expected.size < servicesMax;
  }

  /** By the two clocks as they stand now: the wall clock may have been set since the start. */
  #instantOf(sentMs: number): MonotonicMs {
    const { clock } = this.#options;
    const agoMs = clock.wallMs() - (sentMs - this.#proxyClock.aheadMs);
    return (clock.monotonicMs() - agoMs) as MonotonicMs;
  }
}
