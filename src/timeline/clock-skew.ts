// The difference between the observer's clock and a cluster's. The cluster stamps events with its
// own clock, in whole seconds, and the observer receives them some time later. So the age of each
// stamp is at least the difference of the clocks, and the youngest stamps come near to it. Each
// kubelet uses its own clock, and a single wrong one must not move the estimate. So the median of
// the stampers' least ages counts.
import { assert } from "../environment/assert.ts";
import { elapsedMs, type MonotonicMs, type WallMs } from "../environment/clock.ts";
import type { ClusterStamp } from "./witness.ts";

/** The observer's clock minus the cluster's: between these. */
export interface SkewInterval {
  readonly lowMs: number;
  readonly highMs: number;
}

/** One instant by both of the observer's clocks; it turns every other one into wall time. */
export interface ClockAnchor {
  readonly wallMs: WallMs;
  readonly monotonicMs: MonotonicMs;
}

/** Kubernetes cuts stamps to seconds, so a stamp is up to this much older than it says. */
export const stampResolutionMs = 1_000;

/** Clocks drift and are corrected; observations older than one or two periods no longer count. */
const periodMs = 600_000;

/** A middle of so many is steady; the others add nothing. */
const stampersMax = 64;

/** One or two stamps may both have arrived late. */
const samplesMin = 3;

interface Least {
  /** The least age in the present period and in the one before. */
  now: number;
  before: number;
}

/**
 * Invariant: at most `stampersMax` stampers, each with a stamp in the present period or the one
 * before.
 */
export class ClockSkew {
  readonly #anchor: ClockAnchor;
  readonly #least = new Map<string, Least>();
  #periodAt: MonotonicMs;
  /** In the present period and the one before. */
  #samples = 0;
  #samplesBefore = 0;

  constructor(anchor: ClockAnchor) {
    this.#anchor = anchor;
    this.#periodAt = anchor.monotonicMs;
  }

  /** Takes a stamp of an event that arrived live, at that instant. */
  note(stamp: ClusterStamp, at: MonotonicMs): void {
    this.#turn(at);
    const ageMs = this.#wallAt(at) - stamp.at;
    const known = this.#least.get(stamp.by);
    if (known === undefined && this.#least.size >= stampersMax) return;
    this.#samples += 1;
    if (known === undefined) this.#least.set(stamp.by, { now: ageMs, before: Infinity });
    else known.now = Math.min(known.now, ageMs);
    assert(this.#least.size <= stampersMax, "stampers are bounded");
  }

  /**
   * The estimate at the latest instant that was noted or asked for; undefined until there are
   * enough stamps. The upper end is certain for the stampers in the middle. The lower end assumes
   * that each of them once reported within a second.
   */
  get interval(): SkewInterval | undefined {
    if (this.#samples + this.#samplesBefore < samplesMin) return undefined;
    const ages = [...this.#least.values()].map(({ now, before }) => Math.min(now, before));
    const highMs = ages.sort((a, b) => a - b)[Math.floor((ages.length - 1) / 2)];
    return highMs === undefined ? undefined : { lowMs: highMs - stampResolutionMs, highMs };
  }

  /** How long before an instant the stamped second was; never less than nothing. */
  beforeMs(stamp: ClusterStamp, at: MonotonicMs): { minMs: number; maxMs: number } | undefined {
    this.#turn(at);
    const { interval } = this;
    if (interval === undefined) return undefined;
    const ageMs = this.#wallAt(at) - stamp.at;
    return {
      minMs: Math.max(0, ageMs - stampResolutionMs - interval.highMs),
      maxMs: Math.max(0, ageMs - interval.lowMs),
    };
  }

  #wallAt(at: MonotonicMs): number {
    return this.#anchor.wallMs + elapsedMs(this.#anchor.monotonicMs, at);
  }

  #turn(at: MonotonicMs): void {
    const periods = Math.floor(elapsedMs(this.#periodAt, at) / periodMs);
    if (periods < 1) return;
    this.#periodAt = (this.#periodAt + periods * periodMs) as MonotonicMs;
    this.#samplesBefore = periods === 1 ? this.#samples : 0;
    this.#samples = 0;
    for (const [by, least] of this.#least) {
      if (periods > 1 || least.now === Infinity) this.#least.delete(by);
      else this.#least.set(by, { now: Infinity, before: least.now });
    }
  }
}
