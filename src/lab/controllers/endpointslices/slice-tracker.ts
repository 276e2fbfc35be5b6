// The versions of slices that this controller has written. While the cache shows older ones, a sync
// would work on old slices. A slice that is newer than expected was changed by another writer.
import type { ObjectMeta } from "../../../kube/kinds/kind.ts";
import type { WholeObject } from "../whole-object.ts";
import { serviceKeyOf } from "./published-slice.ts";

type Expectation = number | "deleted";

/** By service key and slice uid; `forget` and observed deletions remove entries. */
export class SliceTracker {
  readonly #services = new Map<string, Map<string, Expectation>>();

  /** We wrote this version. */
  wrote(serviceKey: string, uid: string, generation: number): void {
    this.#expect(serviceKey, uid, generation);
  }

  /** A slice that is already correct counts as written. */
  found(serviceKey: string, { metadata, generation }: WholeObject): void {
    if (this.#services.get(serviceKey)?.has(metadata.uid) === true) return;
    this.#expect(serviceKey, metadata.uid, generation);
  }

  expectDeletion(serviceKey: string, { uid }: Pick<ObjectMeta, "uid">): void {
    this.#expect(serviceKey, uid, "deleted");
  }

  /** Whether the cache lags behind what we wrote. */
  isStale(serviceKey: string, slices: readonly WholeObject[]): boolean {
    const expected = this.#services.get(serviceKey);
    if (expected === undefined) return false;
    const shown = new Set(slices.map(({ metadata }) => metadata.uid));
    const isBehind = slices.some(({ metadata, generation }) => {
      const expectation = expected.get(metadata.uid);
      return expectation === "deleted" || (expectation ?? 0) > generation;
    });
    return isBehind || [...expected].some(([uid, one]) => one !== "deleted" && !shown.has(uid));
  }

  /** Whether the slice differs from the last write, so that it needs a sync. */
  isUnexpected({ metadata, generation }: WholeObject): boolean {
    const expected = this.#services.get(serviceKeyOf(metadata))?.get(metadata.uid);
    return expected === undefined || expected === "deleted" || generation > expected;
  }

  /** Takes note of a deletion; false when it was not ours, so that the slice must be made again. */
  sawDeletion({ metadata }: WholeObject): boolean {
    const slices = this.#services.get(serviceKeyOf(metadata));
    const expected = slices?.get(metadata.uid);
    slices?.delete(metadata.uid);
    return expected === undefined || expected === "deleted";
  }

  forget(serviceKey: string): void {
    this.#services.delete(serviceKey);
  }

  #expect(serviceKey: string, uid: string, expectation: Expectation): void {
    const slices = this.#services.get(serviceKey) ?? new Map<string, Expectation>();
    this.#services.set(serviceKey, slices);
    slices.set(uid, expectation);
  }
}
