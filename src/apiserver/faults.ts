// Faults of one API server, changeable while it runs: slow answers, errors, throttling, broken
// connections, a bounded rate of work. `cache` has the faults of its watches. All randomness comes
// from the environment, so a simulated run repeats.
import type { Clock } from "../environment/clock.ts";
import { elapsedMs, type MonotonicMs, monotonicAfter } from "../environment/clock.ts";
import type { IncomingRequest } from "../environment/network.ts";
import { type Random, randomBetween } from "../environment/random.ts";
import type { Timers } from "../environment/timers.ts";
import { ApiError, OverloadError } from "./api-error.ts";
import type { ApiVerb } from "./http/route.ts";
import { CacheFaults } from "./listwatch/cache-faults.ts";

/** A fixed time, or uniform between two. */
export type Latency = number | { readonly minMs: number; readonly maxMs: number };

export interface FaultRule {
  /** Only requests for which all of these hold; an empty object means every request. */
  readonly match: {
    readonly user?: string;
    /** The beginning of the User-Agent header: `kube-controller-manager/`. */
    readonly userAgent?: string;
    readonly verbs?: readonly ApiVerb[];
    /** Plural: `endpoints`. */
    readonly resource?: string;
  };
  readonly latency?: Latency;
  /** Share of requests, 0 to 1, refused with this status before anything is done. */
  readonly errors?: { readonly rate: number; readonly code: 500 | 503 };
  readonly throttled?: { readonly rate: number; readonly retryAfterSeconds: number };
  /** Share of requests whose connection is broken before anything is done. */
  readonly resets?: { readonly rate: number };
}

export interface Capacity {
  readonly requestsPerSecond: number;
  /** Requests that may wait for their turn; more are refused with 429. */
  readonly maxQueued: number;
  /** The bounded requests: all, or only writes. All when absent. */
  readonly of?: "requests" | "writes";
}

export interface FaultSubject {
  readonly user: string;
  readonly userAgent: string;
  readonly verb: ApiVerb | undefined;
  readonly resource: string | undefined;
}

const writes: ReadonlySet<ApiVerb> = new Set([
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
]);

/** A request; its signal is read only for a wait, because some networks make it on demand. */
type Closable = Pick<IncomingRequest, "closed">;

/** The connection is to be broken without an answer. */
export class ConnectionResetFault extends Error {
  override readonly name = "ConnectionResetFault";
  readonly code = "RESET_FAULT";
}

export class ApiServerFaults {
  readonly cache = new CacheFaults();
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #random: Random;
  #rules: readonly FaultRule[] = [];
  #capacity: Capacity | undefined;
  /** When the server has done all it has accepted. */
  #freeAt: MonotonicMs;
  #queued = 0;

  constructor(options: { clock: Clock; timers: Timers; random: Random }) {
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#random = options.random;
    this.#freeAt = options.clock.monotonicMs();
  }

  /** Replaces all rules; each request is subject to every rule that matches it. */
  setRules(rules: readonly FaultRule[]): void {
    this.#rules = rules;
  }

  setCapacity(capacity: Capacity | undefined): void {
    this.#capacity = capacity;
  }

  /** Lets a request pass after its delays, or throws its answer. */
  async pass(subject: FaultSubject, request: Closable): Promise<void> {
    const capacity = this.#capacity;
    if (capacity !== undefined && isBounded(capacity, subject)) {
      await this.#waitForTurn(capacity, request);
    }
    for (const rule of this.#rules.filter((candidate) => matches(candidate, subject))) {
      await this.#apply(rule, request);
    }
  }

  async #waitForTurn(capacity: Capacity, request: Closable): Promise<void> {
    const now = this.#clock.monotonicMs();
    const turn = elapsedMs(now, this.#freeAt) > 0 ? this.#freeAt : now;
    const waitMs = elapsedMs(now, turn);
    if (waitMs > 0 && this.#queued >= capacity.maxQueued) {
      throw new OverloadError(1);
    }
    this.#freeAt = monotonicAfter(turn, 1000 / capacity.requestsPerSecond);
    if (waitMs > 0) {
      this.#queued++;
      try {
        await this.#timers.sleep(waitMs, request.closed);
      } finally {
        this.#queued--;
      }
    }
  }

  async #apply(rule: FaultRule, request: Closable): Promise<void> {
    if (rule.latency !== undefined) {
      await this.#timers.sleep(this.#latencyMs(rule.latency), request.closed);
    }
    if (rule.resets !== undefined && this.#random.next() < rule.resets.rate) {
      throw new ConnectionResetFault("the connection is reset by a fault");
    }
    if (rule.throttled !== undefined && this.#random.next() < rule.throttled.rate) {
      throw new OverloadError(rule.throttled.retryAfterSeconds);
    }
    if (rule.errors !== undefined && this.#random.next() < rule.errors.rate) {
      throw rule.errors.code === 500
        ? new ApiError(500, "InternalError", "Internal error occurred: injected fault")
        : new ApiError(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
          );
    }
  }

  #latencyMs(latency: Latency): number {
    return typeof latency === "number"
      ? latency
      : randomBetween(this.#random, latency.minMs, latency.maxMs);
  }
}

/** The real server counts neither watches nor logs against its limits either. */
function isBounded({ of: what = "requests" }: Capacity, { verb }: FaultSubject): boolean {
  return what === "writes" ? verb !== undefined && writes.has(verb) : verb !== "watch";
}

function matches({ match }: FaultRule, subject: FaultSubject): boolean {
  return (
    (match.user === undefined || match.user === subject.user) &&
    (match.userAgent === undefined || subject.userAgent.startsWith(match.userAgent)) &&
    (match.verbs === undefined ||
      (subject.verb !== undefined && match.verbs.includes(subject.verb))) &&
    (match.resource === undefined || match.resource === subject.resource)
  );
}
