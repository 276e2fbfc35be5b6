// Faults of the lists and watches of one API server: its cache falls behind the storage, open
// watches go silent or break, lists lose objects. One object for all resources of a server; every
// change takes effect at once, also on open watches.

/** A watch as faults choose it. */
export interface OpenWatch {
  readonly clientName: string;
  readonly resource: string;
  readonly namespace: string | undefined;
}

export type ChooseWatches = (watch: OpenWatch) => boolean;

export interface FaultListener {
  /** The lag or the stalled watches are others now. */
  changed(): void;
  /** Break the watches that are chosen. */
  reset(chosen: ChooseWatches): void;
}

export class CacheFaults {
  /**
   * How a watch from a version that is too old is refused: real servers open the stream and send
   * one ERROR event; others, and proxies before them, answer with status 410.
   */
  expiredWatchAnswer: "event" | "status" = "event";

  /** The share of the objects, 0 to 1, that lists of a resource are answered without. */
  lostFromLists: (resource: string) => number = () => 0;

  #cacheLagMs = 0;
  #stalledWatches: ChooseWatches = none;
  readonly #listeners = new Set<FaultListener>();

  /** How long after the storage the cache learns of a change; infinite freezes it. */
  get cacheLagMs(): number {
    return this.#cacheLagMs;
  }

  set cacheLagMs(lagMs: number) {
    if (!(lagMs >= 0)) throw new RangeError(`a lag of ${lagMs} ms makes no sense`);
    this.#cacheLagMs = lagMs;
    this.#notify();
  }

  /** These stay open and send nothing, not even their end. Undefined: none. */
  set stalledWatches(chosen: ChooseWatches | undefined) {
    this.#stalledWatches = chosen ?? none;
    this.#notify();
  }

  isStalled(watch: OpenWatch): boolean {
    return this.#stalledWatches(watch);
  }

  /** Breaks the connections of open watches. */
  resetWatches(chosen: ChooseWatches = all): void {
    for (const listener of this.#listeners) listener.reset(chosen);
  }

  listen(listener: FaultListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #notify(): void {
    for (const listener of this.#listeners) listener.changed();
  }
}

function none(): boolean {
  return false;
}

function all(): boolean {
  return true;
}
