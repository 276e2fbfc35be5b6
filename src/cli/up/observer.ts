// The eyes of the story: witnesses at every hop report to one set of journeys, and whoever wants to
// show them hears of every step. It is what `lockstep watch` would see, and reads nothing else.
import { sourceClusterOf } from "../../decide/syncing/synced-names.ts";
import type { Environment } from "../../environment/environment.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import { ClusterWitness } from "../../journeys/cluster-witness.ts";
import type { Journey } from "../../journeys/journey.ts";
import { type JourneyEvent, Journeys } from "../../journeys/journeys.ts";
import { RoutedWitness } from "../../journeys/routed-witness.ts";
import { SyncedWitness } from "../../journeys/synced-witness.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { serviceNameOf } from "../../kube/kinds/endpoint-slice.ts";
import type { PublishedForm } from "../../sources/published-form.ts";

export interface WatchedCluster {
  readonly cluster: string;
  readonly client: KubeClient;
  readonly form: PublishedForm;
}

export interface ObserverOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly business: readonly WatchedCluster[];
  readonly access: Pick<WatchedCluster, "cluster" | "client">;
  readonly onEvent: (event: JourneyEvent) => void;
}

/** How often stuck changes are looked for. */
const advanceEveryMs = 1_000;

/** Journeys that are over; enough for the findings that are made of them. */
const keptMax = 500;

export class Observer {
  readonly #options: ObserverOptions;
  readonly #journeys: Journeys;
  readonly #witnesses: readonly (ClusterWitness | SyncedWitness)[];
  #over: Journey[] = [];
  #cancelAdvance: CancelTimer | undefined;

  constructor(options: ObserverOptions) {
    this.#options = options;
    this.#journeys = new Journeys({ onEvent: (event) => this.#heard(event) });
    const { business, access } = options;
    const shared = { ...options, sink: this.#journeys };
    this.#witnesses = [
      ...business.map((cluster) => new ClusterWitness({ ...shared, ...cluster })),
      new SyncedWitness({
        ...shared,
        ...access,
        originOf: (slice) => {
          const cluster = sourceClusterOf(slice);
          const name = serviceNameOf(slice);
          if (cluster === undefined || name === undefined) return undefined;
          return { cluster, service: `${slice.metadata.namespace}/${name}` };
        },
      }),
    ];
  }

  /** Every change that was observed, those that are pending included. */
  get journeys(): readonly Journey[] {
    return [...this.#over, ...this.#journeys.pending()];
  }

  /** A proxy replica joins the witnesses. */
  replica(name: string): RoutedWitness {
    return new RoutedWitness({ replica: name, sink: this.#journeys });
  }

  async start(signal: AbortSignal): Promise<void> {
    for (const witness of this.#witnesses) witness.start();
    for (const witness of this.#witnesses) await witness.waitForSync(signal);
    this.#advanceLater();
  }

  async stop(): Promise<void> {
    this.#cancelAdvance?.();
    await Promise.all(this.#witnesses.map((witness) => witness.stop()));
  }

  #advanceLater(): void {
    const { timers, clock } = this.#options;
    this.#cancelAdvance = timers.after(advanceEveryMs, () => {
      this.#journeys.advance(clock.monotonicMs());
      this.#advanceLater();
    });
  }

  #heard(event: JourneyEvent): void {
    if (event.type === "over") {
      this.#over.push(event.journey);
      if (this.#over.length > keptMax) this.#over = this.#over.slice(-keptMax);
    }
    this.#options.onEvent(event);
  }
}
