// The observer: witnesses at every hop report to one set of journeys on one clock, and whoever wants
// to show, count or keep them hears of every step. It reads only, and works beside any ingress.
import { sourceClusterOf } from "../decide/syncing/synced-names.ts";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { ClusterWitness } from "../journeys/cluster-witness.ts";
import type { ObserverRun } from "../journeys/journey-record.ts";
import { type JourneyEvent, Journeys, type JourneysOptions } from "../journeys/journeys.ts";
import { RoutedWitness } from "../journeys/routed-witness.ts";
import { SyncedWitness } from "../journeys/synced-witness.ts";
import type { WitnessSink } from "../journeys/witness.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { serviceNameOf } from "../kube/kinds/endpoint-slice.ts";
import type { PublishedForm } from "../sources/published-form.ts";

/** A cluster in which pods run and are published. */
export interface ObservedCluster {
  readonly cluster: string;
  readonly client: KubeClient;
  readonly form: PublishedForm;
}

export interface ObserverOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly clusters: readonly ObservedCluster[];
  /** Where copies of those clusters' endpoints are looked for; a cluster may be in both. */
  readonly accessClusters: readonly Pick<ObservedCluster, "cluster" | "client">[];
  /** Called synchronously with every step of every journey. */
  readonly onEvent: (event: JourneyEvent) => void;
  readonly limits?: Pick<JourneysOptions, "budgetMs" | "endpointsMax" | "pendingMax">;
}

/** How often stuck changes are looked for. */
const advanceEveryMs = 1_000;

export class Observer {
  readonly #options: ObserverOptions;
  readonly #journeys: Journeys;
  readonly #witnesses: readonly (ClusterWitness | SyncedWitness)[];
  /** Names this run, and ties its monotonic clock to the wall clock. */
  readonly run: ObserverRun;
  #cancelAdvance: CancelTimer | undefined;

  constructor(options: ObserverOptions) {
    this.#options = options;
    const { clusters, accessClusters, clock, random, onEvent, limits } = options;
    this.run = {
      name: random.uuid(),
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
    };
    this.#journeys = new Journeys({ onEvent, ...limits });
    const shared = { ...options, sink: this.#journeys };
    this.#witnesses = [
      ...clusters.map((cluster) => new ClusterWitness({ ...shared, ...cluster })),
      ...accessClusters.map(
        (cluster) => new SyncedWitness({ ...shared, ...cluster, originOf: copiedService }),
      ),
    ];
  }

  /** Counts, ages and pending changes. */
  get journeys(): Pick<Journeys, "counts" | "oldestPending" | "pending"> {
    return this.#journeys;
  }

  /** Where further witnesses report to: proxies and their access logs. */
  get sink(): WitnessSink {
    return this.#journeys;
  }

  /** A proxy replica joins the witnesses. */
  replica(name: string): RoutedWitness {
    return new RoutedWitness({ replica: name, sink: this.#journeys });
  }

  /** Resolves when every watch has listed: from then on changes are seen. */
  async start(signal: AbortSignal): Promise<void> {
    for (const witness of this.#witnesses) witness.start();
    for (const witness of this.#witnesses) await witness.waitForSync(signal);
    this.#advanceLater();
  }

  /** Idempotent; it cannot be started again. */
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
}

/** The service that a slice made by `lockstep sync` is a copy of. */
function copiedService(slice: Parameters<typeof sourceClusterOf>[0]) {
  const cluster = sourceClusterOf(slice);
  const name = serviceNameOf(slice);
  if (cluster === undefined || name === undefined) return undefined;
  return { cluster, service: `${slice.metadata.namespace}/${name}` };
}
