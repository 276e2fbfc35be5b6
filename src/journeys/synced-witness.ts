// The eyes on the copies in an access cluster: watches the EndpointSlices there and reports at
// `synced`, for the cluster and service that each copy was made of. Who made the copies and how
// they are labelled is not decided here.
import type { Registry } from "prom-client";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type EndpointSlice, endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { Learnt } from "./pod-witness.ts";
import { PublishedWitness } from "./published-witness.ts";
import type { ServiceRef, WitnessSink } from "./witness.ts";

export interface SyncedWitnessOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  /** The access cluster. */
  readonly cluster: string;
  /** Narrows what is listed to the copies. */
  readonly labelSelector?: string;
  /** Which cluster's service a slice is a copy of; undefined for one that is no copy. */
  readonly originOf: (slice: EndpointSlice) => ServiceRef | undefined;
  readonly sink: WitnessSink;
  readonly metrics?: Registry;
}

export class SyncedWitness {
  readonly #options: SyncedWitnessOptions;
  readonly #witness: PublishedWitness;
  readonly #slices: Reflector<EndpointSlice>;
  #heardAt: MonotonicMs | undefined;

  constructor(options: SyncedWitnessOptions) {
    this.#options = options;
    const { cluster, clock, sink, originOf } = options;
    this.#witness = new PublishedWitness({
      witness: { hop: "synced", name: cluster },
      clock,
      sink,
      serviceOf: (object) => ("addressType" in object ? originOf(object) : undefined),
    });
    this.#slices = new Reflector({
      ...options,
      kind: endpointSliceKind,
      indexes: {},
      handlers: [(change) => this.#witness.sliceChanged(change, this.#learnt(change))],
    });
  }

  get synced(): boolean {
    return this.#slices.synced;
  }

  waitForSync(signal?: AbortSignal): Promise<void> {
    return this.#slices.waitForSync(signal);
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#slices.start();
  }

  /** Idempotent; it cannot be started again. */
  stop(): Promise<void> {
    return this.#slices.stop();
  }

  #learnt({ learntBy }: Change<EndpointSlice>): Learnt {
    if (learntBy === "watch") this.#heardAt = this.#options.clock.monotonicMs();
    const notBefore = learntBy === "list" ? this.#heardAt : undefined;
    return { by: learntBy, baseline: !this.#slices.synced, notBefore };
  }
}
