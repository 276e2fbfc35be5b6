// Services of one cluster beside their twins, and the writes that each twin needs. It only reads;
// `TwinKeeper` writes. The key of all work is the twin's, so that a twin whose Service is gone, or has
// another twin by now, is looked at like any other.
import type { Registry } from "prom-client";
import { planTwin, readyIn } from "../../decide/assisting/plan-twin.ts";
import {
  isTwin,
  isTwinSlice,
  originalOf,
  ownNames,
  twinNameOf,
  twinNames,
} from "../../decide/assisting/twin-names.ts";
import {
  isTwinned,
  type TwinSelection,
  whyNotTwinned,
} from "../../decide/assisting/twin-selection.ts";
import { withZoneHints } from "../../decide/assisting/zone-hints.ts";
import { isCopy } from "../../decide/syncing/copy-names.ts";
import { planSlices } from "../../decide/syncing/plan-slices.ts";
import type { SyncPlan, TargetState } from "../../decide/syncing/plan-sync.ts";
import type { ServiceOffer } from "../../decide/syncing/service-offer.ts";
import { serviceOffers } from "../../decide/syncing/service-offers.ts";
import type { SyncWrite } from "../../decide/syncing/sync-write.ts";
import { defaultUnreachableAfterMs } from "../../decide/truth/truth-policy.ts";
import { elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import { objectKey, splitObjectKey } from "../../kube/kinds/kind.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { Lane } from "../../kube/workqueue/workqueue.ts";
import { listedInSlice } from "../../model/published-endpoint.ts";
import { clusterWatches } from "../../sources/cluster-source.ts";
import { Probes } from "../../sources/probes.ts";
import { SyncSource } from "../slices/sync-source.ts";
import { SyncTarget } from "../slices/sync-target.ts";

export interface TwinViewOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly selection: TwinSelection;
  /** By which our replicas elect their leader. */
  readonly lease: { readonly namespace: string; readonly name: string };
  /** With it, endpoints in doubt are probed. */
  readonly network?: Environment["network"];
  /** Called synchronously with the key of a twin: look at it, now or when there is time. */
  readonly onTwin: (key: string, lane: Lane) => void;
  readonly metrics?: Registry;
}

export interface TwinPlan extends SyncPlan {
  /** `namespace/name` of the Service; undefined when the twin has none. */
  readonly original: string | undefined;
  /** False when the watch does not show that Service. */
  readonly isOriginalShown: boolean;
  /** Whether a replica keeps this twin now: it is wanted and was not handed back. */
  readonly isKept: boolean;
  /** Neither the Service nor anything of the twin is left. */
  readonly isGone: boolean;
  /** Addresses that the Service's own slices list as ready. */
  readonly published: ReadonlySet<string>;
  /** Addresses that the twin is to list as ready. */
  readonly decided: ReadonlySet<string>;
  /** Names the versions of the Service's own slices. */
  readonly publishedVersion: string;
  /** Names the versions of the twin's slices. */
  readonly twinVersion: string;
}

export class TwinView {
  readonly target: SyncTarget;
  readonly source: SyncSource;
  readonly #probes: Probes | undefined;
  /** By twin, the ports of which endpoints are in doubt. */
  readonly #probed = new Map<string, readonly string[]>();
  readonly #options: TwinViewOptions;
  /** By Service, the keys of twins that it wants or that carry its name. */
  readonly #twinsOf = new Map<string, Set<string>>();
  /** By twin, the Services that want it or whose name it carries. */
  readonly #originalsOf = new Map<string, Set<string>>();

