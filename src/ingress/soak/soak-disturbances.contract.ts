// For tests only: which clusters Lockstep may not hear of right now, because a fault is in the way,
// and since when nothing is. What Lockstep must know is counted from there. Some faults are in the way
// of pods alone: then it must know what the published endpoints say.
import type { Fault } from "../../simulation/faults.ts";

export type Effect = Pick<Fault, "describe" | "begin" | "end">;

export class Disturbances {
  readonly #now: () => number;
  readonly #disturbed = new Map<string, Disturbed>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The effect, noted as one that disturbs these clusters, or what they say of pods. */
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
    const { all, pods, changedMs } = this.#disturbed.get(cluster) ?? undisturbed;
    return all + pods > 0 ? Number.POSITIVE_INFINITY : changedMs;
  }

  /** Since when nothing but its pods is disturbed; infinite while that is not so. */
  onlyPodsSinceMs(cluster: string): number {
    const { all, pods, changedMs } = this.#disturbed.get(cluster) ?? undisturbed;
    return all === 0 && pods > 0 ? changedMs : Number.POSITIVE_INFINITY;
  }

  #change(clusters: readonly { readonly name: string }[], what: "all" | "pods", by: number): void {
    for (const { name } of clusters) {
      const known = this.#disturbed.get(name) ?? undisturbed;
      const changed = { ...known, [what]: known[what] + by, changedMs: this.#now() };
      this.#disturbed.set(name, changed);
    }
  }
}

/** How many faults disturb a cluster now, and when the last one began or ended. */
interface Disturbed {
  readonly all: number;
  readonly pods: number;
  readonly changedMs: number;
}

const undisturbed: Disturbed = { all: 0, pods: 0, changedMs: 0 };
