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

export class CoveredTimes {
  readonly #all: Coverage[] = [];
  readonly #byPlace = new Map<string, Coverage[]>();

  /** In the order in which they were read. */
  get all(): readonly Coverage[] {
    return this.#all;
  }

  add(coverage: Coverage): void {
    this.#all.push(coverage);
    const key = placeKey(coverage);
    const there = this.#byPlace.get(key);
    if (there === undefined) this.#byPlace.set(key, [coverage]);
    else there.push(coverage);
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
  const latest = new Map<string | undefined, number>();
  for (const one of earlier) {
    if (one.cluster !== cluster || one.toMs > atMs) continue;
    latest.set(one.namespace, Math.max(one.toMs, latest.get(one.namespace) ?? -Infinity));
  }
  const ofCluster = latest.get(undefined);
  if (namespace === undefined) {
    return ofCluster ?? (latest.size === 0 ? undefined : Math.min(...latest.values()));
  }
  const ofNamespace = latest.get(namespace);
  if (ofCluster === undefined || ofNamespace === undefined) return ofCluster ?? ofNamespace;
  return Math.max(ofCluster, ofNamespace);
}
