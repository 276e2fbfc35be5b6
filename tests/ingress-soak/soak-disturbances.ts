// The clusters whose events a fault keeps from Lockstep now, and since when there is no such fault.
// The bounds for Lockstep's knowledge count from there. Some faults affect pods alone: then it must
// know the published endpoints.
import type { Fault } from "../../src/simulation/faults.ts";

export type Effect = Pick<Fault, "describe" | "begin" | "end">;

export class Disturbances {
  readonly #now: () => number;
  readonly #disturbed = new Map<string, Disturbed>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The effect, noted as one that disturbs these clusters, or their reports of pods. */
  noted(
    clusters: readonly { readonly name: string }[],
    effect: Effect,
    what: "all" | "pods" = "all",
  ): Effect {
    return {
      describe: effect.describe,
      begin: (simulation) => {
        this.#change(clusters, what, 1);
        effect.begin(simulation);
      },
      end: (simulation) => {
        effect.end(simulation);
        this.#change(clusters, what, -1);
      },
    };
  }

  /** Infinite while something disturbs the cluster. */
  quietSinceMs(cluster: string): number {
    const { all, pods } = this.#of(cluster);
    return Math.max(all.quietSinceMs, pods.quietSinceMs);
  }

  /** Since when at most the pod events are disturbed; infinite while more is. */
  slicesQuietSinceMs(cluster: string): number {
    return this.#of(cluster).all.quietSinceMs;
  }

  /** When the last fault began that is in the way of pods; infinite while none is. */
  podsSilentSinceMs(cluster: string): number {
    const { pods } = this.#of(cluster);
    return pods.count > 0 ? pods.begunMs : Number.POSITIVE_INFINITY;
  }

  #of(cluster: string): Disturbed {
    return this.#disturbed.get(cluster) ?? { all: undisturbed, pods: undisturbed };
  }

  #change(clusters: readonly { readonly name: string }[], what: "all" | "pods", by: 1 | -1): void {
    for (const { name } of clusters) {
      const known = this.#of(name);
      const count = known[what].count + by;
      const quietSinceMs = count > 0 ? Number.POSITIVE_INFINITY : this.#now();
      const begunMs = by > 0 ? this.#now() : known[what].begunMs;
      this.#disturbed.set(name, { ...known, [what]: { count, quietSinceMs, begunMs } });
    }
  }
}

interface Disturbed {
  readonly all: Faults;
  readonly pods: Faults;
}

interface Faults {
  /** How many there are now. */
  readonly count: number;
  /** When the last one ended; infinite while there is one. */
  readonly quietSinceMs: number;
  /** When the last one began. */
  readonly begunMs: number;
}

const undisturbed: Faults = { count: 0, quietSinceMs: 0, begunMs: 0 };
