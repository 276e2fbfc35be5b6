// One open watch: bytes from the server, events from the decoder, and an end. The server is asked
// to end it after some minutes. If it does not, a timer of our own ends it, if configured.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";
import { type KubeClient, StatusError } from "../client/client.ts";
import { isRecord } from "../kinds/fields.ts";
import { WatchDecoder, type WatchEvent } from "./watch-decoder.ts";

/** Headers of a watch come at once; a server that takes longer is not well. */
export const watchHeadersDeadlineMs = 30_000;
/** How much later than asked the server may end the watch before we do. */
export const overdueSlackMs = 15_000;

/** A watch that should begin with the whole collection stopped before it was complete. */
export class StalledListError extends Error {
  override readonly name = "StalledListError";
  readonly code = "STALLED_LIST";
}

export interface OpenWatchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly timers: Timers;
  /** With the query. */
  readonly path: string;
  /** When we end it ourselves; never when undefined. */
  readonly overdueMs: number | undefined;
  /** Ends the watch at any stage. */
  readonly signal: AbortSignal;
}

export class WatchStream {
  readonly openedAt: MonotonicMs;
  /** The address of the server. */
  readonly peer: string;
  readonly #clock: Clock;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #decoder = new WatchDecoder();
  readonly #abort: AbortController;
  readonly #cancelOverdue: CancelTimer | undefined;
  readonly #release: () => void;
  #isCut = false;

  /** Resolves when the server has accepted the watch. */
  static async open(options: OpenWatchOptions): Promise<WatchStream> {
    const abort = new AbortController();
    const onStop = (): void => abort.abort(options.signal.reason);
    if (options.signal.aborted) {
      onStop();
    }
    options.signal.addEventListener("abort", onStop);
    const release = (): void => options.signal.removeEventListener("abort", onStop);
    try {
      const response = await options.client.stream({
        verb: "watch",
        method: "GET",
        path: options.path,
        deadlineMs: watchHeadersDeadlineMs,
        signal: abort.signal,
      });
      return new WatchStream(options, response, abort, release);
    } catch (error) {
      release();
      throw error;
    }
  }

  private constructor(
    options: OpenWatchOptions,
    response: { readonly body: AsyncIterable<Uint8Array>; readonly peer: string },
    abort: AbortController,
    release: () => void,
  ) {
    this.#clock = options.clock;
    this.openedAt = options.clock.monotonicMs();
    this.peer = response.peer;
    this.#chunks = response.body[Symbol.asyncIterator]();
    this.#abort = abort;
    this.#release = release;
    const { overdueMs } = options;
    this.#cancelOverdue =
      overdueMs === undefined ? undefined : options.timers.after(overdueMs, () => this.cut());
  }

  get lastedMs(): number {
    return elapsedMs(this.openedAt, this.#clock.monotonicMs());
  }

  /** Whether we ended it ourselves: then the error of `read` is only a consequence. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Waits for the next bytes and returns how many; 0 when the server has closed the watch. */
  async read(): Promise<number> {
    for (;;) {
      const chunk = await this.#chunks.next();
      if (chunk.done === true) {
        return 0;
      }
      if (chunk.value.length > 0) {
        this.#decoder.push(chunk.value);
        return chunk.value.length;
      }
    }
  }

  /** The next event in what has been read. An ERROR event is thrown as the `StatusError` it means. */
  nextEvent(): WatchEvent | undefined {
    const event = this.#decoder.next();
    if (event !== undefined && event.type === "ERROR") {
      throw statusErrorOf(event.object);
    }
    return event;
  }

  /** Ends the watch from our side; a waiting `read` throws. */
  cut(): void {
    this.#isCut = true;
    this.#abort.abort(new Error("the watch was cut"));
  }

  /** Gives everything back. Idempotent. */
  async close(): Promise<void> {
    this.#cancelOverdue?.();
    this.#release();
    await this.#chunks.return?.();
  }
}

function statusErrorOf(object: unknown): StatusError {
  const status = isRecord(object) ? object : {};
  const details = isRecord(status["details"]) ? status["details"] : {};
  const retryAfterSeconds = details["retryAfterSeconds"];
  const causes = Array.isArray(details["causes"]) ? details["causes"] : [];
  return new StatusError({
    code: typeof status["code"] === "number" ? status["code"] : 500,
    reason: typeof status["reason"] === "string" ? status["reason"] : "",
    message:
      typeof status["message"] === "string" ? status["message"] : "the watch reported an error",
    retryAfterMs: typeof retryAfterSeconds === "number" ? retryAfterSeconds * 1000 : undefined,
    causes: causes.flatMap((cause: unknown) =>
      isRecord(cause) && typeof cause["reason"] === "string" ? [cause["reason"]] : [],
    ),
  });
}
