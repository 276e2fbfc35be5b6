// The offers of the business clusters beside the objects of the access cluster, and the writes that
// each service needs. It only reads; `ServiceSyncer` writes.
import type { Registry } from "prom-client";
import { planSync, type SyncPlan } from "../../decide/syncing/plan-sync.ts";
import {
  isSourceKnown,
  type ServiceOffer,
  serviceOffer,
} from "../../decide/syncing/service-offer.ts";
import { isDoubtfullyUnselected, type SyncPolicy } from "../../decide/syncing/sync-policy.ts";
import { isOwnedSlice, sourceClusterOf } from "../../decide/syncing/synced-names.ts";
import { elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import { splitObjectKey } from "../../kube/kinds/kind.ts";
import type { Lane } from "../../kube/workqueue/workqueue.ts";
import { ClusterSource } from "../../sources/cluster-source.ts";
import { SyncTarget } from "./sync-target.ts";

export interface ClusterClient {
  /** A name that can be part of an object's name; see `isClusterName`. */
  readonly cluster: string;
  readonly client: KubeClient;
}

export interface SyncViewOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  /** In the order of preference. */
  readonly sources: readonly ClusterClient[];
  readonly target: ClusterClient;
  readonly policy: SyncPolicy;
  /** Called synchronously: this service has to be looked at, now or when there is time. */
  readonly onService: (key: string, lane: Lane) => void;
  readonly metrics?: Registry;
}

export interface ServicePlan extends SyncPlan {
  readonly offers: readonly ServiceOffer[];
}

export class SyncView {
  readonly target: SyncTarget;
  readonly #options: SyncViewOptions;
  readonly #sources: readonly ClusterSource[];
  /**
   * Every service that a business cluster has or the access cluster holds a copy of. One that turns
   * out to be neither offered nor copied is dropped when it is planned for.
   */
  readonly #keys = new Set<string>();
  /** Of the policy: those in which no business cluster has shown a service yet. */
  readonly #unseenNamespaces: Set<string>;

  constructor(options: SyncViewOptions) {
    this.#options = options;
    const { namespaces } = options.policy;
    this.#unseenNamespaces = new Set(namespaces === "all" ? [] : namespaces);
    this.target = new SyncTarget({
      ...options,
      ...options.target,
      onService: (key, isOwn) => {
        if (isOwn) this.#keys.add(key);
        if (this.#keys.has(key)) options.onService(key, "resync");
      },
      onNamespace: (name) => this.#lookAgain((key) => key.startsWith(`${name}/`)),
    });
    this.#sources = options.sources.map((source) => this.#source(source));
  }

  /** The services that may have something to be done about; not to be changed while it is read. */
  get keys(): Iterable<string> {
    return this.#keys;
  }

  plan(key: string): ServicePlan {
    const { namespace, name } = splitObjectKey(key);
    const policy = { ...this.#options.policy, unseenNamespaces: this.#unseenNamespaces };
    const offers = this.#sources.map((source) =>
      serviceOffer(source, { namespace, name }, policy, this.#wallOf),
    );
    const target = this.target.state(key);
    const plan = planSync({ namespace, name, offers, target, policy });
    this.#dropUnlessNeeded(key, offers);
    return { ...plan, offers };
  }

  /** The clusters that are not known yet, and why, as text. */
  waitingFor(): readonly string[] {
    const target = this.target.waitingFor();
    const sources = this.#sources.flatMap((source) => {
      if (isSourceKnown(source)) return [];
      const details = (["services", "published"] as const).map((name) => source.watch(name).detail);
      return [`${source.cluster}: ${details.find((detail) => detail !== "") ?? "not listed yet"}`];
    });
    return target === undefined ? sources : [`${this.target.cluster}: ${target}`, ...sources];
  }

