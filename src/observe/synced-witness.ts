// Watches the EndpointSlices in an access cluster and reports copies at `synced`, for the cluster
// and service of the original. The rules that recognise a copy are in `copy-origin.ts`.

import { type EndpointSlice, endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import type { Hop } from "../timeline/witness.ts";
import type { CopyOrigin } from "./copy-origin.ts";
import { FollowGate } from "./follow-gate.ts";
import type { AnyWatchFeed, OpenWatch, WatchFeed } from "./observed-watch.ts";
import { PublishedWitness } from "./published-witness.ts";

export interface SyncedWitnessOptions {
  readonly cluster: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly openWatch: OpenWatch;
  readonly originOf: CopyOrigin;
  readonly sink: ObservationSink;
}

export class SyncedWitness {
  /** The only one that it watches; undefined when it watches all. */
  readonly namespace: string | undefined;
  readonly #gate: FollowGate;
  readonly #slices: WatchFeed<EndpointSlice>;

  constructor(options: SyncedWitnessOptions) {
    this.namespace = options.namespace;
    this.#gate = new FollowGate(options.sink);
    const witness = copiesWitness({ ...options, sink: this.#gate });
    const { cluster, namespace } = options;
    this.#slices = options.openWatch({
      cluster,
      ...(namespace !== undefined && { namespace }),
      kind: endpointSliceKind,
      resource: "endpointslices",
      purposes: ["synced"],
      indexes: {},
      onChange: (change, learnt) => witness.sliceChanged(change, learnt),
      onListed: () => this.#gate.turn([this.#slices]),
    });
  }

  get watches(): readonly AnyWatchFeed[] {
    return [this.#slices];
  }

  /** The watches by which it tells at the hop. */
  watchesAt(hop: Hop): readonly AnyWatchFeed[] {
    return hop === "synced" ? [this.#slices] : [];
  }

  /** Resolves when all is listed that may be; rejects when the signal aborts or it is stopped. */
  waitForSync(signal?: AbortSignal): Promise<void> {
    return this.#slices.waitUntilSettled(signal);
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#slices.start();
  }

  /** Checks for changes that come with time alone; call it about every second. */
  look(): void {
    this.#slices.look();
    this.#gate.turn([this.#slices]);
  }

  /** Idempotent; it cannot be started again. */
  stop(): Promise<void> {
    return this.#slices.stop();
  }
}

/** The witness at `synced`, for an existing watch of slices. */
export function copiesWitness({
  cluster,
  sink,
  originOf,
}: Pick<SyncedWitnessOptions, "cluster" | "sink" | "originOf">): PublishedWitness {
  return new PublishedWitness({
    witness: { hop: "synced", name: cluster },
    sink,
    serviceOf: (object) => ("addressType" in object ? originOf(object) : undefined),
  });
}