  constructor(options: TwinViewOptions) {
    this.#options = options;
    const { network } = options;
    this.#probes =
      network &&
      new Probes({
        ...options,
        network,
        onAnswer: (doubter) => options.onTwin(doubter.slice(0, doubter.indexOf(":")), "fresh"),
      });
    this.target = new SyncTarget({
      ...options,
      names: ownNames,
      onService: (key) => this.#twinChanged(key),
      onNamespace: () => undefined,
    });
    this.source = new SyncSource({
      ...options,
      // Pods that a first list has lost are probed instead, which is sooner known.
      knownBefore: {
        before: ({ resource }) => (resource === "pods" ? 0 : this.#originalsSeen()),
      },
      unreachableAfterMs: () => defaultUnreachableAfterMs,
      // Twins are chosen by label, and never by ServiceExport.
      needsExports: false,
      onService: (key, lane) => this.#originalChanged(key, lane),
      onCluster: () => this.lookAgain(),
    });
  }

  /** All twins that exist or are wanted; not to be changed while it is read. */
  get keys(): Iterable<string> {
    return this.#originalsOf.keys();
  }

  get isKnown(): boolean {
    return this.target.waitingFor() === undefined && this.source.isListed;
  }

  /** Every watch is up to date, so nothing is decided from old data. */
  get isFresh(): boolean {
    return clusterWatches.every((name) => this.source.watch(name).state !== "stale");
  }

  /** The watches that are not listed yet, and why, as text. */
  waitingFor(): readonly string[] {
    return [this.target.waitingFor(), this.source.waitingFor].filter((one) => one !== undefined);
  }

  /** The plan for one twin; what it reads is as new as the watches and our own writes. */
  plan(key: string): TwinPlan {
    const { namespace, name } = splitObjectKey(key);
    const target = this.target.state(key);
    const { originalName, blocked } = this.#originalFor(key, target.service);
    const original =
      originalName === undefined ? undefined : this.source.service(namespace, originalName);
    const published = originalName === undefined ? [] : this.#publishedOf(namespace, originalName);
    const isWanted = original !== undefined && this.#wantedName(original) === name;
    const offer = original && this.#offer(key, original, published);
    const plan = planTwin({
      namespace,
      name,
      original,
      isKnown: this.isKnown,
      isWanted,
      target,
      published,
      lease: objectKey(this.#options.lease),
      slicesFor: (twin) => (offer === undefined ? [] : slicesFor(twin, offer, target)),
    });
    const isGone =
      original === undefined && target.service === undefined && target.slices.length === 0;
    if (isGone) this.#forget(key);
    const ready = (offer?.endpoints ?? []).filter((endpoint) => endpoint.ready);
    return {
      ...plan,
      blocked: plan.blocked ?? blocked,
      original: originalName === undefined ? undefined : `${namespace}/${originalName}`,
      isOriginalShown: original !== undefined,
      isKept: isWanted && target.service?.selector === undefined && plan.blocked === undefined,
      isGone,
      published: readyIn(published),
      decided: new Set(ready.map(({ address }) => address)),
      publishedVersion: versionOf(published),
      twinVersion: versionOf(target.slices.filter(isTwinSlice)),
    };
  }

  /** Why a selected Service gets no twin, by `namespace/name`. */
  problems(): ReadonlyMap<string, string> {
    const problems = new Map<string, string>();
    const { selection } = this.#options;
    for (const named of selection.services) {
      const { namespace, name } = splitObjectKey(named);
      const problem = whyNotTwinned(this.source.service(namespace, name), selection);
      if (problem !== undefined) problems.set(named, problem);
    }
    for (const original of this.#twinsOf.keys()) {
      const { namespace, name } = splitObjectKey(original);
      const service = this.source.service(namespace, name);
      if (service === undefined || !isTwinned(service, selection)) continue;
      const { problem } = twinNameOf(service);
      if (problem !== undefined) problems.set(original, problem);
    }
    return problems;
  }

  /** How many twins there are, by the one that serves them. */
  counts(): { readonly kept: number; readonly handedBack: number } {
    let kept = 0;
    let handedBack = 0;
    for (const key of this.#originalsOf.keys()) {
      const { service } = this.target.state(key);
      if (service === undefined || !isTwin(service)) continue;
      if (service.selector === undefined) kept += 1;
      else handedBack += 1;
    }
    return { kept, handedBack };
  }

  lookAgain(): void {
    for (const key of this.#originalsOf.keys()) this.#options.onTwin(key, "resync");
  }

  /** Begins to watch; resolves when the twins are known. Rejects when the signal aborts before. */
  async start(signal: AbortSignal): Promise<void> {
    await this.target.start(signal);
    this.source.start();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await Promise.all([this.target.stop(), this.source.stop(), this.#probes?.stop()]);
  }

  #twinChanged(key: string): void {
    const { namespace } = splitObjectKey(key);
    const { service, slices } = this.target.state(key);
    const own = service === undefined || !isTwin(service) ? [] : [service];
    for (const object of [...own, ...slices.filter(isTwinSlice)]) {
      const name = originalOf(object);
      if (name !== undefined) this.#note(key, `${namespace}/${name}`);
    }
    if (this.#originalsOf.has(key)) this.#options.onTwin(key, "resync");
  }

  #originalChanged(original: string, lane: Lane): void {
    const { namespace, name } = splitObjectKey(original);
    const service = this.source.service(namespace, name);
    const wanted = service === undefined ? undefined : this.#wantedName(service);
    if (wanted !== undefined) this.#note(`${namespace}/${wanted}`, original);
    const twins = this.#twinsOf.get(original);
    if (service === undefined && twins === undefined) this.source.forget(original);
    for (const key of twins ?? []) this.#options.onTwin(key, lane);
  }

  /** The Service's endpoints by truth, with the hints of its own slices. */
  #offer(
    key: string,
    original: Service,
    published: readonly EndpointSlice[],
  ): ServiceOffer | undefined {
    const { namespace, name } = original.metadata;
    const probes = this.#probes;
    const { offers, probeRequests } = serviceOffers({
      sources: [this.source],
      namespace,
      name,
      policy: {
        selection: { isSelected: () => true },
        names: ownNames,
        truth: { followSlices: false },
        createNamespaces: false,
      },
      slices: [],
      wallOf: this.#wallOf,
      ...(probes && {
        evidence: (port) => ({
          doubts: probes.standing(`${key}:${port}`),
          unreached: undefined,
        }),
      }),
    });
    this.#probe(key, probeRequests);
    const [offer] = offers;
    if (offer === undefined) return undefined;
    return {
      ...offer,
      endpoints: withZoneHints(offer.endpoints, published.flatMap(listedInSlice)),
    };
  }

  #probe(key: string, requests: ReturnType<typeof serviceOffers>["probeRequests"]): void {
    const probes = this.#probes;
    if (probes === undefined) return;
    for (const port of this.#probed.get(key) ?? []) {
      if (!requests.has(port)) probes.want(`${key}:${port}`, []);
    }
    for (const [port, doubts] of requests) probes.want(`${key}:${port}`, doubts);
    if (requests.size === 0) this.#probed.delete(key);
    else this.#probed.set(key, [...requests.keys()]);
  }

  #publishedOf(namespace: string, name: string): readonly EndpointSlice[] {
    return this.source.publishedOf(namespace, name).slices.filter((slice) => !isCopy(slice));
  }

  /** Each twin was made from a Service, so the cluster had at least so many. */
  #originalsSeen(): number {
    return [...this.#originalsOf.keys()].filter(
      (key) => this.target.state(key).service !== undefined,
    ).length;
  }

