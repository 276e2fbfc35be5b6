// The clocks of all clusters beside the observer's, and what a cluster says about the time of a
// change once the difference is taken out of it.
import type { MonotonicMs } from "../environment/clock.ts";
import { type ClockAnchor, ClockSkew } from "./clock-skew.ts";
import type { ClusterTime } from "./journey.ts";
import type { Observation } from "./observation.ts";
import type { ClusterStamp, WitnessedEndpoint } from "./witness.ts";

export class ClockSkews {
  readonly #anchor: ClockAnchor | undefined;
  readonly #byCluster = new Map<string, ClockSkew>();

  /** Without an anchor nothing is compared. */
  constructor(anchor: ClockAnchor | undefined) {
    this.#anchor = anchor;
  }

  of(cluster: string): ClockSkew | undefined {
    return this.#byCluster.get(cluster);
  }

  /** Only live events of the pods themselves show the difference of the clocks. */
  note({ clusterStamp, endpoint, at, witness, baseline, notBefore }: Observation): void {
    const { cluster } = endpoint;
    if (clusterStamp === undefined || cluster === undefined || witness.hop !== "pod") return;
    if (this.#anchor === undefined || baseline === true || notBefore !== undefined) return;
    const skew = this.#byCluster.get(cluster) ?? new ClockSkew(this.#anchor);
    this.#byCluster.set(cluster, skew);
    skew.note(clusterStamp, at);
  }

  timeOf(
    stamp: ClusterStamp,
    change: { readonly endpoint: WitnessedEndpoint; readonly originAt: MonotonicMs },
  ): ClusterTime {
    const skew = this.#byCluster.get(change.endpoint.cluster ?? "");
    const beforeOriginMs = skew?.beforeMs(stamp, change.originAt);
    return { at: stamp.at, ...(beforeOriginMs && { beforeOriginMs }) };
  }
}
