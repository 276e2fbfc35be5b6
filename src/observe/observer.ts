// The observer: witnesses at every hop report to one set of journeys on one clock. Listeners that
// show, count or keep journeys receive every step. It only reads, and works beside any ingress.
// Clusters are independent: one that does not answer is shown as such, and joins when it answers.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import type { JourneyLimits } from "../timeline/journey-limits.ts";
import { earlierChange, type JourneyRecord, type ObserverRun } from "../timeline/journey-record.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import type { TrafficReport } from "../timeline/witness.ts";
import { ClusterObservation, type ObservedForm } from "./cluster-observation.ts";
import type { ClusterStatus } from "./cluster-status.ts";
import { copyOrigin, type NamedCluster } from "./copy-origin.ts";
import { ObserverCore } from "./observer-core.ts";
import type { ObserverTap } from "./observer-tap.ts";
import { pacedClient } from "./paced-client.ts";
import type { ClusterPermissions } from "./permissions.ts";
import type { ClusterPreview } from "./preview.ts";
import type { RoutedEndpoint, RoutedWitness } from "./routed-witness.ts";
import { type ServiceBounds, watchedNamespaces } from "./service-filter.ts";

/** A cluster to read, under the name that journeys give it. */
export interface ObservedCluster extends NamedCluster {
  readonly client: KubeClient;
  /** The form of the published endpoints; `auto` unless given. */
  readonly form?: ObservedForm;
}

export interface ObserverOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log">,
    ServiceBounds {
  /** In which pods run and are published. */
  readonly clusters: readonly ObservedCluster[];
  /** Where copies of those clusters' endpoints are looked for; a cluster may be in both. */
  readonly accessClusters: readonly ObservedCluster[];
  /** Called synchronously with every step of every journey. */
  readonly onEvent: (event: JourneyEvent) => void;
  readonly limits?: JourneyLimits;
  /** Requests a second to each cluster, whatever they are for; an open watch is none. */
  readonly maxQps?: number;
  /** Nodes are watched too, for causes; unless given when all namespaces are. */
  readonly nodes?: boolean;
  readonly metrics?: Registry;
  /** Names the run; a new one that begins now unless given. */
  readonly run?: ObserverRun;
  readonly tap?: ObserverTap;
  /** Changes that were in flight when an earlier run ended. */
  readonly earlier?: readonly JourneyRecord[];
  /** Only the tap matters: no journeys are folded, and pods are watched without services too. */
  readonly tapOnly?: boolean;
}

/** Without journeys nothing is kept for each endpoint beside what the watches and witnesses keep. */
const noJourneys: ObservationSink = {
  report: () => undefined,
  follow: () => undefined,
  unfollow: () => undefined,
};

/** How often stuck changes are looked for, and how old what the watches know is. */
const lookEveryMs = 1_000;

export class Observer {
  readonly #options: ObserverOptions;
  readonly #core: ObserverCore;
  readonly #clusters: readonly ClusterObservation[];
  /** By cluster; paced. */
  readonly #clients = new Map<string, KubeClient>();
  /** Names this run, and ties its monotonic clock to the wall clock. */
  readonly run: ObserverRun;
  #cancelLook: CancelTimer | undefined;
  #isStopped = false;

