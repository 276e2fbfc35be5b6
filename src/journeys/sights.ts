// What each witness has shown of one endpoint: where it stands among the endpoint's changes.
import type { MonotonicMs } from "../environment/clock.ts";
import { type Direction, type Witness, type WitnessReport, witnessId } from "./witness.ts";

/** What one witness has shown of the endpoint. */
export interface Sight {
  readonly witness: Witness;
  readonly direction: Direction;
  readonly at: MonotonicMs;
  /** It was told late: it has been so since some time after this. */
  readonly notBefore: MonotonicMs | undefined;
  /** It was so when the witness began, so `at` is not when it became so. */
  readonly isBaseline: boolean;
  /** The newest journey that it is past: it has shown it, or agrees and is taken to have left it out. */
  readonly passed: number;
  /** The newest that it has really shown; 0 when none. */
  readonly shown: number;
  /** The witness knows addresses and not whose they are. */
  readonly byAddress: boolean;
  /** It was taken to have left changes out because it agreed without having shown them. */
  readonly isAssumed: boolean;
  /** It then said this: it shows what it seemed to have left out, or is ahead of the pod watch. */
  readonly unclear: WitnessReport | undefined;
}

/** Invariant: at most one of each witness. They are few, so a list is smaller than a map. */
export class Sights {
  readonly #sights: Sight[] = [];

  /** Whether the endpoint is gone for everybody. */
  get areOut(): boolean {
    return this.#sights.every(({ direction }) => direction === "leave");
  }

  /** A copy: what is put in later is not in it. */
  all(): readonly Sight[] {
    return this.#sights.slice();
  }

  of(witness: Witness): Sight | undefined {
    const id = witnessId(witness);
    return this.#sights.find((sight) => witnessId(sight.witness) === id);
  }

  delete(witness: Witness): void {
    const id = witnessId(witness);
    const index = this.#sights.findIndex((sight) => witnessId(sight.witness) === id);
    if (index !== -1) this.#sights.splice(index, 1);
  }

  put(sight: Sight): void {
    const id = witnessId(sight.witness);
    const index = this.#sights.findIndex(({ witness }) => witnessId(witness) === id);
    if (index === -1) this.#sights.push(sight);
    else this.#sights[index] = sight;
  }
}
