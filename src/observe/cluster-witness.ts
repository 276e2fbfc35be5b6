// The eyes in one cluster, or in one namespace of it: watches its services, its pods and what it has
// published, and reports at `pod` and `published`. The first list of each watch is what was there
// before, not a change; a later list shows changes whose moment is not known.
import { type EndpointSlice, endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { type Endpoints, endpointsKind } from "../kube/kinds/endpoints.ts";
import { objectKey, splitObjectKey } from "../kube/kinds/kind.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { type Service, serviceKind } from "../kube/kinds/service.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import { selectorIndex } from "../sources/service-pods.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import type { Hop } from "../timeline/witness.ts";
import type { CopyOrigin } from "./copy-origin.ts";
import { FollowGate } from "./follow-gate.ts";
import type { AnyWatchFeed, OpenWatch, WatchFeed } from "./observed-watch.ts";
import type { NodeView } from "./pod-cause.ts";
import { PodWitness } from "./pod-witness.ts";
import { PublishedWitness, publishedServiceOf } from "./published-witness.ts";
import { copiesWitness } from "./synced-witness.ts";

export interface ClusterWitnessOptions {
  readonly cluster: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly openWatch: OpenWatch;
  readonly form: PublishedForm;
  readonly sink: ObservationSink;
  /** With them a change can be blamed on the node that was lost. */
  readonly nodes?: NodeView | undefined;
  /** Recognises slices that are copies; they are reported at `synced`. */
  readonly originOf?: CopyOrigin | undefined;
  /** Only a tap matters: pods are watched too where services are not listed in time. */
  readonly tapOnly?: boolean;
}

/** One a second. A list that takes longer, fails or is refused must not keep pods unrecorded. */
const servicesWithinLooks = 5;

export class ClusterWitness {
  readonly #options: ClusterWitnessOptions;
  readonly #services: WatchFeed<Service, "selector">;
  readonly #pods: WatchFeed<Pod>;
  readonly #published: AnyWatchFeed;
  readonly #podGate: FollowGate;
  readonly #publishedGate: FollowGate;
  readonly #podWitness: PodWitness;
  readonly #publishedWitness: PublishedWitness;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;
  #looks = 0;

  constructor(options: ClusterWitnessOptions) {
    this.#options = options;
    const { cluster, form, openWatch } = options;
    this.#podGate = new FollowGate(options.sink);
    this.#publishedGate = new FollowGate(options.sink);
    // The pod hop needs two watches, so it is known when both are listed.
    const isBegun = () => this.#services.synced && this.#pods.synced;
    const shared = { ...this.#place, purposes: ["pod"], isBegun } as const;
    this.#services = openWatch({
      ...shared,
      kind: serviceKind,
      resource: "services",
      indexes: { selector: selectorIndex },
      onChange: (change, learnt) => {
        this.#serviceChanged(change);
        this.#podWitness.serviceChanged(change, learnt);
      },
      alsoBehindSince: () => this.#pods.behindSince,
    });
    this.#pods = openWatch({
      ...shared,
      kind: podKind,
      resource: "pods",
      indexes: {},
      onChange: (change, learnt) => this.#podWitness.podChanged(change, learnt),
      alsoBehindSince: () => this.#services.behindSince,
      onListed: () => {
        this.#podWitness.begin();
        this.#turnGates();
      },
    });
    this.#podWitness = new PodWitness({
      cluster,
      sink: this.#podGate,
      services: this.#services.store,
      pods: this.#pods.store,
      families: form === "endpoints" ? "first" : "all",
      ...(options.nodes !== undefined && { nodes: options.nodes }),
    });
    this.#publishedWitness = new PublishedWitness({
      witness: { hop: "published", name: cluster },
      sink: this.#publishedGate,
      serviceOf: (object) =>
        this.#isCopy(object) ? undefined : publishedServiceOf(cluster)(object),
    });
    this.#published = form === "endpoints" ? this.#watchEndpoints() : this.#watchSlices();
  }

  /** The only one that it watches; undefined when it watches all. */
  get namespace(): string | undefined {
    return this.#options.namespace;
  }

  /** Without services, pods cannot be assigned to any, so pods are not watched either. */
  get watches(): readonly AnyWatchFeed[] {
    const isWithoutPods = !this.#pods.isStarted && this.#services.isRefused;
    return [this.#services, ...(isWithoutPods ? [] : [this.#pods]), this.#published];
  }

  /** Whether it is the address of the service itself, and not of one of its endpoints. */
  isServiceAddress(service: string, address: string): boolean {
    const { namespace, name } = splitObjectKey(service);
    return this.#services.store.get(namespace, name)?.clusterIPs.includes(address) === true;
  }

  /** The watches by which it tells at the hop. */
  watchesAt(hop: Hop): readonly AnyWatchFeed[] {
    if (hop === "pod") return [this.#services, this.#pods];
    const isCopies = hop === "synced" && this.#options.originOf !== undefined;
    return hop === "published" || isCopies ? [this.#published] : [];
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when all is listed that may be; rejects when the signal aborts or it is stopped. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await this.#services.waitUntilSettled(signal);
    if (this.#services.synced) await this.#pods.waitUntilSettled(signal);
    await this.#published.waitUntilSettled(signal);
  }

  /** Checks for changes that come with time alone; call it about every second. */
  look(): void {
    this.#looks += 1;
    if (this.#options.tapOnly === true && this.#looks >= servicesWithinLooks) this.#pods.start();
    for (const watch of this.watches) watch.look();
    this.#turnGates();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the witness was stopped"));
    await Promise.all([this.#services.stop(), this.#pods.stop(), this.#published.stop()]);
    await this.#running;
  }

  /** Services first: with them known, each pod is matched once and not again for every service. */
  async #run(): Promise<void> {
    const { signal } = this.#abort;
    this.#services.start();
    this.#published.start();
    try {
      await this.#services.waitForSync(signal);
      this.#pods.start();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #turnGates(): void {
    this.#podGate.turn([this.#services, this.#pods]);
    this.#publishedGate.turn([this.#published]);
  }

  #serviceChanged(change: Change<Service>): void {
    const { metadata, type } = change.object;
    if (type === "ExternalName" && change.type !== "deleted") return;
    const { cluster } = this.#options;
    this.#publishedWitness.serviceChanged(change, { cluster, service: objectKey(metadata) });
  }

  #isCopy(object: EndpointSlice | Endpoints): boolean {
    return "addressType" in object && this.#options.originOf?.(object) !== undefined;
  }

  get #place() {
    const { cluster, namespace } = this.#options;
    return { cluster, ...(namespace !== undefined && { namespace }) };
  }

  #watchSlices(): AnyWatchFeed {
    const { originOf, openWatch } = this.#options;
    const sink = this.#publishedGate;
    const copies = originOf && copiesWitness({ ...this.#options, sink, originOf });
    return openWatch({
      ...this.#place,
      onListed: () => this.#turnGates(),
      kind: endpointSliceKind,
      resource: "endpointslices",
      purposes: copies === undefined ? ["published"] : ["published", "synced"],
      indexes: {},
      onChange: (change, learnt) => {
        this.#publishedWitness.sliceChanged(change, learnt);
        copies?.sliceChanged(change, learnt);
      },
    });
  }

  #watchEndpoints(): AnyWatchFeed {
    return this.#options.openWatch({
      ...this.#place,
      onListed: () => this.#turnGates(),
      kind: endpointsKind,
      resource: "endpoints",
      purposes: ["published"],
      indexes: {},
      onChange: (change, learnt) => this.#publishedWitness.endpointsChanged(change, learnt),
    });
  }
}
