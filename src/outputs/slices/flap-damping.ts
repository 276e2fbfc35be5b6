// Endpoints that flap: one that has left several times within a minute joins again only after a wait,
// which grows with each time. It leaves at once as ever. Each join and leave costs every consumer of the
// copy an update, and a client that is sent to a flapping pod is seldom answered well.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";

/** Leaves longer ago than this do not count. */
export const flapWithinMs = 60_000;

/** A rollout or a slow start has fewer. */
export const leavesToDamp = 3;

export const firstWaitMs = 5_000;
const longestWaitMs = 60_000;

/** Beyond it the oldest is forgotten, and joins at once. */
const flappersMax = 10_000;

interface Flapper {
  leaves: readonly MonotonicMs[];
  isOut: boolean;
}

export class FlapDamping {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** The one that left last comes last. */
  readonly #flappers = new Map<string, Flapper>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** It is not to get requests any more; said again, nothing changes. */
  left(endpoint: string): void {
    const known = this.#flappers.get(endpoint);
    if (known?.isOut === true) return;
    const now = this.#clock.monotonicMs();
    const leaves = [...this.#recent(known, now), now];
    this.#flappers.delete(endpoint);
    this.#flappers.set(endpoint, { leaves, isOut: true });
    const [oldest] = this.#flappers.keys();
    if (this.#flappers.size > flappersMax && oldest !== undefined) this.#flappers.delete(oldest);
  }

  joined(endpoint: string): void {
    const known = this.#flappers.get(endpoint);
    if (known === undefined) return;
    known.isOut = false;
    if (this.#recent(known, this.#clock.monotonicMs()).length === 0) {
      this.#flappers.delete(endpoint);
    }
  }

  /** How long it has to wait until it may join; 0 for one that may now. */
  waitMs(endpoint: string): number {
    const known = this.#flappers.get(endpoint);
    if (known === undefined || !known.isOut) return 0;
    const now = this.#clock.monotonicMs();
    const recent = this.#recent(known, now);
    const last = recent.at(-1);
    if (last === undefined || recent.length < leavesToDamp) return 0;
    const wait = Math.min(firstWaitMs * 2 ** (recent.length - leavesToDamp), longestWaitMs);
    return Math.max(0, wait - elapsedMs(last, now));
  }

  #recent(flapper: Flapper | undefined, now: MonotonicMs): readonly MonotonicMs[] {
    return (flapper?.leaves ?? []).filter((at) => elapsedMs(at, now) <= flapWithinMs);
  }
}
