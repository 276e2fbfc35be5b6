// The offers of the business clusters beside the objects of the access cluster, and the writes that
// each service needs. It only reads; `ServiceSyncer` writes.
import type { Registry } from "prom-client";
import { isOwnedSlice, sourceClusterOf } from "../../decide/syncing/copy-names.ts";
import { heldSlices, planSync, type SyncPlan } from "../../decide/syncing/plan-sync.ts";
import type { ServiceOffer } from "../../decide/syncing/service-offer.ts";
import { type ServiceOffers, serviceOffers } from "../../decide/syncing/service-offers.ts";
import type { SyncPolicy } from "../../decide/syncing/sync-policy.ts";
import { defaultUnreachableAfterMs } from "../../decide/truth/truth-policy.ts";
import { elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import { splitObjectKey } from "../../kube/kinds/kind.ts";
import type { Lane } from "../../kube/workqueue/workqueue.ts";
import { Probes } from "../../sources/probes.ts";
import { dampedOffers } from "./damped-offers.ts";
import { FlapDamping } from "./flap-damping.ts";
import { SyncSource } from "./sync-source.ts";
import { SyncTarget } from "./sync-target.ts";

export interface ClusterClient {
  /** A name that can be part of an object's name; see `isClusterName`. */
  readonly cluster: string;
  readonly client: KubeClient;
}

export interface SyncViewOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  /** In the order of preference. The target may be one of them, if the names of copies differ. */
  readonly sources: readonly ClusterClient[];
  readonly target: ClusterClient;
  readonly policy: SyncPolicy;
  /** With it, endpoints in doubt are probed. */
  readonly network?: Environment["network"];
  /**
   * Called synchronously: this service has to be looked at, now or when there is time. The source is
   * the one whose news it is, if any.
   */
  readonly onService: (key: string, lane: Lane, source?: string) => void;
  /** Called synchronously: whether a service of the namespace has a copy may have changed. */
  readonly onServiceObject?: (namespace: string) => void;
  readonly metrics?: Registry;
}

export interface ServicePlan extends SyncPlan {
  readonly offers: readonly ServiceOffer[];
  /** The plan will be another then, without any event; undefined when it will not. */
  readonly lookAgainMs: number | undefined;
}

export class SyncView {
  readonly target: SyncTarget;
  readonly #options: SyncViewOptions;
  readonly #sources: readonly SyncSource[];
  readonly #probes: Probes | undefined;
  readonly #damping: FlapDamping | undefined;
  /**
   * Every service that a business cluster has or the access cluster holds a copy of. One that turns
   * out to be neither offered nor copied is dropped when it is planned for.
   */
  readonly #keys = new Set<string>();
  /** By service, the ports of which endpoints are in doubt. */
  readonly #probed = new Map<string, readonly string[]>();

