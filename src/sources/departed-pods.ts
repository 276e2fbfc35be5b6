// Pods that the watch has shown to be gone. A slice can name a pod long after it went, and may even
// be written after that by a controller that computed it before; absence alone would not tell such
// a pod from one that the watch has yet to show.

import { isDeepStrictEqual } from "node:util";
import { assert, assertCostly } from "../environment/assert.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { WorkqueueLane } from "../kube/workqueue/workqueue-lane.ts";

/** Longer than any controller has been seen to lag, so that no slice outlives our memory of a pod. */
export const rememberDepartedMs = 60 * 60_000;

/** At 100 bytes each a few MB; a thousand pods leaving each minute for an hour are still in it. */
export const maxDeparted = 60_000;

/** How the pod watch showed that a pod is gone. */
export interface Departure {
  readonly atMs: MonotonicMs;
  /**
   * Its deletion, or its termination, was seen, so it was intended. False if only a list came
   * without it, which is the claim of one server.
   */
  readonly isWitnessed: boolean;
}

interface Remembered extends Departure {
  readonly namespace: string;
}

/**
 * Invariant: `#departures` is in the order of departure, and holds at most `maxDeparted` uids;
 * `#byNamespace` holds the same uids in the same order. Of too many, the namespace that has the most
 * forgets its oldest.
 */
export class DepartedPods {
  readonly #clock: Clock;
  readonly #departures = new Map<string, Remembered>();
  readonly #byNamespace = new Map<string, WorkqueueLane>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  add(uid: string, how: Omit<Remembered, "atMs">): void {
    const now = this.#clock.monotonicMs();
    this.#forget(uid);
    this.#departures.set(uid, { atMs: now, ...how });
    const own = this.#byNamespace.get(how.namespace) ?? new WorkqueueLane();
    own.push(uid);
    this.#byNamespace.set(how.namespace, own);
    for (const [oldest, { atMs }] of this.#departures) {
      if (elapsedMs(atMs, now) <= rememberDepartedMs) break;
      this.#forget(oldest);
    }
    if (this.#departures.size > maxDeparted) this.#forgetOfLargest();
    assert(this.#departures.size <= maxDeparted, "departures are bounded");
    assertCostly(() => this.#isInStep(), "departures are in order", this.#departures.size);
  }

  /** Undefined when the watch did not show that the pod is gone, or very long ago. */
  get(uid: string): Departure | undefined {
    return this.#departures.get(uid);
  }

  #forget(uid: string): void {
    const { namespace } = this.#departures.get(uid) ?? {};
    if (namespace === undefined) return;
    this.#departures.delete(uid);
    const own = this.#byNamespace.get(namespace);
    own?.remove(uid);
    if (own?.size === 0) this.#byNamespace.delete(namespace);
  }

  #isInStep(): boolean {
    const byNamespace = new Map<string, string[]>();
    let last: MonotonicMs | undefined;
    for (const [uid, { atMs, namespace }] of this.#departures) {
      if (last !== undefined && atMs < last) return false;
      last = atMs;
      const own = byNamespace.get(namespace);
      if (own === undefined) byNamespace.set(namespace, [uid]);
      else own.push(uid);
    }
    const isSame = ([namespace, uids]: [string, string[]]) =>
      isDeepStrictEqual([...(this.#byNamespace.get(namespace)?.keys() ?? [])], uids);
    return byNamespace.size === this.#byNamespace.size && [...byNamespace].every(isSame);
  }

  #forgetOfLargest(): void {
    let largest = new WorkqueueLane();
    for (const own of this.#byNamespace.values()) if (own.size > largest.size) largest = own;
    const oldest = largest.shift();
    if (oldest !== undefined) this.#forget(oldest);
  }
}
