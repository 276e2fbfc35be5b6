// How many objects each watch of this process shows, to be saved, and how many those of an earlier
// process did: a first list that lacks most of them is not believed at once.
import type { KnownBefore, WatchName } from "./reflector-removals.ts";

export class KnownObjects implements KnownBefore {
  readonly #before: ReadonlyMap<string, number>;
  readonly #sizes = new Map<string, () => number>();
  #final: ReadonlyMap<string, number> | undefined;

  constructor(before: ReadonlyMap<string, number> = new Map()) {
    this.#before = before;
  }

  before(watch: WatchName): number {
    return this.#before.get(keyOf(watch)) ?? 0;
  }

  track(watch: WatchName, size: () => number): () => void {
    const key = keyOf(watch);
    this.#sizes.set(key, size);
    return () => {
      if (this.#sizes.get(key) === size) this.#sizes.delete(key);
    };
  }

  /** By the name of each watch; only those that show something. */
  counts(): ReadonlyMap<string, number> {
    if (this.#final !== undefined) return this.#final;
    const counts = [...this.#sizes].map(([key, size]) => [key, size()] as const);
    return new Map(counts.filter(([, count]) => count > 0));
  }

  /** The counts stay as they are now: watches are about to stop, which removes nothing. */
  freeze(): void {
    this.#final ??= this.counts();
  }
}

function keyOf({ cluster, resource, selection }: WatchName): string {
  return [cluster, resource, selection].join(" ").trim();
}
