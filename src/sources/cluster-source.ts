// The state of one cluster: its services, their pods, and the endpoints that its controllers have
// published. It stores events, reports which services a change may concern, and always shows how
// fresh each watch is.
import type { Registry } from "prom-client";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { apiServersService } from "../kube/client/direct-client.ts";
import { objectKey, type Projected } from "../kube/kinds/kind.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { type Service, serviceKind } from "../kube/kinds/service.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { KnownBefore } from "../kube/reflector/reflector-removals.ts";
import type { Change } from "../kube/store/store-change.ts";
import { apiServersIn } from "./api-servers.ts";
import { ClusterReach, type ClusterReachOptions } from "./cluster-reach.ts";
import { DepartedPods, type Departure } from "./departed-pods.ts";
import { PodAddresses } from "./pod-addresses.ts";
import { type PublishedObjects, PublishedWatch } from "./published-watch.ts";
import { ServicePods, selectorIndex } from "./service-pods.ts";
import { type WatchStatus, watchStatus } from "./watch-status.ts";

export interface ClusterSourceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log">,
    ClusterReachOptions {
  readonly client: KubeClient;
  readonly cluster: string;
  /**
   * Called synchronously with `namespace/name` when this cluster's data about the service may have
   * changed.
   */
  readonly onService: (key: string) => void;
  /**
   * A watch became or stopped being fresh, so every service of the cluster may need a new decision.
   */
  readonly onFreshness: () => void;
  /** How many objects the watches of an earlier process showed; nothing when absent. */
  readonly knownBefore?: KnownBefore;
  readonly metrics?: Registry;
}

export type ClusterWatch = "services" | "pods" | "published";

export const clusterWatches: readonly ClusterWatch[] = ["services", "pods", "published"];

/** Freshness changes with time, without an event: it is checked this often. */
export const freshnessCheckMs = 1_000;

/** How long the pods wait for the slices to be listed before them; see `#run`. */
const slicesFirstMs = 5_000;

/** The rules of truth that need pods, by what they do. */
const lostWithoutPods: readonly string[] = [
  "endpoints change only when the EndpointSlices change",
  "endpoints are not kept when their node flaps",
  "an address that moves to another pod is not detected",
  "there is no protection against slices that lose most endpoints at once",
];

export class ClusterSource {
  readonly cluster: string;
  readonly #options: ClusterSourceOptions;
  readonly #services: Reflector<Service, "selector">;
  readonly #pods: Reflector<Pod>;
  readonly #published: PublishedWatch;
  readonly #servicePods: ServicePods;
  readonly #departed: DepartedPods;
  readonly #addresses = new PodAddresses();
  readonly #reach: ClusterReach;
  /** When each version in the stores was delivered; forgets with the stores. */
  readonly #seenAt = new WeakMap<Projected, MonotonicMs>();
  readonly #abort = new AbortController();
  /** The state of each watch when it was last looked at; undefined before. */
  #states: string | undefined;
  #hasReportedLoss = false;
  #running: Promise<void> | undefined;
  #cancelCheck: CancelTimer | undefined;

