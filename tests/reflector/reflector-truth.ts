// The truth about one collection, at every revision and every instant, from the storage itself. A
// reflector's store and its claims are compared with it.
import type { KubeObject } from "../../src/apiserver/kube-object.ts";
import { decodeRecord } from "../../src/apiserver/listwatch/encoded-object.ts";
import type { Storage, StoredRecord } from "../../src/apiserver/storage/storage.ts";

export interface TruthOptions {
  readonly storage: Storage;
  readonly now: () => number;
  /** Where the storage keeps the collection, or the part of it in one namespace. */
  readonly prefix: string;
  /** How much of a storage key comes before `namespace/name`. */
  readonly keyStart: number;
  /** Which objects belong to the collection. */
  readonly matches: (object: KubeObject) => boolean;
}

/** From `revision` on, which was written at `atMs`, the object was this; undefined is not there. */
interface Step {
  readonly revision: number;
  readonly atMs: number;
  readonly record: StoredRecord | undefined;
}

/** Invariant: the steps of a key rise in revision and instant, and no two absences follow. */
export class Truth {
  readonly #options: TruthOptions;
  readonly #steps = new Map<string, Step[]>();
  /** Of all keys, in order. */
  readonly #all: Step[] = [];

  /** Must begin before the first write. */
  constructor(options: TruthOptions) {
    this.#options = options;
    options.storage.watch(options.prefix, 1, {
      onEvent: (event) => {
        if (event.type === "put") {
          this.#wrote(event.record.key, event.record.revision, event.record);
        } else {
          this.#wrote(event.key, event.revision, undefined);
        }
      },
      onProgress: () => undefined,
      onLost: (error) => {
        throw error;
      },
    });
  }

  /** Every key that was ever there. */
  keys(): Iterable<string> {
    return this.#steps.keys();
  }

  /** The collection at a revision. */
  at(revision: number): ReadonlyMap<string, StoredRecord> {
    const state = new Map<string, StoredRecord>();
    for (const [key, steps] of this.#steps) {
      const record = steps.findLast((step) => step.revision <= revision)?.record;
      if (record !== undefined) {
        state.set(key, record);
      }
    }
    return state;
  }

  /** The collection now. */
  latest(): ReadonlyMap<string, StoredRecord> {
    return this.at(Number.POSITIVE_INFINITY);
  }

  /** The last change of a key up to an instant; undefined when there was none. */
  lastChange(key: string, untilMs: number): Step | undefined {
    return this.#steps.get(key)?.findLast((step) => step.atMs <= untilMs);
  }

  /** Whether the key was not there at some instant after this one. */
  wasAbsentAfter(key: string, sinceMs: number): boolean {
    const isAbsence = (step: Step): boolean => step.record === undefined && step.atMs > sinceMs;
    return this.#steps.get(key)?.some(isAbsence) === true;
  }

  /** When the first change after a revision was made. */
  firstChangeAfter(revision: number): number | undefined {
    const after = this.#all.findLastIndex((step) => step.revision <= revision) + 1;
    return this.#all[after]?.atMs;
  }

  #wrote(storageKey: string, revision: number, stored: StoredRecord | undefined): void {
    const { keyStart, matches, now } = this.#options;
    const key = storageKey.slice(keyStart);
    const steps = this.#steps.get(key) ?? [];
    this.#steps.set(key, steps);
    const record =
      stored !== undefined && matches(decodeRecord(stored).object) ? stored : undefined;
    if (record === undefined && steps.at(-1)?.record === undefined) {
      return;
    }
    const step: Step = { revision, atMs: now(), record };
    steps.push(step);
    this.#all.push(step);
  }
}