  /** By cluster, how many slices of it the access cluster holds that a Lockstep has copied. */
  copied(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const key of this.#keys) {
      for (const slice of this.target.state(key).slices.filter(isOwnedSlice)) {
        const cluster = sourceClusterOf(slice);
        if (cluster !== undefined) counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
      }
    }
    return counts;
  }

  /**
   * Synced services that no source of this Lockstep offers. They stay: another Lockstep may keep
   * them.
   */
  unclaimed(): ReadonlyMap<string, number> {
    const { sources, policy } = this.#options;
    const claimed = new Set([
      ...sources.map(({ cluster }) => cluster),
      ...(policy.forgottenClusters ?? []),
    ]);
    return new Map([...this.copied()].filter(([cluster]) => !claimed.has(cluster)));
  }

  /** Namespaces that the policy names and no business cluster has shown a service in. */
  get unseenNamespaces(): ReadonlySet<string> {
    return this.#unseenNamespaces;
  }

  /** Services that are not selected, and stay because a namespace may be misspelt. */
  doubtfullyUnselected(): readonly string[] {
    const policy = { ...this.#options.policy, unseenNamespaces: this.#unseenNamespaces };
    return [...this.#keys].filter((key) => {
      const { namespace, name } = splitObjectKey(key);
      const found = this.#sources.map((source) => source.service(namespace, name));
      const isDoubtful = found.some(
        (service) => service && isDoubtfullyUnselected(service, policy),
      );
      return isDoubtful && this.target.holdsOwn(key);
    });
  }

  /** Looks at every service again when there is time. */
  lookAgain(): void {
    this.#lookAgain(() => true);
  }

  /**
   * Begins to watch; resolves when the access cluster is known, which has to be before the first
   * plan. Rejects when the signal aborts before.
   */
  async start(signal: AbortSignal): Promise<void> {
    // First, because its copies show what the sources must have had.
    await this.target.start(signal);
    for (const source of this.#sources) source.start();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await Promise.all([this.target.stop(), ...this.#sources.map((source) => source.stop())]);
  }

  #source({ cluster, client }: ClusterClient): ClusterSource {
    const { onService } = this.#options;
    const source = new ClusterSource({
      ...this.#options,
      cluster,
      client,
      knownBefore: { before: () => this.#servicesCopiedFrom(cluster) },
      onService: (key) => {
        this.#keys.add(key);
        this.#see(source, key);
        // Until it is settled it delivers its first lists, which are no news but a resync.
        onService(key, source.settled ? "fresh" : "resync");
      },
      // A cluster that is listed for the first time may lack services that were synced from it
      // before.
      onFreshness: () => this.lookAgain(),
    });
    return source;
  }

  /** A namespace that has a service is spelt right. */
  #see(source: ClusterSource, key: string): void {
    const { namespace, name } = splitObjectKey(key);
    if (!this.#unseenNamespaces.has(namespace)) return;
    if (source.service(namespace, name) === undefined) return;
    this.#unseenNamespaces.delete(namespace);
    if (this.#unseenNamespaces.size === 0) this.lookAgain();
  }

  /** The cluster had at least so many services, and as many lists of endpoints, at one time. */
  #servicesCopiedFrom(cluster: string): number {
    const isCopy = (slice: EndpointSlice) =>
      isOwnedSlice(slice) && sourceClusterOf(slice) === cluster;
    return [...this.#keys].filter((key) => this.target.state(key).slices.some(isCopy)).length;
  }

  #lookAgain(isMeant: (key: string) => boolean): void {
    for (const key of this.#keys) {
      if (isMeant(key)) this.#options.onService(key, "resync");
    }
  }

  #dropUnlessNeeded(key: string, offers: readonly ServiceOffer[]): void {
    const isOffered = offers.some(({ isKnown, service }) => !isKnown || service !== undefined);
    if (!isOffered && !this.target.holdsOwn(key)) this.#keys.delete(key);
  }

  readonly #wallOf = (instant: MonotonicMs): WallMs => {
    const { clock } = this.#options;
    const agoMs = elapsedMs(instant, clock.monotonicMs());
    // The moment by the wall clock as it goes now, whatever it showed then.
    return (clock.wallMs() - agoMs) as WallMs;
  };
}
