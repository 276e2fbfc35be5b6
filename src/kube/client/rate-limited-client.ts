// A client that takes a token for every request, as client-go does by default: for every verb,
// Events included, but not for opening a watch. The wait is part of the request's deadline. It
// reports the wait for the token; the time that the key waited in a queue before is not part of it.
import { Histogram, type Registry } from "prom-client";
import type { Clock } from "../../environment/clock.ts";
import { elapsedMs } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { IncomingResponse } from "../../environment/network.ts";
import { NetworkError } from "../../environment/network.ts";
import { oncePerRegistry } from "../metrics-of-registry.ts";
import {
  DeadlineExceededError,
  type KubeClient,
  type KubeRequest,
  type KubeResponse,
} from "./client.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** Shorter waits are not worth a line; client-go has the same threshold in every version. */
export const throttledReportMs = 50;

export interface ThrottledRequest {
  readonly waitedMs: number;
  readonly method: KubeRequest["method"];
  readonly url: string;
}

export interface RateLimitedClientOptions {
  readonly client: KubeClient;
  readonly bucket: TokenBucket;
  readonly clock: Clock;
  /** `https://host:port`, for reports and for the metric's `host` label; paths alone when absent. */
  readonly server?: string;
  /** Called for each wait longer than `throttledReportMs`. */
  readonly onThrottled: (request: ThrottledRequest) => void;
  readonly registry?: Registry;
}

export class RateLimitedClient implements KubeClient {
  readonly #options: RateLimitedClientOptions;
  readonly #host: string;
  readonly #waitSeconds: Histogram<"verb" | "host"> | undefined;

  constructor(options: RateLimitedClientOptions) {
    this.#options = options;
    this.#host = options.server === undefined ? "" : new URL(options.server).host;
    if (options.registry !== undefined) this.#waitSeconds = waitHistogram(options.registry);
  }

  async request(request: KubeRequest): Promise<KubeResponse> {
    return await this.#options.client.request(await this.#admit(request));
  }

  async stream(request: KubeRequest): Promise<IncomingResponse> {
    return await this.#options.client.stream(await this.#admit(request));
  }

  learnServers(addresses: readonly string[]): void {
    this.#options.client.learnServers?.(addresses);
  }

  doubtServer(address: string, why: "silent" | "behind"): void {
    this.#options.client.doubtServer?.(address, why);
  }

  /** Waits for a token; the request returned has what is left of the deadline. */
  async #admit(request: KubeRequest): Promise<KubeRequest> {
    if (request.verb === "watch") return request;
    const { clock, server = "", onThrottled } = this.#options;
    const startedAt = clock.monotonicMs();
    await this.#waitForToken(request);
    const waitedMs = elapsedMs(startedAt, clock.monotonicMs());
    const { method, path, deadlineMs } = request;
    this.#waitSeconds?.observe({ verb: method, host: this.#host }, waitedMs / 1000);
    if (waitedMs > throttledReportMs) onThrottled({ waitedMs, method, url: server + path });
    return deadlineMs === undefined ? request : { ...request, deadlineMs: deadlineMs - waitedMs };
  }

  async #waitForToken(request: KubeRequest): Promise<void> {
    const { signal, deadlineMs } = request;
    const { bucket } = this.#options;
    const reservation =
      deadlineMs === undefined ? bucket.reserve() : bucket.reserveWithin(deadlineMs);
    if (reservation === undefined) {
      throw new DeadlineExceededError(
        `the client's own rate limit has no token for ${request.method} ${request.path} ` +
          `within ${deadlineMs} ms`,
      );
    }
    try {
      await bucket.use(reservation, signal);
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      throw new NetworkError("ABORTED", "aborted while waiting for the client's rate limit", {
        cause: signal.reason,
      });
    }
  }
}

/** Reports throttling to a log, in the words of recent client-go. */
export function logThrottled(log: Log): (request: ThrottledRequest) => void {
  return ({ waitedMs, method, url }) => {
    log.info("waited before sending request", {
      delayMs: waitedMs,
      reason: "client-side throttling, not priority and fairness",
      verb: method,
      url,
    });
  };
}

/** The buckets of the Kubernetes components for this metric. */
const waitBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

const waitHistogram = oncePerRegistry(
  (registry) =>
    new Histogram({
      name: "rest_client_rate_limiter_duration_seconds",
      help: "Time a request waited for the client-side rate limit",
      labelNames: ["verb", "host"] as const,
      buckets: waitBuckets,
      registers: [registry],
    }),
);
