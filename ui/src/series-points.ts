// Points that arrive for series which were read before. Pure.
import type { PointsBatch, Series } from "../../src/server/api.ts";

/** As long as the server keeps them. */
const keptMs = 3_600_000;

/** Appends the values of one instant; a series without a value at it stays the same object. */
export function continued(
  series: readonly Series[],
  { at, values }: PointsBatch,
): readonly Series[] {
  return series.map((one) => {
    const value = values[one.id];
    const lastAt = one.points.at(-1)?.[0] ?? 0;
    if (value === undefined || at <= lastAt) return one;
    const first = one.points.findIndex(([pointAt]) => pointAt >= at - keptMs);
    const kept = first === -1 ? [] : one.points.slice(first);
    return { ...one, points: [...kept, [at, value] as [number, number | null]] };
  });
}
