// Clusters that did not answer for a while. An API server that was killed is often back within a second or
// two, and a person would miss that: an outage is a note for a while after its end.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { durationText } from "../environment/duration-text.ts";
import type { State } from "./api.ts";

/** An outage is noted for this long after its end. */
const notedMs = 60_000;
const outagesMax = 20;

interface Outage {
  readonly cluster: string;
  readonly beganAt: MonotonicMs;
  endedAt: MonotonicMs | undefined;
}

export class ClusterOutages {
  /** Oldest first; the last one of a cluster may still last. */
  #outages: Outage[] = [];

  /** To be called whenever the states of the clusters are read. */
  look(clusters: State["clusters"], now: MonotonicMs): void {
    for (const { name, state } of clusters) {
      const lasting = this.#outages.find(
        ({ cluster, endedAt }) => cluster === name && endedAt === undefined,
      );
      if (state === "unreachable" && lasting === undefined) {
        const outage = { cluster: name, beganAt: now, endedAt: undefined };
        this.#outages = [...this.#outages, outage].slice(-outagesMax);
      }
      if (state === "watching" && lasting !== undefined) lasting.endedAt = now;
    }
  }

  /** Outages that are over, each a sentence. */
  notes(now: MonotonicMs): readonly string[] {
    return this.#outages.flatMap(({ cluster, beganAt, endedAt }) =>
      endedAt === undefined || elapsedMs(endedAt, now) > notedMs
        ? []
        : [
            `${cluster} answers again. It did not for ${durationText(elapsedMs(beganAt, endedAt))}.`,
          ],
    );
  }
}
