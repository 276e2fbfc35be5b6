// All witnesses in one cluster, once it is known how it publishes: one for each namespace, and the
// watch of nodes. Whether an API server or a recording feeds them makes no difference here.
import type { Clock, MonotonicMs } from "../environment/clock.ts";
import { splitObjectKey } from "../kube/kinds/kind.ts";
import { type Node, nodeKind } from "../kube/kinds/node.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import type { Hop } from "../timeline/witness.ts";
import { ClusterWitness } from "./cluster-witness.ts";
import type { CopyOrigin } from "./copy-origin.ts";
import type { AnyWatchFeed, OpenWatch, WatchFeed } from "./observed-watch.ts";
import { SyncedWitness } from "./synced-witness.ts";
import type { ClusterPart } from "./watch-plan.ts";

/** The observed part of a cluster, and the receiver of its reports. */
export interface WitnessedPart extends ClusterPart {
  readonly cluster: string;
  readonly clock: Clock;
  readonly originOf: CopyOrigin;
  readonly sink: ObservationSink;
  /** Only a tap matters: see `ClusterWitnessOptions`. */
  readonly tapOnly?: boolean;
}

export interface ClusterWitnessesOptions extends WitnessedPart {
  readonly form: PublishedForm;
  readonly openWatch: OpenWatch;
}

export class ClusterWitnesses {
  readonly #witnesses: readonly (ClusterWitness | SyncedWitness)[];
  readonly #nodes: WatchFeed<Node> | undefined;

  constructor(options: ClusterWitnessesOptions) {
    const { isBusiness, isAccess, originOf, form, nodes, namespaces = [undefined] } = options;
    this.#nodes = isBusiness && nodes ? watchNodes(options) : undefined;
    const isShared = isBusiness && isAccess && form === "endpointslices";
    this.#witnesses = namespaces.flatMap((namespace) => {
      const place = { ...options, ...(namespace !== undefined && { namespace }) };
      const copies = isShared ? originOf : undefined;
      const business = { ...place, nodes: this.#nodes, originOf: copies };
      return [
        ...(isBusiness ? [new ClusterWitness(business)] : []),
        ...(isAccess && !isShared ? [new SyncedWitness(place)] : []),
      ];
    });
  }

  get watches(): readonly AnyWatchFeed[] {
    const nodes = this.#nodes === undefined ? [] : [this.#nodes];
    return [...this.#witnesses.flatMap(({ watches }) => watches), ...nodes];
  }

  /**
   * The watermark of the hop: all that was so of the service there then has been reported. Undefined
   * where no watch reports it.
   */
  watermark(hop: Hop, service: string): MonotonicMs | undefined {
    let least: MonotonicMs | undefined;
    for (const { currentAt } of this.#watchesAt(hop, service)) {
      if (least === undefined || currentAt < least) least = currentAt;
    }
    return least;
  }

  /** Whether it is the address of the service itself, and not of one of its endpoints. */
  isServiceAddress(service: string, address: string): boolean {
    return this.#witnesses.some((one) => {
      return one instanceof ClusterWitness && one.isServiceAddress(service, address);
    });
  }

  start(): void {
    this.#nodes?.start();
    for (const witness of this.#witnesses) witness.start();
  }

  /** Resolves when all is listed that may be; rejects when the signal aborts or it is stopped. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#witnesses.map((witness) => witness.waitForSync(signal)));
    await this.#nodes?.waitUntilSettled(signal);
  }

  /** Checks for changes that come with time alone; call it about every second. */
  look(): void {
    for (const witness of this.#witnesses) witness.look();
    this.#nodes?.look();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await Promise.all([...this.#witnesses.map((one) => one.stop()), this.#nodes?.stop()]);
  }

  /** The watches of the service's namespace; events in other namespaces do not matter. */
  #watchesAt(hop: Hop, service: string): readonly AnyWatchFeed[] {
    const { namespace } = splitObjectKey(service);
    const isOf = (watched: string | undefined) => watched === undefined || watched === namespace;
    const witnesses = this.#witnesses.filter((witness) => isOf(witness.namespace));
    return witnesses.flatMap((witness) => witness.watchesAt(hop));
  }
}

function watchNodes({ cluster, openWatch }: ClusterWitnessesOptions): WatchFeed<Node> {
  return openWatch({
    cluster,
    kind: nodeKind,
    resource: "nodes",
    purposes: ["cause"],
    indexes: {},
    onChange: () => undefined,
  });
}