  constructor(options: ClusterSourceOptions) {
    this.#options = options;
    this.cluster = options.cluster;
    this.#departed = new DepartedPods(options);
    this.#reach = new ClusterReach(options);
    this.#services = new Reflector({
      ...options,
      kind: serviceKind,
      indexes: { selector: selectorIndex },
      handlers: [(change) => this.#serviceChanged(change)],
    });
    this.#pods = new Reflector({
      ...options,
      kind: podKind,
      indexes: {},
      // Rule 10 of truth probes the endpoints of pods that a list has lost, which is sooner known.
      removals: "at once",
      handlers: [(change) => this.#podChanged(change)],
    });
    this.#published = new PublishedWatch({
      ...options,
      onChange: (change, services) => this.#publishedChanged(change, services),
    });
    this.#servicePods = new ServicePods({ services: this.#services.store, pods: this.#pods.store });
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#services.store.get(namespace, name);
  }

  pod(namespace: string, name: string): Pod | undefined {
    return this.#pods.store.get(namespace, name);
  }

  podsOf(service: Service): Iterable<Pod> {
    return this.#servicePods.podsOf(service);
  }

  /** How the pod watch showed that the pod with this uid is gone; undefined when it did not. */
  departed(uid: string): Departure | undefined {
    return this.#departed.get(uid);
  }

  /** All pods that have this address now, where that is more or other than the one of this uid. */
  claimantsAt(address: string, uid: string): readonly Pod[] | undefined {
    return this.#addresses.claimantsAt(address, uid);
  }

  publishedOf(namespace: string, name: string): PublishedObjects {
    return this.#published.of(namespace, name);
  }

  /** The slices of a ServiceImport in this cluster. */
  importedOf(namespace: string, name: string): PublishedObjects {
    return this.#published.importedOf(namespace, name);
  }

  /** When this version was first seen; now, for one that is about to be delivered. */
  seenAtMs(object: Projected): MonotonicMs {
    return this.#seenAt.get(object) ?? this.#options.clock.monotonicMs();
  }

  watch(name: ClusterWatch): WatchStatus {
    switch (name) {
      case "services":
        return watchStatus(this.#services);
      case "pods":
        return watchStatus(this.#pods);
      case "published":
        return this.#published.status;
    }
  }

  /** How much it has, as far as is known. */
  get counts(): { readonly services: number; readonly pods: number } {
    return { services: this.#services.store.size, pods: this.#pods.store.size };
  }

  /**
   * Whether every watch has been listed or refused: more will not be known for now. Without its
   * services nothing is known of a cluster, whatever the reason: it is as if it did not answer.
   */
  get settled(): boolean {
    return (
      this.#services.synced &&
      (this.#pods.synced || this.watch("pods").state === "refused") &&
      this.#published.settled
    );
  }

  /** Whether its view of its services counts: all is listed, or enough for long enough. */
  get isListed(): boolean {
    return this.settled || this.#reach.isPartlyListed;
  }

  /** No watch has been fresh for longer than is allowed. */
  get isUnreachable(): boolean {
    return this.#reach.isUnreachable;
  }

  /** Features that do not work without permission to watch, as plain sentences. */
  get lost(): readonly string[] {
    return this.watch("pods").state === "refused" ? lostWithoutPods : [];
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when nothing of it goes on any more. Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the source was stopped"));
    this.#cancelCheck?.();
    await this.#running;
    await Promise.all([this.#services.stop(), this.#pods.stop(), this.#published.stop()]);
  }

  /**
   * The pods are listed last. Then that list was made after the slices had been seen, and a pod
   * that a slice names and the list does not show is known to be gone, not merely unknown.
   */
  async #run(): Promise<void> {
    const { signal } = this.#abort;
    this.#checkFreshness();
    this.#services.start();
    try {
      await this.#published.start(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return;
    }
    await this.#published.waitForSync(signal, slicesFirstMs);
    if (!signal.aborted) this.#pods.start();
  }

  #serviceChanged(change: Change<Service>): void {
    this.#note(change);
    this.#servicePods.serviceChanged(change);
    this.#options.onService(objectKey(change.object.metadata));
  }

  #podChanged(change: Change<Pod>): void {
    this.#note(change);
    if (change.type === "deleted") {
      const { uid, namespace, deletionTimestamp } = change.object.metadata;
      const isWitnessed = change.learntBy === "watch" || deletionTimestamp !== undefined;
      this.#departed.add(uid, { isWitnessed, namespace });
    }
    for (const key of this.#servicePods.podChanged(change)) this.#options.onService(key);
    for (const other of this.#addresses.podChanged(change)) {
      for (const key of this.#servicePods.servicesOf(other)) this.#options.onService(key);
    }
  }

  #publishedChanged(change: Change<Projected>, services: readonly string[]): void {
    this.#note(change);
    for (const key of services) this.#options.onService(key);
    if (!services.includes(objectKey(apiServersService))) return;
    const { namespace, name } = apiServersService;
    this.#options.client.learnServers?.(apiServersIn(this.#published.of(namespace, name)));
  }

  #note(change: Change<Projected>): void {
    if (change.type === "deleted") return;
    this.#seenAt.set(change.object, this.#options.clock.monotonicMs());
  }

  #checkFreshness(): void {
    if (this.#abort.signal.aborted) return;
    this.#cancelCheck = this.#options.timers.after(freshnessCheckMs, () => this.#checkFreshness());
    this.#reportLoss();
    const before = this.#states;
    const states = this.#describe();
    this.#states = states;
    if (before === undefined || before === states) return;
    const isCurrent = clusterWatches.every((name) => this.watch(name).state === "fresh");
    this.#options.log.info(`cluster watches: ${isCurrent ? "all" : "not all"} up to date`, {
      cluster: this.cluster,
      states,
    });
    this.#options.onFreshness();
  }

  /** Everything about its watches that decisions depend on and that time alone can change. */
  #describe(): string {
    const states = clusterWatches.map((name) => this.watch(name).state);
    const isAnyFresh = states.includes("fresh");
    const isPartlyListed =
      this.#services.synced && (this.#pods.synced || this.#published.status.state === "fresh");
    this.#reach.look({ isAnyFresh, isPartlyListed });
    const watches = clusterWatches.map((name, index) => `${name} ${states[index]}`);
    if (!this.isListed) watches.push("not all listed yet");
    if (this.isUnreachable) watches.push("unreachable");
    return watches.join(", ");
  }

  #reportLoss(): void {
    const { lost } = this;
    if (this.#hasReportedLoss || lost.length === 0) return;
    this.#hasReportedLoss = true;
    this.#options.log.warn("no permission to watch pods; routing follows the EndpointSlices", {
      cluster: this.cluster,
      refusal: this.watch("pods").detail,
      lost: lost.join("; "),
    });
  }
}
