// What Lockstep has heard of a pod, and since when it must know that the pod leaves: because
// nothing was in the way of the API's word, because its own fresh watch said so, or because the
// slices did while nothing was heard of pods.
import type { EndpointSlice } from "../../src/kube/kinds/endpoint-slice.ts";
import type { Pod } from "../../src/kube/kinds/pod.ts";
import { freshnessCheckMs } from "../../src/sources/cluster-source.ts";
import type { PodRecord } from "./pod-records.ts";
import { knownStaleMs, type Row, recoveredMs, type SoakFacts } from "./soak-facts.ts";

interface HeardSlice {
  readonly slice: EndpointSlice;
  readonly seenMs: number;
}

export class SoakHearing {
  readonly #facts: SoakFacts;
  /** The uids of pods that the slices have called ready, as far as Lockstep has heard. */
  readonly #published = new Set<string>();

  constructor(facts: SoakFacts) {
    this.#facts = facts;
  }

  /** Called with every new truth of a service. */
  decided(after: readonly Row[]): void {
    for (const { podUid = "", published } of after) {
      if (published === "ready") this.#published.add(podUid);
    }
  }

  /** From when on Lockstep must know that the pod leaves; infinite while it need not. */
  knownToLeaveMs(record: PodRecord): number {
    return Math.min(this.#toldMs(record), this.#heardMs(record), this.#publishedMs(record));
  }

  /** From when on Lockstep hears at once what the API of a cluster says; infinite while it may not. */
  inStepMs(cluster: string): number {
    return this.#facts.quietSinceMs(cluster) + recoveredMs;
  }

  /** What Lockstep's pod watch says of it, and since when it and its service are known. */
  podHeardOf(record: PodRecord): { readonly pod: Pod; readonly atMs: number } | undefined {
    const { cluster, uid, name } = record;
    const source = this.#sourceOf(cluster);
    const pod = source?.pod("default", name);
    const service = source?.service("default", record.service);
    if (source === undefined || service === undefined || pod?.metadata.uid !== uid) {
      return undefined;
    }
    const seenMs = [pod, service].map((one) => Number(source.seenAtMs(one)));
    return { pod, atMs: Math.max(...seenMs) };
  }

  /** From when on the slices, heard well while nothing is heard of pods, have called the pod ready. */
  publishedReadyMs({ cluster, service, uid }: PodRecord): number {
    const naming = this.#slicesOf(cluster, service).find(({ slice }) =>
      slice.endpoints.some(({ ready, targetRef }) => targetRef?.uid === uid && ready !== false),
    );
    if (naming === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(naming.seenMs, this.#onlySlicesMs(cluster));
  }

  /** When its containers were found ready, in whole seconds, as far as is heard. */
  readyAt(podUid: string): number | undefined {
    const record = this.#facts.recordOf(podUid);
    return record && this.podHeardOf(record)?.pod.containersReadyTransitionTime;
  }

  /** When Lockstep should have learnt from the API that the pod leaves, however it listens. */
  #toldMs({ standing, sinceMs, cluster }: PodRecord): number {
    if (standing !== "leaving") return Number.POSITIVE_INFINITY;
    return Math.max(sinceMs, this.inStepMs(cluster));
  }

  /** When Lockstep's own pod watch, being fresh, said so. */
  #heardMs(record: PodRecord): number {
    const { cluster, uid } = record;
    const source = this.#sourceOf(cluster);
    if (source === undefined) return Number.POSITIVE_INFINITY;
    const heard = this.podHeardOf(record);
    const isLeaving =
      heard !== undefined &&
      (heard.pod.metadata.deletionTimestamp !== undefined ||
        (heard.pod.ready !== "True" && heard.pod.containersReady !== "True"));
    const heardAt = source.departed(uid)?.atMs ?? (isLeaving ? heard.atMs : undefined);
    if (heardAt === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(Number(heardAt), this.#facts.freshSinceMs(cluster) + 2 * freshnessCheckMs);
  }

  /**
   * When the slices, heard well while nothing is heard of pods, ceased to call the pod ready. Those of
   * a controller that is behind never called it so, or take it for an earlier pod at its address: then
   * they say nothing of it.
   */
  #publishedMs({ cluster, service, address, uid }: PodRecord): number {
    if (!this.#published.has(uid)) return Number.POSITIVE_INFINITY;
    const slices = this.#slicesOf(cluster, service);
    const isListed = slices.some(({ slice }) =>
      slice.endpoints.some(
        ({ ready, addresses }) => addresses.includes(address) && ready !== false,
      ),
    );
    if (isListed || slices.length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(...slices.map(({ seenMs }) => seenMs), this.#onlySlicesMs(cluster));
  }

  #slicesOf(cluster: string, service: string): readonly HeardSlice[] {
    const source = this.#sourceOf(cluster);
    const slices = source?.publishedOf("default", service).slices ?? [];
    return slices.map((slice) => ({ slice, seenMs: Number(source?.seenAtMs(slice)) }));
  }

  /** From when on Lockstep must go by the slices alone, as it says itself or as faults leave it. */
  #onlySlicesMs(cluster: string): number {
    const facts = this.#facts;
    const podsMs = Math.min(
      facts.podsUnheardSinceMs(cluster) + knownStaleMs,
      facts.podsStaleSinceMs(cluster) + 2 * freshnessCheckMs,
    );
    const slicesMs = Math.min(
      facts.slicesQuietSinceMs(cluster) + recoveredMs,
      facts.slicesFreshSinceMs(cluster) + 2 * freshnessCheckMs,
    );
    return Math.max(podsMs, slicesMs);
  }

  #sourceOf(cluster: string) {
    return this.#facts.loop()?.sources.find((one) => one.cluster === cluster);
  }
}
