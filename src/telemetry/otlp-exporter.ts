// Sends journeys to a trace store when they are over, and what is stuck as soon as it is. It never
// holds up the observer: spans wait in a bounded queue and leave it in batches, one at a time; what
// finds no room or is refused is counted. A receiver that is away is tried again for a while.
import type { Registry } from "prom-client";
import { elapsedMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import { Backoff } from "../kube/reflector/backoff.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import { journeyRecord, type ObserverRun, wallAt } from "../timeline/journey-record.ts";
import { journeySpans, stuckSpan } from "./journey-spans.ts";
import type { OtlpSpan } from "./otlp-json.ts";
import { otlpMetrics } from "./otlp-metrics.ts";
import { encodeSpans, type PostResult, postSpans, type QueuedSpan } from "./otlp-post.ts";
import type { OtlpTarget } from "./otlp-target.ts";

export interface OtlpExporterOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  readonly target: OtlpTarget;
  readonly run: ObserverRun;
  readonly metrics?: Registry;
}

export interface OtlpCounts {
  readonly sent: number;
  /** No room in the queue, the receiver away for too long, or still waiting when it was stopped. */
  readonly dropped: number;
  /** The receiver would not have them. */
  readonly rejected: number;
  readonly waiting: number;
}

/** Some 8 MB; a rollout of a thousand pods seen at five hops. */
const queueMax = 8_192;

/** Some 500 kB a request, below what receivers accept by default. */
const batchMax = 512;

/** A trace that shows up seconds after the fact is soon enough, and small requests are few. */
const batchDelayMs = 2_000;

/** After this long in vain a batch makes room for newer ones. */
const giveUpAfterMs = 300_000;

/** The time for the last batches of a command that was asked to end. */
const lastBatchesMs = 3_000;

export class OtlpExporter {
  readonly #options: OtlpExporterOptions;
  readonly #counts = { sent: 0, dropped: 0, rejected: 0 };
  /** Aborts when even the last batches have had their time. */
  readonly #abort = new AbortController();
  /** Oldest first. */
  #queue: QueuedSpan[] = [];
  /** Spans of the batch on its way. */
  #sending = 0;
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  /** Ends the present rest early. */
  #wakeUp: (() => void) | undefined;
  /** Whether the present rest is for a batch to fill, and not for the receiver to come back. */
  #isGathering = false;
  #isAway = false;

  constructor(options: OtlpExporterOptions) {
    this.#options = options;
    if (options.metrics !== undefined) otlpMetrics(options.metrics).add(this);
  }

  get counts(): OtlpCounts {
    return { ...this.#counts, waiting: this.#queue.length + this.#sending };
  }

  /** For `ObserverOptions.onEvent`. */
  readonly onEvent = (event: JourneyEvent): void => {
    if (event.type === "shown" || event.type === "found") return;
    const { run, clock } = this.#options;
    const nowMs = wallAt(clock.monotonicMs(), run);
    const record = journeyRecord(event.journey, run);
    if (event.type === "over") {
      this.#add(record.cluster, journeySpans(record, nowMs));
      return;
    }
    const { hop, witness } = event.hop;
    const stuck = record.hops.find((one) => one.hop === hop && one.witness === witness);
    if (stuck !== undefined) this.#add(record.cluster, [stuckSpan(record, stuck, nowMs)]);
  };

  /** Sends what waits, as far as that goes quickly. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    await this.#stopped;
  }

  async #stop(): Promise<void> {
    const { timers } = this.#options;
    const cancel = timers.after(lastBatchesMs, () => this.#abort.abort(new Error("out of time")));
    this.#wakeUp?.();
    await this.#running;
    cancel();
  }

  #add(cluster: string | null, spans: readonly OtlpSpan[]): void {
    if (this.#stopped !== undefined) {
      this.#drop(spans.length);
      return;
    }
    this.#queue.push(...spans.map((span) => ({ cluster, span })));
    const tooMany = this.#queue.length - queueMax;
    if (tooMany > 0) this.#drop(this.#queue.splice(0, tooMany).length);
    if (this.#isGathering && this.#queue.length >= batchMax) this.#wakeUp?.();
    this.#running ??= this.#sendWhileAny();
  }

  async #sendWhileAny(): Promise<void> {
    while (this.#queue.length > 0) {
      this.#isGathering = this.#queue.length < batchMax;
      if (this.#isGathering) await this.#rest(batchDelayMs);
      this.#isGathering = false;
      const batch = this.#queue.splice(0, batchMax);
      this.#sending = batch.length;
      await this.#send(batch);
      this.#sending = 0;
    }
    this.#running = undefined;
  }

  async #send(batch: readonly QueuedSpan[]): Promise<void> {
    const { clock, run } = this.#options;
    const encoded = encodeSpans(batch, run);
    const backoff = new Backoff(this.#options);
    const since = clock.monotonicMs();
    for (;;) {
      const result = await postSpans(this.#options, encoded, this.#abort.signal);
      this.#count(result, batch.length);
      if (result.type !== "later") return;
      if (this.#stopped !== undefined) {
        this.#drop(batch.length + this.#queue.splice(0).length);
        return;
      }
      if (elapsedMs(since, clock.monotonicMs()) >= giveUpAfterMs) {
        this.#drop(batch.length);
        return;
      }
      await this.#rest(Math.max(result.afterMs ?? 0, backoff.next()));
    }
  }

  #count(result: PostResult, spans: number): void {
    const { log, target } = this.#options;
    switch (result.type) {
      case "taken":
        if (this.#isAway) log.info("The trace receiver accepts traces again.", { url: target.url });
        this.#isAway = false;
        this.#counts.sent += spans - result.rejected;
        this.#counts.rejected += result.rejected;
        break;
      case "refused":
        this.#say("The trace receiver rejects the traces.", result.detail);
        this.#counts.rejected += spans;
        break;
      case "later":
        this.#say("The trace receiver does not accept traces; retrying.", result.detail);
        break;
    }
  }

  /** Once, until it takes something again. */
  #say(message: string, detail: string): void {
    const { log, target } = this.#options;
    if (!this.#isAway) log.warn(message, { url: target.url, detail });
    this.#isAway = true;
  }

  #drop(spans: number): void {
    this.#counts.dropped += spans;
  }

  /** Not at all once it is being stopped. */
  async #rest(ms: number): Promise<void> {
    if (this.#stopped !== undefined) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.timers.after(ms, resolve);
      this.#wakeUp = () => {
        cancel();
        resolve();
      };
    });
    this.#wakeUp = undefined;
  }
}
