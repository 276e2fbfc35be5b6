// How long a kubelet takes from one report to the next. A kubelet in good health keeps to its
// period; one that is busy with its containers reports when it gets to it.
import { jitter, type Random, randomBetween } from "../../environment/random.ts";

/** Uniform between the two. */
export interface Gap {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Those not named are timely. */
export interface HeartbeatGaps {
  readonly status?: Gap;
  readonly lease?: Gap;
}

export type Beat = keyof HeartbeatGaps;

/** Lease and status, the kubelet's defaults in all versions (pkg/kubelet, 1.7 to 1.33). */
const everyMs = 10_000;

/** Heartbeats of nodes that started together drift apart. */
const jitterFactor = 0.04;

/** A gap that ends before it began, or never, is a mistake in the settings. */
export function checkGaps(gaps: HeartbeatGaps): void {
  for (const { minMs, maxMs } of [gaps.status, gaps.lease].filter((gap) => gap !== undefined)) {
    if (!(minMs > 0 && minMs <= maxMs && Number.isFinite(maxMs))) {
      throw new RangeError(
        `a heartbeat gap must be positive and in order: ${minMs} to ${maxMs} ms`,
      );
    }
  }
}

export function drawGapMs(gaps: HeartbeatGaps, beat: Beat, random: Random): number {
  const gap = gaps[beat];
  return gap === undefined
    ? jitter(random, everyMs, jitterFactor)
    : randomBetween(random, gap.minMs, gap.maxMs);
}
