// Changes that an earlier run of the observer left in flight, as its history has them. Where this run finds
// the same disagreement in its first lists, it is the same change: it goes on with its start and its record.
import type { MonotonicMs } from "../environment/clock.ts";
import { type Direction, isCompatible, type WitnessedEndpoint } from "./witness.ts";

export interface EarlierChange {
  /** The id of its record. */
  readonly record: string;
  readonly endpoint: WitnessedEndpoint;
  readonly direction: Direction;
  /** Its origin by the clock of this run, so usually before the start of that clock. */
  readonly since: MonotonicMs;
  readonly podName: string | undefined;
  readonly cause: string | undefined;
}

export class EarlierChanges {
  /** By service, address and port. */
  readonly #changes = new Map<string, EarlierChange[]>();

  add(changes: readonly EarlierChange[]): void {
    for (const change of changes) {
      const key = placeKey(change.endpoint);
      const known = this.#changes.get(key) ?? [];
      known.push(change);
      this.#changes.set(key, known);
    }
  }

  /** The latest one of the endpoint, once; a source that knows only addresses names neither pod nor cluster. */
  take(endpoint: WitnessedEndpoint, direction: Direction): EarlierChange | undefined {
    const key = placeKey(endpoint);
    const known = this.#changes.get(key) ?? [];
    const found = known
      .filter((one) => one.direction === direction && isCompatible(one.endpoint, endpoint))
      .toSorted((a, b) => a.since - b.since)
      .at(-1);
    if (found === undefined) return undefined;
    const left = known.filter((one) => one !== found);
    if (left.length > 0) this.#changes.set(key, left);
    else this.#changes.delete(key);
    return found;
  }
}

function placeKey({ service, address, port }: WitnessedEndpoint): string {
  return `${service} ${address} ${port}`;
}
