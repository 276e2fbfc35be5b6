// The intervals in which the pods of a cluster were followed, in all namespaces or in one. Only
// there and then does the absence of an object prove something.
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

export interface NamespacePlace extends CoveredPlace {
  readonly namespace: string;
}

/** Each request is compared with those of its place, and each new run with all. */
const timesMax = 1_000;

/** So many give way at once, so that each new one costs little. */
const timesForgotten = 100;

/** A recording has one place for each cluster, or one for each namespace that may be read. */
export const placesMax = 500;

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
  const latest = { ofClusterMs: -Infinity, ofNamespaceMs: -Infinity };
  for (const one of earlier) {
    if (one.cluster !== cluster || one.toMs > atMs) continue;
    if (one.namespace === undefined) latest.ofClusterMs = Math.max(latest.ofClusterMs, one.toMs);
    else if (one.namespace === namespace) {
      latest.ofNamespaceMs = Math.max(latest.ofNamespaceMs, one.toMs);
    }
  }
  const latestMs = Math.max(latest.ofClusterMs, latest.ofNamespaceMs);
  if (latestMs > -Infinity) return latestMs;
  return namespace === undefined ? earliestMs(earlier, cluster, atMs) : undefined;
}

function earliestMs(
  earlier: readonly Coverage[],
  cluster: string,
  atMs: number,
): number | undefined {
  const latest = new Map<string | undefined, number>();
  for (const one of earlier) {
    if (one.cluster !== cluster || one.toMs > atMs) continue;
    latest.set(one.namespace, Math.max(one.toMs, latest.get(one.namespace) ?? -Infinity));
  }
  return latest.size === 0 ? undefined : Math.min(...latest.values());
}
