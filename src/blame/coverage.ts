// From when to when somebody followed the pods of a cluster, in all of its namespaces or in one of
// them. That something is absent proves something only then and there.
import type { Span } from "./span.ts";

/** A time during which every change of the pods there was seen. */
export interface Coverage extends CoveredPlace {
  readonly fromMs: number;
  toMs: number;
}

export interface CoveredPlace {
  readonly cluster: string;
  /** All of them when undefined. */
  readonly namespace: string | undefined;
}

/** Where an object is. */
export interface NamespacePlace extends CoveredPlace {
  readonly namespace: string;
}

/** Each request is compared with those of its place, and each new run with all. */
const timesMax = 2_000;

/** So many give way at once, so that each new one costs little. */
const timesForgotten = 200;

/** A recording has one place for each cluster, or one for each namespace that may be read. */
export const placesMax = 1_000;

/** Bounded: the oldest times are forgotten for new ones, and places beyond the limit are left out. */
export class CoveredTimes {
  readonly #all: Coverage[] = [];
  readonly #byPlace = new Map<string, Coverage[]>();
  #dropped = 0;

  /** In the order in which they were read. */
  get all(): readonly Coverage[] {
    return this.#all;
  }

  /** Times and places that were left out. */
  get dropped(): number {
    return this.#dropped;
  }

  add(coverage: Coverage): void {
    const key = placeKey(coverage);
    const there = this.#byPlace.get(key);
    if (there === undefined && this.#byPlace.size >= placesMax) {
      this.#dropped += 1;
      return;
    }
    this.#all.push(coverage);
    if (there === undefined) this.#byPlace.set(key, [coverage]);
    else there.push(coverage);
    if (this.#all.length > timesMax) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const forgotten = new Set(this.#all.splice(0, timesForgotten));
    this.#dropped += forgotten.size;
    for (const key of new Set([...forgotten].map(placeKey))) {
      const others = (this.#byPlace.get(key) ?? []).filter((one) => !forgotten.has(one));
      if (others.length === 0) this.#byPlace.delete(key);
      else this.#byPlace.set(key, others);
    }
  }

  /** Those of the namespace and those of the whole cluster. */
  of(place: NamespacePlace): readonly Coverage[] {
    const ofCluster = this.#byPlace.get(placeKey({ ...place, namespace: undefined })) ?? [];
    return [...ofCluster, ...(this.#byPlace.get(placeKey(place)) ?? [])];
  }

  has(place: NamespacePlace, { fromMs, toMs }: Span): boolean {
    return this.of(place).some((one) => one.fromMs <= fromMs && toMs <= one.toMs);
  }
}

export function placeKey({ cluster, namespace }: CoveredPlace): string {
  return `${cluster} ${namespace ?? ""}`;
}

/**
 * Until when all of the place was known by that time; undefined when it never was. Of a cluster of
 * which only namespaces were recorded each was known until another time: the earliest of them.
 */
export function knownBeforeMs(
  earlier: readonly Coverage[],
  { cluster, namespace }: CoveredPlace,
  atMs: number,
): number | undefined {
  const known = earlier.filter((one) => one.cluster === cluster && one.toMs <= atMs);
  const untilMs = (of: string | undefined): number =>
    known.reduce((ms, one) => (one.namespace === of ? Math.max(ms, one.toMs) : ms), -Infinity);
  const latestMs = Math.max(untilMs(undefined), untilMs(namespace));
  if (latestMs > -Infinity) return latestMs;
  if (namespace !== undefined || known.length === 0) return undefined;
  return Math.min(...[...new Set(known.map((one) => one.namespace))].map(untilMs));
}
