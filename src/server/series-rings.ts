// The charts of the last hour: every series has a value each 2 s on one time axis. All series share
// the axis, so a new one costs its values only.
import type { PointsBatch, Series } from "./api.ts";
import type { SeriesValue } from "./page-source.ts";

export const pointEveryMs = 2_000;

/** One hour. */
const pointsMax = 3_600_000 / pointEveryMs;

/** Series of three clusters and both sides are under a hundred; 28 kB each. */
const seriesMax = 500;

interface Kept {
  about: Omit<Series, "points">;
  /** By the place of the point in the ring. */
  readonly values: (number | null)[];
}

/** Invariant: point n, counted from 0, is at place n modulo `pointsMax`. */
export class SeriesRings {
  readonly #times: number[] = [];
  readonly #series = new Map<string, Kept>();
  /** Points ever added. */
  #count = 0;
  #refused = 0;

  /** The values of one instant; a series without one has a gap there. Returns what pages get. */
  add(atMs: number, values: readonly SeriesValue[]): PointsBatch {
    const place = this.#count % pointsMax;
    this.#times[place] = atMs;
    this.#count += 1;
    for (const kept of this.#series.values()) kept.values[place] = null;
    const batch: Record<string, number | null> = {};
    for (const { value, ...about } of values) {
      const kept = this.#keptOf(about);
      if (kept === undefined) continue;
      kept.about = about;
      kept.values[place] = value;
      batch[about.id] = value;
    }
    return { at: atMs, values: batch };
  }

  /** Series that were left out because there are too many. */
  get refused(): number {
    return this.#refused;
  }

  /** Points of each series before it began are left out. */
  all(): readonly Series[] {
    return [...this.#series.values()].map(({ about, values }) => {
      const points: Series["points"] = [];
      const first = Math.max(0, this.#count - pointsMax);
      for (let point = first; point < this.#count; point += 1) {
        const value = values[point % pointsMax];
        const time = this.#times[point % pointsMax];
        if (value === undefined || time === undefined) continue;
        if (points.length > 0 || value !== null) points.push([time, value]);
      }
      return { ...about, points };
    });
  }

  #keptOf(about: Omit<Series, "points">): Kept | undefined {
    const known = this.#series.get(about.id);
    if (known !== undefined) return known;
    if (this.#series.size >= seriesMax) {
      this.#refused += 1;
      return undefined;
    }
    const kept: Kept = { about, values: [] };
    this.#series.set(about.id, kept);
    return kept;
  }
}
