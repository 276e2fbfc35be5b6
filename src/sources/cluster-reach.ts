// How long a cluster has been silent, or only partly listed. Both count only when they last, and no
// event reports that time has passed, so the watches are checked regularly.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";

export interface ClusterReachOptions {
  readonly clock: Clock;
  /** How long the cluster may be silent before it counts as unreachable; for ever when absent. */
  readonly unreachableAfterMs?: () => number;
}

/** A watch that cannot be listed must not keep what the others say from counting for ever. */
const partlyListedMs = 10_000;

export class ClusterReach {
  readonly #options: ClusterReachOptions;
  /** Since when no watch has been fresh; undefined while one is. */
  #silentSince: MonotonicMs | undefined;
  /** Since when enough has been listed to go by; undefined while it is not. */
  #partlyListedSince: MonotonicMs | undefined;

  constructor(options: ClusterReachOptions) {
    this.#options = options;
  }

  /** How its watches were found just now. */
  look(found: { readonly isAnyFresh: boolean; readonly isPartlyListed: boolean }): void {
    const now = this.#options.clock.monotonicMs();
    this.#silentSince = found.isAnyFresh ? undefined : (this.#silentSince ?? now);
    this.#partlyListedSince = found.isPartlyListed ? (this.#partlyListedSince ?? now) : undefined;
  }

  /** No watch has been fresh for longer than is allowed. */
  get isUnreachable(): boolean {
    const { unreachableAfterMs } = this.#options;
    return unreachableAfterMs !== undefined && this.#lasts(this.#silentSince, unreachableAfterMs());
  }

  /** Some of its watches have been listed for so long that the others are not waited for. */
  get isPartlyListed(): boolean {
    return this.#lasts(this.#partlyListedSince, partlyListedMs);
  }

  #lasts(since: MonotonicMs | undefined, ms: number): boolean {
    return since !== undefined && elapsedMs(since, this.#options.clock.monotonicMs()) >= ms;
  }
}