  constructor(options: SyncViewOptions) {
    this.#options = options;
    const { network } = options;
    this.#probes =
      network &&
      new Probes({
        ...options,
        network,
        onAnswer: (doubter) => options.onService(serviceOfProbe(doubter), "fresh"),
      });
    this.#damping = options.policy.damping === true ? new FlapDamping(options.clock) : undefined;
    this.target = new SyncTarget({
      ...options,
      ...options.target,
      names: options.policy.names,
      copyAs: options.policy.copyAs,
      needsImports: (options.policy.imports ?? "none") !== "none",
      onImports: () => this.lookAgain(),
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

  get sources(): readonly SyncSource[] {
    return this.#sources;
  }

  plan(key: string): ServicePlan {
    const { namespace, name } = splitObjectKey(key);
    const { policy } = this.#options;
    const target = this.target.state(key);
    const slices = heldSlices(policy.names, name, target);
    const probes = this.#probes;
    const { offers: decided, probeRequests } = serviceOffers({
      sources: this.#sources,
      namespace,
      name,
      policy,
      slices,
      wallOf: this.#wallOf,
      ...(probes && {
        evidence: (port) => ({
          doubts: probes.standing(probeKey(key, port)),
          unreached: undefined,
        }),
      }),
    });
    this.#probe(key, probeRequests);
    const damping = this.#damping;
    const { offers, lookAgainMs } =
      damping === undefined
        ? { offers: decided, lookAgainMs: undefined }
        : dampedOffers(damping, key, decided, slices);
    const plan = planSync({ namespace, name, offers, target, policy });
    this.#dropUnlessNeeded(key, offers);
    return { ...plan, offers, lookAgainMs };
  }

  /** The clusters that are not known yet, and why, as text. */
  waitingFor(): readonly string[] {
    const target = this.target.waitingFor();
    const sources = this.#sources.flatMap((source) => {
      const { cluster, waitingFor } = source;
      return waitingFor === undefined ? [] : [`${cluster}: ${waitingFor}`];
    });
    return target === undefined ? sources : [`${this.target.cluster}: ${target}`, ...sources];
  }

  /** By cluster, how many slices of it the access cluster holds that a Lockstep has copied. */
  copied(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const key of this.#keys) {
      for (const slice of this.#ownSlices(key)) {
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

  /** Services that are not selected, and stay because that may be a mistake. */
  doubtfullyUnselected(): readonly string[] {
    const { selection } = this.#options.policy;
    return [...this.#keys].filter((key) => {
      const { namespace, name } = splitObjectKey(key);
      const isDoubtful = this.#sources.some((source) => {
        const service = source.service(namespace, name);
        return service !== undefined && selection.isDoubtful?.(service, source.cluster) === true;
      });
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
    const parts = [this.target, ...this.#sources, ...(this.#probes ? [this.#probes] : [])];
    await Promise.all(parts.map((part) => part.stop()));
  }

  #source({ cluster, client }: ClusterClient): SyncSource {
    const { onService, policy } = this.#options;
    const source = new SyncSource({
      ...this.#options,
      cluster,
      client,
      knownBefore: {
        // Pods that a first list has lost are probed instead, which is sooner known.
        before: ({ resource }) => (resource === "pods" ? 0 : this.#servicesCopiedFrom(cluster)),
      },
      needsExports: policy.selection.needsExports ?? false,
      unreachableAfterMs: () => policy.truth.unreachableAfterMs ?? defaultUnreachableAfterMs,
      onService: (key, lane) => {
        this.#keys.add(key);
        this.#see(source, key);
        onService(key, lane, cluster);
      },
      onCluster: () => this.lookAgain(),
    });
    return source;
  }

  #see(source: SyncSource, key: string): void {
    const { selection } = this.#options.policy;
    if (selection.see === undefined) return;
    const { namespace, name } = splitObjectKey(key);
    const service = source.service(namespace, name);
    if (service !== undefined && selection.see(service, source.cluster)) this.lookAgain();
  }

  #probe(key: string, requests: ServiceOffers["probeRequests"]): void {
    const probes = this.#probes;
    if (probes === undefined) return;
    for (const port of this.#probed.get(key) ?? []) {
      if (!requests.has(port)) probes.want(probeKey(key, port), []);
    }
    for (const [port, doubts] of requests) probes.want(probeKey(key, port), doubts);
    if (requests.size === 0) this.#probed.delete(key);
    else this.#probed.set(key, [...requests.keys()]);
  }

  #ownSlices(key: string): readonly EndpointSlice[] {
    const { names } = this.#options.policy;
    return this.target.heldSlices(key).filter((slice) => isOwnedSlice(names, slice));
  }

  /** The cluster had at least so many services, and as many lists of endpoints, at one time. */
  #servicesCopiedFrom(cluster: string): number {
    const isCopy = (slice: EndpointSlice) => sourceClusterOf(slice) === cluster;
    return [...this.#keys].filter((key) => this.#ownSlices(key).some(isCopy)).length;
  }

  #lookAgain(isMeant: (key: string) => boolean): void {
    for (const key of this.#keys) {
      if (isMeant(key)) this.#options.onService(key, "resync");
    }
  }

  #dropUnlessNeeded(key: string, offers: readonly ServiceOffer[]): void {
    const isOffered = offers.some(({ isKnown, service }) => !isKnown || service !== undefined);
    if (isOffered || this.target.holdsOwn(key)) return;
    this.#keys.delete(key);
    for (const source of this.#sources) source.forget(key);
  }

  readonly #wallOf = (instant: MonotonicMs): WallMs => {
    const { clock } = this.#options;
    const agoMs = elapsedMs(instant, clock.monotonicMs());
    // The moment by the wall clock as it goes now, whatever it showed then.
    return (clock.wallMs() - agoMs) as WallMs;
  };
}

/** As probes name those that ask for them: `namespace/name:port`. */
function probeKey(key: string, port: string): string {
  return `${key}:${port}`;
}

function serviceOfProbe(doubter: string): string {
  return doubter.slice(0, doubter.indexOf(":"));
}
