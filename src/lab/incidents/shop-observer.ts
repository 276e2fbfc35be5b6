// The observer of an incident: it watches the cluster, receives the reports of every replica, and keeps the
// journeys of the shop's endpoints. It reads only what any observer of a cluster can read.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { Observer } from "../../observe/observer.ts";
import { type RoutedInput, RoutedWitness } from "../../observe/routed-witness.ts";
import type { Journey } from "../../timeline/journey.ts";
import type { Observation } from "../../timeline/observation.ts";
import type { Direction, Hop } from "../../timeline/witness.ts";
import { shopService } from "../shop.ts";

export interface ShopObserverOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called with each report of a replica before the observer handles it. */
  readonly onRouted?: ((replica: string, input: RoutedInput) => void) | undefined;
}

export interface LagQuery {
  readonly direction: Direction;
  readonly hop: Hop;
  /** A prefix of the witnesses' names; all witnesses of the hop unless given. */
  readonly witnesses?: string;
}

export class ShopObserver {
  readonly #observer: Observer;
  /** Journeys of the shop that are over. */
  readonly #over: Journey[] = [];
  readonly #onRouted: ShopObserverOptions["onRouted"];
  /** Each start and end of a replica's routing to an endpoint of the shop, in order. */
  readonly #routed: Observation[] = [];

  constructor({ client, cluster, onRouted, ...environment }: ShopObserverOptions) {
    this.#onRouted = onRouted;
    this.#observer = new Observer({
      ...environment,
      clusters: [{ cluster, client, form: "endpoints" }],
      accessClusters: [],
      onEvent: ({ type, journey }) => {
        if (type === "over" && isOfShop(journey)) this.#over.push(journey);
      },
    });
  }

  /** Changes are seen from now on; existing endpoints are no changes. */
  async start(): Promise<void> {
    this.#observer.start();
    await this.#observer.waitForSync();
  }

  stop(): Promise<void> {
    return this.#observer.stop();
  }

  /** A proxy replica joins the witnesses. */
  replica(name: string): RoutedWitness {
    const { sink } = this.#observer;
    const report = (said: Observation): void => {
      if (said.endpoint.service === shopService) this.#routed.push(said);
      sink.report(said);
    };
    const follow = sink.follow.bind(sink);
    const unfollow = sink.unfollow.bind(sink);
    const onInput = (input: RoutedInput): void => this.#onRouted?.(name, input);
    return new RoutedWitness({ replica: name, sink: { report, follow, unfollow }, onInput });
  }

  /** Every change of the shop's endpoints at the replicas, in order. */
  get routed(): readonly Observation[] {
    return this.#routed;
  }

  /** All journeys of the shop, finished ones first. */
  get journeys(): readonly Journey[] {
    return [...this.#over, ...this.#observer.journeys.pending().filter(isOfShop)];
  }

  /** The shop's changes since an instant, if every hop has shown them. */
  completeSince(instant: MonotonicMs): readonly Journey[] {
    return this.#over.filter(
      ({ outcome, origin }) => outcome === "complete" && origin.at >= instant,
    );
  }
}

/** The longest lag among the journeys; undefined when no witness showed any. */
export function longestLagMs(
  journeys: readonly Journey[],
  { direction, hop, witnesses = "" }: LagQuery,
): number | undefined {
  const lags = journeys
    .filter((journey) => journey.direction === direction)
    .flatMap((journey) => journey.hops)
    .filter((one) => one.hop === hop && one.witness.startsWith(witnesses))
    .flatMap(({ state }) => (state.type === "shown" ? [state.lagMs] : []));
  return lags.length === 0 ? undefined : Math.max(...lags);
}

function isOfShop({ endpoint }: Journey): boolean {
  return endpoint.service === shopService;
}
