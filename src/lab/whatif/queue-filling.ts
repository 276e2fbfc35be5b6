// Whether a queue keeps up with what arrives, from its length at many looks; and by how much the wait
// grows while it does not. Pure.
import type { Probe } from "./pod-changes.ts";
import type { Backlog } from "./queue-monitor.ts";

export type Filling =
  /** It was empty again and again. */
  | { readonly is: "empty" }
  /** Never empty and no longer growing: every key is in it at most once. */
  | { readonly is: "level" }
  | { readonly is: "growing"; readonly sinceMs: number };

/** Of a straight line the last quarter is 1.4 times as high as the one before; of a level one, 1. */
const growingFrom = 1.15;

export function fillingOf(looks: readonly Backlog[]): Filling {
  const half = looks.length >> 1;
  const quarter = looks.length >> 2;
  if (half === 0 || looks.slice(half).some(({ keys }) => keys === 0)) return { is: "empty" };
  const before = meanKeys(looks.slice(half, half + quarter));
  const last = meanKeys(looks.slice(half + quarter));
  if (last < before * growingFrom) return { is: "level" };
  const empty = looks.findLast(({ keys }) => keys === 0);
  return { is: "growing", sinceMs: empty?.atMs ?? 0 };
}

/** The slope of the wait over the time of the change, by least squares. */
export function waitGrowth(probes: readonly Probe[]): number {
  const timed = probes.flatMap(({ atMs, waitMs }) =>
    waitMs === undefined ? [] : { atMs, waitMs },
  );
  const atMean = mean(timed.map(({ atMs }) => atMs));
  const waitMean = mean(timed.map(({ waitMs }) => waitMs));
  let together = 0;
  let spread = 0;
  for (const { atMs, waitMs } of timed) {
    together += (atMs - atMean) * (waitMs - waitMean);
    spread += (atMs - atMean) ** 2;
  }
  return spread === 0 ? 0 : Math.max(0, together / spread);
}

function meanKeys(looks: readonly Backlog[]): number {
  return mean(looks.map(({ keys }) => keys));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
