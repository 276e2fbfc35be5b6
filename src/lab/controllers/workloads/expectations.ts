// How many creations and which deletions a controller has requested and not yet seen. Until it has
// seen them its cache shows too few or too many pods, and acting on that would create twice.
import { type Clock, elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";

/** After this time a watch will not show it any more: controller_utils.go ExpectationsTimeout. */
export const expectationTimeoutMs = 5 * 60_000;

interface Expected {
  creations: number;
  readonly deletions: Set<string>;
  readonly since: MonotonicMs;
}

/** Invariant: an entry for a key means that something was requested since it was last satisfied. */
export class Expectations {
  readonly #clock: Clock;
  readonly #expected = new Map<string, Expected>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** Whether the cache can be acted upon. */
  areMet(key: string): boolean {
    const expected = this.#expected.get(key);
    if (expected === undefined) return true;
    const isMet = expected.creations <= 0 && expected.deletions.size === 0;
    const waitedMs = elapsedMs(expected.since, this.#clock.monotonicMs());
    return isMet || waitedMs > expectationTimeoutMs;
  }

  /** Set before the requests are sent: the watch may be faster than the answer. */
  expectCreations(key: string, count: number): void {
    this.#set(key, count, []);
  }

  expectDeletions(key: string, uids: Iterable<string>): void {
    this.#set(key, 0, uids);
  }

  /** Seen in the watch, or refused by the server. */
  createdOne(key: string): void {
    const expected = this.#expected.get(key);
    if (expected !== undefined) expected.creations -= 1;
  }

  deletedOne(key: string, uid: string): void {
    this.#expected.get(key)?.deletions.delete(uid);
  }

  forget(key: string): void {
    this.#expected.delete(key);
  }

  #set(key: string, creations: number, uids: Iterable<string>): void {
    const since = this.#clock.monotonicMs();
    this.#expected.set(key, { creations, deletions: new Set(uids), since });
  }
}
