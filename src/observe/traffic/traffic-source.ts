// Reads one access log as it grows, for the witness at `traffic`. A log that ends or breaks off is said
// to, and harms nothing else.

import { accessLogEntries } from "../../access-log/access-log-entries.ts";
import type { AccessLogEntry } from "../../access-log/access-log-entry.ts";
import type { AccessLogParser, AccessLogReport } from "../../access-log/access-log-parser.ts";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { JourneyEvent } from "../../timeline/journey-event.ts";
import { LogClock } from "./log-clock.ts";
import { requestTries } from "./request-tries.ts";
import { type TrafficInput, type TrafficTarget, TrafficWitness } from "./traffic-witness.ts";

export interface TrafficSourceOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  /** The log's, as people know it. */
  readonly name: string;
  /** The log's bytes, until the signal aborts or there are no more. */
  readonly chunks: (stream: LogStream) => AsyncIterable<Uint8Array>;
  readonly parser: AccessLogParser;
  readonly target: TrafficTarget;
  /** Called with each input of the witness before it is taken in. */
  readonly onInput?: (input: TrafficInput) => void;
}

export interface LogStream {
  readonly signal: AbortSignal;
  /** Called when the log cannot be read for now, and when it can be again. */
  readonly onConnected: (isConnected: boolean) => void;
}

export interface TrafficStatus {
  readonly name: string;
  readonly state: "reading" | "ended" | "failed";
  readonly problem: string | undefined;
  readonly report: AccessLogReport;
}

/** More than a wrong time zone makes: a line from beyond it is rubbish, and moves no other. */
const aheadMostMs = 24 * 3_600_000;

/** Entries after which others get a turn: a file can be read faster than anything else runs. */
const entriesAtOnce = 500;

export class TrafficSource {
  readonly #options: TrafficSourceOptions;
  readonly #witness: TrafficWitness;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  readonly #proxyClock: LogClock;
  #state: TrafficStatus["state"] = "reading";
  #problem: string | undefined;

  constructor(options: TrafficSourceOptions) {
    this.#options = options;
    this.#proxyClock = new LogClock(options.clock);
    this.#witness = new TrafficWitness(options);
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

  /** Must receive every step of every change before other listeners do. */
  onEvent(event: JourneyEvent): void {
    this.#witness.onEvent(event);
  }

  /** As `onEvent` of a change of the service. */
  expect(service: string): void {
    this.#witness.expect(service);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { chunks, parser, timers, name, log } = this.#options;
    const onConnected = (isHeard: boolean): void => this.#input({ type: "heard", isHeard });
    onConnected(true);
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
        log.warn("cannot read an access log any more", { accessLog: name, error });
      }
    } finally {
      onConnected(false);
    }
  }

  #input(input: TrafficInput): void {
    this.#options.onInput?.(input);
    this.#witness.take(input);
  }

  #take(entry: AccessLogEntry): void {
    const { clock } = this.#options;
    const aheadMs = entry.endedMs - clock.wallMs();
    if (aheadMs > aheadMostMs) return;
    this.#proxyClock.see(aheadMs);
    const { service } = entry;
    if (service !== undefined && entry.tries.length > 0 && this.#witness.isNew(service)) {
      this.#input({ type: "named", service });
    }
    for (const { sentMs, ...request } of requestTries(entry)) {
      this.#input({ type: "request", request: { ...request, at: this.#instantOf(sentMs) } });
    }
  }

  /** By the two clocks as they stand now: the wall clock may have been set since the start. */
  #instantOf(sentMs: number): MonotonicMs {
    const { clock } = this.#options;
    const agoMs = clock.wallMs() - (sentMs - this.#proxyClock.aheadMs);
    return (clock.monotonicMs() - agoMs) as MonotonicMs;
  }
}
