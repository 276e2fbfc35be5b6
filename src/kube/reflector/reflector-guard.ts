// Decides when a watch that is open has stopped being useful: it is silent although bookmarks were
// promised, or a quorum read has shown a version it does not reach. First the stream is cut and
// opened again, which cures a stuck stream and may find a better server. If that does not help, the
// server's cache lags, and only a consistent list shows the truth; it is repeated while this lasts.
// Pure but for the stage it remembers: instants come in, a verdict goes out.
import { elapsedMs, type MonotonicMs, monotonicAfter } from "../../environment/clock.ts";
import type { FreshnessTracker } from "./freshness.ts";

/** Servers send a bookmark a minute; half a minute of grace for a slow one. */
export const silentAfterMs = 90_000;
/** A healthy watch reaches what a quorum read has shown with its next bookmark, within 62 s. */
export const behindAfterMs = 75_000;
/** A new stream sends missed events at once; there is no need to wait for the next bookmark. */
export const lastChanceMs = 15_000;
/**
 * While the cache lags. Longer than a bookmark takes, or the watch could never show that it has
 * recovered; short enough to stay within the 90 s that a source may be out of date.
 */
export const laggingRelistEveryMs = 75_000;

export type Verdict =
  /** Nothing to do before this instant, unless data arrives. */
  | { readonly action: "wait"; readonly until: MonotonicMs }
  | { readonly action: "rewatch"; readonly why: "silent" | "behind" }
  | { readonly action: "relist"; readonly why: "silent" | "lagging" };

type Stage =
  | { readonly name: "trusted" }
  | { readonly name: "rewatched"; readonly why: "silent" | "behind" }
  | { readonly name: "relisted"; readonly at: MonotonicMs; readonly proofsBefore: number };

export class StallGuard {
  readonly #freshness: FreshnessTracker;
  #stage: Stage = { name: "trusted" };
  /** When the stream that is being judged was opened. */
  #openedAt: MonotonicMs | undefined;
  #relistedAt: MonotonicMs | undefined;

  constructor(options: { readonly freshness: FreshnessTracker }) {
    this.#freshness = options.freshness;
  }

  /** A new stream is to be judged; the tracker was just marked as connected. */
  opened(): void {
    this.#openedAt = this.#freshness.receivedAt;
  }

  /** A consistent list, sent at this instant, was made because of a verdict. */
  relisted(sentAt: MonotonicMs): void {
    this.#relistedAt = sentAt;
    this.#stage = { name: "relisted", at: sentAt, proofsBefore: this.#freshness.quorumProofs };
  }

  /** Whether the last such list is long enough ago for another: the rate of lists is bounded. */
  mayRelist(now: MonotonicMs): boolean {
    return (
      this.#relistedAt === undefined || elapsedMs(this.#relistedAt, now) >= laggingRelistEveryMs
    );
  }

  /** The verdict on the open stream; the caller carries it out. */
  judge(now: MonotonicMs): Verdict {
    this.#reconsider(now);
    const openedAt = this.#openedAt ?? now;
    const silentAt = monotonicAfter(this.#freshness.receivedAt ?? openedAt, silentAfterMs);
    if (now >= silentAt) {
      return this.#giveUpOn("silent");
    }
    const behindAt = this.#behindAt(openedAt);
    if (behindAt !== undefined && now >= behindAt) {
      return this.#giveUpOn("behind");
    }
    const until = behindAt === undefined || silentAt < behindAt ? silentAt : behindAt;
    return { action: "wait", until };
  }

  /**
   * Trust returns when data arrives on the new stream, or when the watch reaches the version of
   * quorum reads.
   */
  #reconsider(now: MonotonicMs): void {
    const { behindSince, receivedAt, quorumProofs } = this.#freshness;
    const stage = this.#stage;
    const recovered =
      stage.name === "relisted"
        ? quorumProofs > stage.proofsBefore
        : stage.name === "rewatched" && stage.why === "silent"
          ? receivedAt !== undefined && receivedAt !== this.#openedAt
          : behindSince === undefined || elapsedMs(behindSince, now) < behindAfterMs;
    if (recovered) {
      this.#stage = { name: "trusted" };
    }
  }

  /** When the stream will have had its time to reach the oldest unreached read. */
  #behindAt(openedAt: MonotonicMs): MonotonicMs | undefined {
    const behindSince = this.#freshness.behindSince;
    if (behindSince === undefined) {
      return undefined;
    }
    if (this.#stage.name === "relisted") {
      return monotonicAfter(this.#stage.at, laggingRelistEveryMs);
    }
    const behindForMs = elapsedMs(behindSince, openedAt);
    return monotonicAfter(openedAt, Math.max(behindAfterMs - behindForMs, lastChanceMs));
  }

  #giveUpOn(why: "silent" | "behind"): Verdict {
    if (this.#stage.name === "trusted") {
      this.#stage = { name: "rewatched", why };
      return { action: "rewatch", why };
    }
    return { action: "relist", why: why === "silent" ? "silent" : "lagging" };
  }
}
