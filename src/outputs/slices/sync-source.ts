// A business cluster as the syncer reads it: the state that the ingress has of a cluster too, the zones
// of its nodes, and when something last happened to each service.
import type { Registry } from "prom-client";
import type { OfferSource } from "../../decide/syncing/service-offers.ts";
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Projected } from "../../kube/kinds/kind.ts";
import type { Pod } from "../../kube/kinds/pod.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { ServiceExport } from "../../kube/kinds/service-export.ts";
import type { KnownBefore } from "../../kube/reflector/reflector-removals.ts";
import type { Lane } from "../../kube/workqueue/workqueue.ts";
import { ClusterSource, type ClusterWatch } from "../../sources/cluster-source.ts";
import type { Departure } from "../../sources/departed-pods.ts";
import { NodeZones } from "../../sources/node-zones.ts";
import type { PublishedObjects } from "../../sources/published-watch.ts";
import { ServiceExports } from "../../sources/service-exports.ts";
import type { WatchStatus } from "../../sources/watch-status.ts";

export interface SyncSourceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly cluster: string;
  readonly client: KubeClient;
  readonly knownBefore: KnownBefore;
  /** Whether ServiceExports are watched. */
  readonly needsExports: boolean;
  readonly unreachableAfterMs: () => number;
  /** Called synchronously with `namespace/name`; the first lists are no news but a resync. */
  readonly onService: (key: string, lane: Lane) => void;
  /** Any service of the cluster may need a new decision. */
  readonly onCluster: () => void;
  readonly metrics?: Registry;
}

export interface SourceReport {
  readonly cluster: string;
  readonly isListed: boolean;
  readonly isUnreachable: boolean;
  readonly services: number;
  /** Everything in it was known to be up to date so long ago; null before the first time. */
  readonly currentMsAgo: number | null;
  readonly watches: readonly {
    readonly name: ClusterWatch;
    readonly state: WatchStatus["state"];
    readonly detail: string;
  }[];
}

const watchNames = ["services", "published", "pods"] as const;

/** So long the first decision waits for the zones; then those that slices name count. */
const zonesWithinMs = 10_000;

/** No event says that the last of several watches has been listed or refused. */
const listedCheckMs = 100;

export class SyncSource implements OfferSource {
  readonly cluster: string;
  readonly #options: SyncSourceOptions;
  readonly #state: ClusterSource;
  readonly #zones: NodeZones;
  readonly #exports: ServiceExports | undefined;
  readonly #lastEvents = new Map<string, MonotonicMs>();
  #startedAtMs: MonotonicMs | undefined;
  #cancelCheck: CancelTimer | undefined;

  constructor(options: SyncSourceOptions) {
    const { clock, onCluster } = options;
    this.#options = options;
    this.cluster = options.cluster;
    this.#state = new ClusterSource({
      ...options,
      onService: (key) => this.#changed(key),
      // A cluster that is listed for the first time may lack services that were copied from it
      // before.
      onFreshness: onCluster,
    });
    const { timers, random, log, client, cluster, metrics } = options;
    const environment = { clock, timers, random, log };
    const registry = metrics === undefined ? {} : { metrics };
    this.#zones = new NodeZones({
      ...environment,
      client,
      cluster,
      onZones: onCluster,
      ...registry,
    });
    if (options.needsExports) {
      const onExport = (key: string): void => this.#changed(key);
      this.#exports = new ServiceExports({
        ...environment,
        client,
        cluster,
        onExport,
        // Services that are not exported any more are known only now.
        onKnown: onCluster,
        ...registry,
      });
    }
  }

  get isListed(): boolean {
    return this.#state.isListed && this.#areZonesKnown;
  }

  get isUnreachable(): boolean {
    return this.#state.isUnreachable;
  }

  /** Everything that was true at this instant has been seen; undefined before the first lists. */
  get currentAtMs(): MonotonicMs | undefined {
    const times: MonotonicMs[] = [];
    for (const name of watchNames) {
      const { state, currentAtMs } = this.#state.watch(name);
      if (name === "pods" && state === "refused") continue;
      if (currentAtMs === undefined) return undefined;
      times.push(currentAtMs);
    }
    return times.toSorted((one, other) => one - other)[0];
  }

  /** For people and machines. */
  get report(): SourceReport {
    const { cluster, isListed, isUnreachable, currentAtMs } = this;
    const watches = watchNames.map((name) => {
      const { state, detail } = this.#state.watch(name);
      return { name, state, detail };
    });
    const now = this.#options.clock.monotonicMs();
    const currentMsAgo = currentAtMs === undefined ? null : elapsedMs(currentAtMs, now);
    const { services } = this.#state.counts;
    return { cluster, isListed, isUnreachable, services, currentMsAgo, watches };
  }

  /** Why it is not known yet, in words; undefined when it is. */
  get waitingFor(): string | undefined {
    if (this.isListed) return undefined;
    const details = watchNames.map((name) => this.#state.watch(name).detail);
    return details.find((detail) => detail !== "") ?? "not listed yet";
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#state.service(namespace, name);
  }

  pod(namespace: string, name: string): Pod | undefined {
    return this.#state.pod(namespace, name);
  }

  podsOf(service: Service): Iterable<Pod> {
    return this.#state.podsOf(service);
  }

  claimantsAt(address: string, uid: string): readonly Pod[] | undefined {
    return this.#state.claimantsAt(address, uid);
  }

  departed(uid: string): Departure | undefined {
    return this.#state.departed(uid);
  }

  publishedOf(namespace: string, name: string): PublishedObjects {
    return this.#state.publishedOf(namespace, name);
  }

  seenAtMs(object: Projected): MonotonicMs {
    return this.#state.seenAtMs(object);
  }

  watch(name: ClusterWatch): WatchStatus {
    return this.#state.watch(name);
  }

  isExported(namespace: string, name: string): boolean | undefined {
    return this.#exports === undefined ? false : this.#exports.isExported(namespace, name);
  }

  exportOf(namespace: string, name: string): ServiceExport | undefined {
    return this.#exports?.exportOf(namespace, name);
  }

  /** The version of the API in which exports are watched; undefined while they are not. */
  get exportVersion(): string | undefined {
    return this.#exports?.version;
  }

  zoneOf(node: string): string | undefined {
    return this.#zones.zoneOf(node);
  }

  lastEventAtMs(namespace: string, name: string): MonotonicMs | undefined {
    return this.#lastEvents.get(`${namespace}/${name}`);
  }

  /** Nothing of the service is left, so its last event is of no use any more. */
  forget(key: string): void {
    this.#lastEvents.delete(key);
  }

  start(): void {
    this.#startedAtMs ??= this.#options.clock.monotonicMs();
    this.#zones.start();
    this.#exports?.start();
    this.#state.start();
    this.#awaitListed();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#cancelCheck?.();
    await Promise.all([this.#state.stop(), this.#zones.stop(), this.#exports?.stop()]);
  }

  #changed(key: string): void {
    const { clock, onService } = this.#options;
    this.#lastEvents.set(key, clock.monotonicMs());
    onService(key, this.isListed ? "fresh" : "resync");
  }

  #awaitListed(): void {
    if (this.isListed) {
      this.#options.onCluster();
      return;
    }
    const { timers } = this.#options;
    this.#cancelCheck = timers.after(listedCheckMs, () => this.#awaitListed());
  }

  get #areZonesKnown(): boolean {
    if (this.#zones.isSettled) return true;
    if (this.#startedAtMs === undefined) return false;
    return elapsedMs(this.#startedAtMs, this.#options.clock.monotonicMs()) >= zonesWithinMs;
  }
}
