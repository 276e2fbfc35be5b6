// The eyes in one cluster: watches its services, its pods and what it has published, and reports at
// `pod` and `published`. The first list of each watch is what was there before, not a change; a
// later list shows changes whose moment is known only to lie after the watch was last heard.
import type { Registry } from "prom-client";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { endpointsKind } from "../kube/kinds/endpoints.ts";
import { objectKey, type Projected } from "../kube/kinds/kind.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { type Service, serviceKind } from "../kube/kinds/service.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import { selectorIndex } from "../sources/service-pods.ts";
import { type Learnt, PodWitness } from "./pod-witness.ts";
import { PublishedWitness, publishedServiceOf } from "./published-witness.ts";
import type { WitnessSink } from "./witness.ts";

export interface ClusterWitnessOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly form: PublishedForm;
  readonly sink: WitnessSink;
  readonly metrics?: Registry;
}

type Watch = "services" | "pods" | "published";

export class ClusterWitness {
  readonly #options: ClusterWitnessOptions;
  readonly #services: Reflector<Service, "selector">;
  readonly #pods: Reflector<Pod>;
  readonly #published: PublishedReflector;
  readonly #podWitness: PodWitness;
  readonly #publishedWitness: PublishedWitness;
  /** When each watch last showed a change as it happened. */
  readonly #heardAt = new Map<Watch, MonotonicMs>();
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: ClusterWitnessOptions) {
    this.#options = options;
    const { cluster, clock, form, sink } = options;
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
      handlers: [(change) => this.#podWitness.podChanged(change, this.#learnt("pods", change))],
    });
    this.#podWitness = new PodWitness({
      cluster,
      clock,
      sink,
      services: this.#services.store,
      pods: this.#pods.store,
      families: form === "endpoints" ? "first" : "all",
    });
    this.#publishedWitness = new PublishedWitness({
      witness: { hop: "published", name: cluster },
      clock,
      sink,
      serviceOf: publishedServiceOf(cluster),
    });
    this.#published = form === "endpoints" ? this.#watchEndpoints() : this.#watchSlices();
  }

  /** Whether all three have been listed: from now on changes are seen. */
  get synced(): boolean {
    return this.#services.synced && this.#pods.synced && this.#published.synced;
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when synced; rejects when the signal aborts or it is stopped before. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await this.#services.waitForSync(signal);
    await this.#published.waitForSync(signal);
    await this.#pods.waitForSync(signal);
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
      await this.#pods.waitForSync(signal);
      this.#podWitness.begin();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #serviceChanged(change: Change<Service>): void {
    const service = objectKey(change.object.metadata);
    const { cluster } = this.#options;
    if (change.object.type !== "ExternalName" || change.type === "deleted") {
      this.#publishedWitness.serviceChanged(change, { cluster, service });
    }
    this.#podWitness.serviceChanged(change, this.#learnt("services", change));
  }

  #watchSlices(): PublishedReflector {
    const witness = this.#publishedWitness;
    return new Reflector({
      ...this.#options,
      kind: endpointSliceKind,
      indexes: {},
      handlers: [(change) => witness.sliceChanged(change, this.#learnt("published", change))],
    });
  }

  #watchEndpoints(): PublishedReflector {
    const witness = this.#publishedWitness;
    return new Reflector({
      ...this.#options,
      kind: endpointsKind,
      indexes: {},
      handlers: [(change) => witness.endpointsChanged(change, this.#learnt("published", change))],
    });
  }

  #learnt(watch: Watch, { learntBy }: Change<Projected>): Learnt {
    if (learntBy === "watch") this.#heardAt.set(watch, this.#options.clock.monotonicMs());
    return {
      by: learntBy,
      baseline: watch === "published" ? !this.#published.synced : !this.#arePodsKnown(),
      notBefore: learntBy === "list" ? this.#heardAt.get(watch) : undefined,
    };
  }

  /** What the pods make true takes two watches, so it counts as known when both are listed. */
  #arePodsKnown(): boolean {
    return this.#services.synced && this.#pods.synced;
  }
}

/** The two kinds of reflector, as far as they are the same. */
type PublishedReflector = Pick<Reflector<Projected>, "synced" | "start" | "stop" | "waitForSync">;
