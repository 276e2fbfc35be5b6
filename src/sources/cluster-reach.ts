// For how long a cluster has been silent, or heard only in part. Both count only when they last, and
// nobody tells that time has passed, so its watches are looked at again and again.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";

export interface ClusterReachOptions {
  readonly clock: Clock;
  /** How long the cluster may be silent before it counts as unreachable; for ever when absent. */
  readonly unreachableAfterMs?: () => number;
}

/** A watch that cannot be listed must not keep what the others say from counting for ever. */
const partlyHeardMs = 10_000;

export class ClusterReach {
  readonly #options: ClusterReachOptions;
  /** Since when no watch has been fresh; undefined while one is. */
  #silentSince: MonotonicMs | undefined;
  /** Since when enough has been listed to go by; undefined while it is not. */
  #partlyHeardSince: MonotonicMs | undefined;

  constructor(options: ClusterReachOptions) {
    this.#options = options;
  }

  /** How its watches were found just now. */
  look(found: { readonly isAnyFresh: boolean; readonly isPartlyHeard: boolean }): void {
    const now = this.#options.clock.monotonicMs();
    this.#silentSince = found.isAnyFresh ? undefined : (this.#silentSince ?? now);
    this.#partlyHeardSince = found.isPartlyHeard ? (this.#partlyHeardSince ?? now) : undefined;
  }

  /** No watch has been fresh for longer than is allowed. */
  get isUnreachable(): boolean {
    const { unreachableAfterMs } = this.#options;
    return unreachableAfterMs !== undefined && this.#lasts(this.#silentSince, unreachableAfterMs());
  }

  /** Some of its watches have been listed for so long that the others are not waited for. */
  get isPartlyHeard(): boolean {
    return this.#lasts(this.#partlyHeardSince, partlyHeardMs);
  }

  #lasts(since: MonotonicMs | undefined, ms: number): boolean {
    return since !== undefined && elapsedMs(since, this.#options.clock.monotonicMs()) >= ms;
  }
}
