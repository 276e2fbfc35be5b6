// Judges whether a service lost most of its endpoints in one cluster at once, though they live and
// are published, because its pod watch alone said so.
import { isRoutedRow, lives, type Row, rowsOf, type SoakFacts } from "./soak-facts.ts";

/** Removals within this time count as one. */
const togetherMs = 5_000;

export class SoakMassRemoval {
  readonly #facts: SoakFacts;
  /** By uid, when Lockstep ceased to route to it. */
  readonly #leftMs = new Map<string, number>();

  constructor(facts: SoakFacts) {
    this.#facts = facts;
  }

  /** Called with every new truth of a service. */
  decided(before: readonly Row[], after: readonly Row[]): void {
    for (const { podUid = "", state } of after) {
      const wasRouted = before.some((row) => row.podUid === podUid && isRoutedRow(row));
      if (isRoutedRow({ state })) this.#leftMs.delete(podUid);
      else if (wasRouted) this.#leftMs.set(podUid, this.#facts.now());
    }
  }

  /** For each cluster that lost most of a service, who was lost. */
  lostAtOnce(service: string): readonly (readonly Row[])[] {
    const rows = rowsOf(this.#facts, service);
    const clusters = [...new Set(rows.map((row) => row.cluster))];
    return clusters.flatMap((cluster) => {
      const own = rows.filter((row) => row.cluster === cluster);
      const dropped = own.filter((row) => this.#isDropped(row));
      const staying = own.filter(({ state }) => state !== "out").length;
      return dropped.length <= 1 || dropped.length <= staying ? [] : [dropped];
    });
  }

  /** It lives and is published, and is out because the pod watch said otherwise just now. */
  #isDropped({ podUid = "", state, pod, published }: Row): boolean {
    const nowMs = this.#facts.now();
    const { sinceMs = 0 } = this.#facts.recordOf(podUid) ?? {};
    return (
      state === "out" &&
      pod === "not ready" &&
      published === "ready" &&
      nowMs - (this.#leftMs.get(podUid) ?? 0) < togetherMs &&
      nowMs - sinceMs < togetherMs &&
      lives(this.#facts, podUid)
    );
  }
}