  /** Undefined for a Service that gets no twin. */
  #wantedName(service: Service): string | undefined {
    return isTwinned(service, this.#options.selection) ? twinNameOf(service).name : undefined;
  }

  #note(twin: string, original: string): void {
    const twins = this.#twinsOf.get(original) ?? new Set();
    const originals = this.#originalsOf.get(twin) ?? new Set();
    this.#twinsOf.set(original, twins.add(twin));
    this.#originalsOf.set(twin, originals.add(original));
  }

  #forget(twin: string): void {
    for (const original of this.#originalsOf.get(twin) ?? []) {
      const twins = this.#twinsOf.get(original);
      twins?.delete(twin);
      if (twins?.size !== 0) continue;
      this.#twinsOf.delete(original);
      const { namespace, name } = splitObjectKey(original);
      if (this.source.service(namespace, name) === undefined) this.source.forget(original);
    }
    this.#originalsOf.delete(twin);
  }

  readonly #wallOf = (instant: MonotonicMs): WallMs => {
    const { clock } = this.#options;
    const agoMs = elapsedMs(instant, clock.monotonicMs());
    // The moment by the wall clock as it goes now, whatever it showed then.
    return (clock.wallMs() - agoMs) as WallMs;
  };

  /** A twin belongs to the Service that its label names; a new one to the first that wants it. */
  #originalFor(key: string, twin: Service | undefined) {
    const { namespace, name } = splitObjectKey(key);
    const wanting = [...(this.#originalsOf.get(key) ?? [])]
      .map((original) => splitObjectKey(original).name)
      .filter((original) => {
        const service = this.source.service(namespace, original);
        return service !== undefined && this.#wantedName(service) === name;
      })
      .sort();
    const labelled = twin !== undefined && isTwin(twin) ? originalOf(twin) : undefined;
    const [first = this.#anyOriginal(key)] = wanting;
    const originalName = labelled ?? first;
    const others = wanting.filter((one) => one !== originalName);
    const blocked =
      others.length === 0
        ? undefined
        : `${others.join(", ")} cannot have the twin ${name}: it is the twin of ${originalName}`;
    return { originalName, blocked };
  }

  #anyOriginal(key: string): string | undefined {
    const [any] = this.#originalsOf.get(key) ?? [];
    return any === undefined ? undefined : splitObjectKey(any).name;
  }
}

/** The writes that make the twin's slices list what is offered. */
function slicesFor(twin: Service, offer: ServiceOffer, target: TargetState): readonly SyncWrite[] {
  const { service } = offer;
  if (service === undefined) return [];
  const { namespace, name, uid } = twin.metadata;
  return planSlices({
    namespace,
    name: service.metadata.name,
    names: twinNames(name, service),
    offer,
    slices: target.slices
      .filter(isTwinSlice)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    isTaken: target.isTaken,
    owner: { apiVersion: "v1", kind: "Service", name, uid },
  });
}

function versionOf(objects: readonly EndpointSlice[]): string {
  return objects
    .map(({ metadata }) => `${objectKey(metadata)}@${metadata.resourceVersion}`)
    .sort()
    .join(" ");
}