  constructor(options: ObserverOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.run = options.run ?? {
      name: random.uuid(),
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
    };
    this.#core = new ObserverCore({
      ...options,
      run: this.run,
      clusters: options.clusters.map(({ cluster }) => cluster),
      watermark: (name, hop, service) => this.#observationOf(name)?.watermark(hop, service),
    });
    this.#clusters = this.#observations();
  }

  /** Counts, ages and pending changes, and how far the clusters' clocks are from ours. */
  get journeys(): ObserverCore["journeys"] {
    return this.#core.journeys;
  }

  /** All clusters with the client for further requests to each, which `maxQps` bounds too. */
  get clients(): ReadonlyMap<string, KubeClient> {
    return this.#clients;
  }

  /** Where further witnesses report to: proxies and their access logs. */
  get sink(): ObservationSink {
    return this.#core.sink;
  }

  /** How it stands with each cluster, in the order they were given. */
  clusters(): readonly ClusterStatus[] {
    return this.#clusters.map((cluster) => cluster.status());
  }

  /** Whether some cluster has this service: names in proxies and logs can mean several. */
  isService(service: string): boolean {
    return this.#core.isService(service);
  }

  /** The services that have an endpoint there: a proxy may name a backend as it likes. */
  servicesAt(endpoint: RoutedEndpoint): readonly string[] {
    return this.#core.servicesAt(endpoint);
  }

  /** Whether it is the address of the service itself, to which a proxy may send all requests. */
  isServiceAddress(service: string, address: string): boolean {
    return this.#clusters.some((one) => one.isServiceAddress(service, address));
  }

  /** A proxy replica joins the witnesses. */
  replica(name: string): RoutedWitness {
    const { tap } = this.#options;
    return this.#core.replica(name, tap && ((input) => tap.routed(name, input)));
  }

  /** A request was sent to an address, as a proxy or its access log tells. */
  traffic(report: TrafficReport): void {
    this.#core.traffic(report);
  }

  /**
   * The permissions in each cluster. It never rejects: a cluster that cannot be asked, or has not
   * answered when the signal aborts, has a problem in its answer.
   */
  permissions(signal: AbortSignal): Promise<readonly ClusterPermissions[]> {
    return Promise.all(this.#clusters.map((cluster) => cluster.permissions(signal)));
  }

  /** The planned lists and watches of each cluster, and their size; as `permissions`. */
  preview(signal: AbortSignal): Promise<readonly ClusterPreview[]> {
    return Promise.all(this.#clusters.map((cluster) => cluster.preview(signal)));
  }

  /** Begins to watch every cluster, and waits for none; a second call does nothing. */
  start(): void {
    if (this.#cancelLook !== undefined || this.#isStopped) return;
    this.#remember();
    for (const cluster of this.#clusters) cluster.start();
    this.#lookLater();
  }

  /**
   * Resolves when every cluster has listed all that may be read: from then on changes are seen.
   * Rejects when the signal aborts or the observer is stopped before.
   */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#clusters.map((cluster) => cluster.waitForSync(signal)));
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelLook?.();
    await Promise.all(this.#clusters.map((cluster) => cluster.stop()));
    this.#core.end();
  }

  #remember(): void {
    const { tap, earlier = [] } = this.#options;
    if (earlier.length === 0) return;
    const changes = earlier.map((record) => earlierChange(record, this.run));
    tap?.earlier(changes);
    this.#core.remember(changes);
  }

  #observationOf(name: string): ClusterObservation | undefined {
    return this.#clusters.find(({ cluster }) => cluster === name);
  }

  #observations(): readonly ClusterObservation[] {
    const { clusters, accessClusters, tapOnly = false } = this.#options;
    const business = byName(clusters);
    const access = byName(accessClusters);
    const namespaces = watchedNamespaces(this.#options);
    if (namespaces?.length === 0) {
      throw new RangeError("no given service is in one of the given namespaces");
    }
    const others = accessClusters.filter(({ cluster }) => !business.has(cluster));
    return [...clusters, ...others].map((one) => {
      const { cluster, form = "auto" } = one;
      const client = pacedClient(one.client, this.#options);
      this.#clients.set(cluster, client);
      return new ClusterObservation({
        ...this.#options,
        cluster,
        form,
        client,
        isBusiness: business.has(cluster),
        isAccess: access.has(cluster),
        namespaces,
        nodes: this.#options.nodes ?? namespaces === undefined,
        originOf: copyOrigin(cluster, clusters),
        sink: tapOnly ? noJourneys : this.#core.sink,
      });
    });
  }

  #lookLater(): void {
    const { timers, tap } = this.#options;
    this.#cancelLook = timers.after(lookEveryMs, () => {
      for (const cluster of this.#clusters) cluster.look();
      tap?.looked();
      this.#core.look();
      this.#lookLater();
    });
  }
}

function byName(clusters: readonly ObservedCluster[]): ReadonlyMap<string, ObservedCluster> {
  const named = new Map(clusters.map((one) => [one.cluster, one]));
  if (named.size === clusters.length) return named;
  const names = clusters.map(({ cluster }) => cluster);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  throw new RangeError(`the cluster ${twice} is given twice: each is observed once`);
}
