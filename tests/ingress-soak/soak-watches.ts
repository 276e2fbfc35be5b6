// How far Lockstep's own watches of a cluster can be relied on, by their own word, and since when.
// They are looked at as often as Lockstep itself looks, so a bound that counts from here leaves two
// looks for it.

import type { IngressLoop } from "../../src/ingress/ingress-loop.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import {
  type ClusterWatch,
  clusterWatches,
  freshnessCheckMs,
} from "../../src/sources/cluster-source.ts";
import type { WatchStatus } from "../../src/sources/watch-status.ts";

export interface SoakWatchesOptions {
  readonly simulation: Simulation;
  /** The running loop; undefined while Lockstep does not run. */
  readonly loop: () => IngressLoop | undefined;
}

type WatchState = WatchStatus["state"];

interface Seen {
  readonly state: WatchState;
  readonly sinceMs: number;
}

export class SoakWatches {
  readonly #options: SoakWatchesOptions;
  /** By cluster and watch, as it was when it was last looked at; none while Lockstep does not run. */
  readonly #seen = new Map<string, Seen>();
  #isOver = false;

  constructor(options: SoakWatchesOptions) {
    this.#options = options;
  }

  /** Goes on looking until it is stopped. */
  look(clusters: readonly string[]): void {
    if (this.#isOver) return;
    const { simulation } = this.#options;
    for (const cluster of clusters) {
      for (const watch of clusterWatches) this.#look(cluster, watch);
    }
    simulation.at(simulation.now() + freshnessCheckMs, () => this.look(clusters));
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Since when the pods were fresh when they were last looked at; infinite if they were not. */
  freshSinceMs(cluster: string): number {
    return this.#sinceMs(cluster, "pods", "fresh");
  }

  /** Since when the watch is as asked; infinite while it is not. */
  isSinceMs(cluster: string, watch: ClusterWatch, state: WatchState): number {
    if (this.#stateOf(cluster, watch) !== state) return Number.POSITIVE_INFINITY;
    return this.#sinceMs(cluster, watch, state);
  }

  #look(cluster: string, watch: ClusterWatch): void {
    const key = `${cluster} ${watch}`;
    const state = this.#stateOf(cluster, watch);
    if (state === undefined) this.#seen.delete(key);
    else if (this.#seen.get(key)?.state !== state) {
      this.#seen.set(key, { state, sinceMs: this.#options.simulation.now() });
    }
  }

  #sinceMs(cluster: string, watch: ClusterWatch, state: WatchState): number {
    const seen = this.#seen.get(`${cluster} ${watch}`);
    return seen?.state === state ? seen.sinceMs : Number.POSITIVE_INFINITY;
  }

  #stateOf(name: string, watch: ClusterWatch): WatchState | undefined {
    const source = this.#options.loop()?.sources.find(({ cluster }) => cluster === name);
    return source?.watch(watch).state;
  }
}
