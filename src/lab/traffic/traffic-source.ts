// Gentle traffic through one or more entries: at a fixed rate, whatever becomes of the requests, and
// the same requests at the same moments through each entry, so that their results have one
// denominator. Each request has a deadline, so rate times deadline bounds what is under way.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import { readAnswer, type TrafficOutcome, type TrafficResult } from "./traffic-result.ts";

export interface TrafficEntry {
  readonly name: string;
  /** `http://host:port`. */
  readonly url: string;
}

export interface TrafficSourceOptions extends Pick<Environment, "clock" | "timers" | "network"> {
  readonly entries: readonly TrafficEntry[];
  /** Through each entry; at most `maxRequestsPerSecond`. */
  readonly requestsPerSecond: number;
  /** Taken in turn; at least one. */
  readonly hosts: readonly string[];
  /** Taken in turn, after every host has had the one before; `/` unless given. */
  readonly paths?: readonly string[];
  /** `GET` unless given; nothing on the way may repeat a `POST` that was sent. */
  readonly method?: "GET" | "POST";
  /** From sending to the last byte; `defaultDeadlineMs` unless given. */
  readonly deadlineMs?: number;
  readonly onResult: (result: TrafficResult) => void;
}

/** Few: two cores also run the clusters, the proxies and the observers. */
export const maxRequestsPerSecond = 500;

/** The time that an impatient client waits for a page. */
const defaultDeadlineMs = 10_000;

/** With the rate it bounds the requests under way. */
const maxDeadlineMs = 60_000;

/** A pod's answer is some hundred bytes; more is read past and not kept. */
const maxBodyBytes = 65_536;

export class TrafficSource {
  readonly #options: TrafficSourceOptions;
  readonly #deadlineMs: number;
  readonly #stopped = new AbortController();
  readonly #open = new Set<Promise<void>>();
  #number = 0;
  #cancelNext: CancelTimer | undefined;

  constructor(options: TrafficSourceOptions) {
    const { requestsPerSecond, hosts, deadlineMs = defaultDeadlineMs } = options;
    if (!(requestsPerSecond > 0 && requestsPerSecond <= maxRequestsPerSecond)) {
      throw new RangeError(`${requestsPerSecond} requests a second: 1 to ${maxRequestsPerSecond}`);
    }
    if (!(deadlineMs > 0 && deadlineMs <= maxDeadlineMs)) {
      throw new RangeError(`a deadline of ${deadlineMs} ms: at most ${maxDeadlineMs}`);
    }
    if (hosts.length === 0) throw new RangeError("traffic needs a host");
    this.#options = options;
    this.#deadlineMs = deadlineMs;
  }

  /** Requests sent so far through each entry. */
  get sent(): number {
    return this.#number;
  }

  /** The first request goes at once. */
  start(): void {
    if (this.#cancelNext !== undefined || this.#stopped.signal.aborted) return;
    this.#tick();
  }

  /** Sends no more and resolves when every request has its result, at the latest by its deadline. */
  async finish(): Promise<void> {
    this.#cancelNext?.();
    await Promise.all(this.#open);
  }

  /** Sends no more and gives up what is under way, without results. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the traffic source is stopping"));
    await this.finish();
  }

  #tick(): void {
    const { timers, requestsPerSecond, entries } = this.#options;
    this.#cancelNext = timers.after(1_000 / requestsPerSecond, () => this.#tick());
    this.#number += 1;
    const number = this.#number;
    for (const entry of entries) {
      const request = this.#send(entry, number).finally(() => this.#open.delete(request));
      this.#open.add(request);
    }
  }

  async #send(entry: TrafficEntry, number: number): Promise<void> {
    const { clock, onResult } = this.#options;
    const { host, target } = this.#request(number);
    const sentAt = clock.monotonicMs();
    const answer = await this.#exchange(`${entry.url}${target}`, host);
    if (this.#stopped.signal.aborted) return;
    const doneAt: MonotonicMs = clock.monotonicMs();
    onResult({ number, entry: entry.name, host, target, sentAt, doneAt, ...answer });
  }

  async #exchange(url: string, host: string): Promise<Answer> {
    const { network, timers, method = "GET" } = this.#options;
    const deadline = new AbortController();
    const cancel = timers.after(this.#deadlineMs, () => deadline.abort(new Error("too late")));
    try {
      const signal = AbortSignal.any([deadline.signal, this.#stopped.signal]);
      const headers = { host, "user-agent": "lockstep-traffic" };
      const response = await network.request({ method, url, headers, signal });
      const body = await readText(response.body);
      const outcome = { kind: "answered", status: response.status } as const;
      return { outcome, ...readAnswer(response.headers, body) };
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      const code = deadline.signal.aborted ? "DEADLINE" : error.code;
      const outcome: TrafficOutcome = { kind: "failed", code };
      return { outcome, pod: undefined, replica: undefined, upstreams: [] };
    } finally {
      cancel();
    }
  }

  /** The number is in the query, so that the request can be found in an access log. */
  #request(number: number): { readonly host: string; readonly target: string } {
    const { hosts, paths = ["/"] } = this.#options;
    const index = number - 1;
    const host = hosts[index % hosts.length] ?? "";
    const path = paths[Math.floor(index / hosts.length) % paths.length] ?? "/";
    return { host, target: `${path}${path.includes("?") ? "&" : "?"}request=${number}` };
  }
}

type Answer = Pick<TrafficResult, "outcome" | "pod" | "replica" | "upstreams">;

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes <= maxBodyBytes) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
