// How long a key waits before it is tried again. The default is client-go's: the longer of the
// key's own exponential delay and a bucket shared by all retries of the queue, so that neither one
// sick key nor a thousand of them can spin.
import { TokenBucket, type TokenBucketOptions } from "../client/token-bucket.ts";

/** First retry after 5 ms: most failures are conflicts that a fresh cache has already resolved. */
const retryBaseMs = 5;
/** About 17 minutes, client-go's ceiling for a key that never succeeds. */
const retryMaxMs = 1_000_000;
const retriesPerSecond = 10;
const retryBurst = 100;

export interface RateLimiter {
  /** The delay of the next try; calling it counts as one failure of the key. */
  when(key: string): number;
  /** The key succeeded or was given up: its failures no longer count. */
  forget(key: string): void;
  /** Failures counted since the last `forget`. */
  numRequeues(key: string): number;
}

export function defaultRateLimiter(
  environment: Pick<TokenBucketOptions, "clock" | "timers">,
): RateLimiter {
  const bucket = new TokenBucket({ ...environment, qps: retriesPerSecond, burst: retryBurst });
  return longestOf(
    new ExponentialRateLimiter({ baseMs: retryBaseMs, maxMs: retryMaxMs }),
    bucketRateLimiter(bucket),
  );
}

/** Beyond so many the buckets are forgotten, and are full again. */
const bucketsMost = 1_000;

/** The same with a bucket for each owner: the sick keys of one do not delay those of another. */
export function fairRateLimiter(
  environment: Pick<TokenBucketOptions, "clock" | "timers">,
  ownerOf: (key: string) => string,
): RateLimiter {
  const buckets = new Map<string, TokenBucket>();
  const bucketOf = (owner: string): TokenBucket => {
    const known = buckets.get(owner);
    if (known !== undefined) return known;
    if (buckets.size >= bucketsMost) buckets.clear();
    const made = new TokenBucket({ ...environment, qps: retriesPerSecond, burst: retryBurst });
    buckets.set(owner, made);
    return made;
  };
  return longestOf(new ExponentialRateLimiter({ baseMs: retryBaseMs, maxMs: retryMaxMs }), {
    when: (key) => bucketOf(ownerOf(key)).reserve().waitMs,
    forget: () => undefined,
    numRequeues: () => 0,
  });
}

/** `baseMs` × 2^failures, at most `maxMs`, for each key by itself. */
export class ExponentialRateLimiter implements RateLimiter {
  readonly #baseMs: number;
  readonly #maxMs: number;
  /** Keys with at least one failure; `forget` removes them, so it is bounded by the failing keys. */
  readonly #failures = new Map<string, number>();

  constructor(options: { readonly baseMs: number; readonly maxMs: number }) {
    this.#baseMs = options.baseMs;
    this.#maxMs = options.maxMs;
  }

  when(key: string): number {
    const failures = this.numRequeues(key);
    this.#failures.set(key, failures + 1);
    return Math.min(this.#baseMs * 2 ** failures, this.#maxMs);
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  numRequeues(key: string): number {
    return this.#failures.get(key) ?? 0;
  }
}

/** The same bucket for every key. It knows no keys, so it has nothing to forget. */
export function bucketRateLimiter(bucket: TokenBucket): RateLimiter {
  return {
    when: () => bucket.reserve().waitMs,
    forget: () => undefined,
    numRequeues: () => 0,
  };
}

/** Asks every limiter (each counts the failure) and waits for the slowest. */
export function longestOf(...limiters: readonly RateLimiter[]): RateLimiter {
  return {
    when: (key) => Math.max(...limiters.map((limiter) => limiter.when(key))),
    forget: (key) => {
      for (const limiter of limiters) limiter.forget(key);
    },
    numRequeues: (key) => Math.max(...limiters.map((limiter) => limiter.numRequeues(key))),
  };
}
