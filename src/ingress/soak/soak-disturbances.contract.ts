// For tests only: which clusters Lockstep may not hear of right now, because a fault is in the way,
// and since when nothing is. What Lockstep must know is counted from there.
import type { Fault } from "../../simulation/faults.ts";

export type Effect = Pick<Fault, "describe" | "begin" | "end">;

export class Disturbances {
  readonly #now: () => number;
  /** By cluster: how many faults disturb it now, and when the last one began or ended. */
  readonly #disturbed = new Map<string, { readonly count: number; readonly changedMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The effect, noted as one that disturbs these clusters. */
  noted(clusters: readonly { readonly name: string }[], effect: Effect): Effect {
    return {
      describe: effect.describe,
      begin: (simulation) => {
        this.#change(clusters, 1);
        effect.begin(simulation);
      },
      end: (simulation) => {
        effect.end(simulation);
        this.#change(clusters, -1);
      },
    };
  }

  /** Infinite while something disturbs the cluster. */
  quietSinceMs(cluster: string): number {
    const { count, changedMs } = this.#disturbed.get(cluster) ?? { count: 0, changedMs: 0 };
    return count > 0 ? Number.POSITIVE_INFINITY : changedMs;
  }

  #change(clusters: readonly { readonly name: string }[], by: number): void {
    for (const { name } of clusters) {
      const { count } = this.#disturbed.get(name) ?? { count: 0 };
      this.#disturbed.set(name, { count: count + by, changedMs: this.#now() });
    }
  }
}
