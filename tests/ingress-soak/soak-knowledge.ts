// Lockstep's knowledge of a pod, and since when it must know that the pod leaves: because the API's
// events were undisturbed, because its own fresh watch showed it, or because the slices did while
// pod events were blocked.
import type { EndpointSlice } from "../../src/kube/kinds/endpoint-slice.ts";
import type { Pod } from "../../src/kube/kinds/pod.ts";
import { freshnessCheckMs } from "../../src/sources/cluster-source.ts";
import type { PodRecord } from "./pod-records.ts";
import { knownStaleMs, type Row, recoveredMs, type SoakFacts } from "./soak-facts.ts";

interface KnownSlice {
  readonly slice: EndpointSlice;
  readonly seenMs: number;
}

export class SoakKnowledge {
  readonly #facts: SoakFacts;
  /**
   * The uids of pods that the slices have listed as ready, as far as Lockstep has received them.
   */
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
    return Math.min(this.#reportedMs(record), this.#watchedMs(record), this.#publishedMs(record));
  }

  /** Since when Lockstep receives events of a cluster at once; infinite while it may not. */
  inStepMs(cluster: string): number {
    return this.#facts.quietSinceMs(cluster) + recoveredMs;
  }

  /** The pod in Lockstep's pod watch, and since when it and its service are known. */
  knownPod(record: PodRecord): { readonly pod: Pod; readonly atMs: number } | undefined {
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

  /**
   * Since when the slices, undisturbed while pod events are blocked, have listed the pod as ready.
   */
  publishedReadyMs({ cluster, service, uid }: PodRecord): number {
    const naming = this.#slicesOf(cluster, service).find(({ slice }) =>
      slice.endpoints.some(({ ready, targetRef }) => targetRef?.uid === uid && ready !== false),
    );
    if (naming === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(naming.seenMs, this.#onlySlicesMs(cluster));
  }

  /** When its containers became ready, in whole seconds, as far as known. */
  readyAt(podUid: string): number | undefined {
    const record = this.#facts.recordOf(podUid);
    return record && this.knownPod(record)?.pod.containersReadyTransitionTime;
  }

  /** When Lockstep should have learnt from the API that the pod leaves, however it listens. */
  #reportedMs({ standing, sinceMs, cluster }: PodRecord): number {
    if (standing !== "leaving") return Number.POSITIVE_INFINITY;
    return Math.max(sinceMs, this.inStepMs(cluster));
  }

  /** When Lockstep's own pod watch, being fresh, said so. */
  #watchedMs(record: PodRecord): number {
    const { cluster, uid } = record;
    const source = this.#sourceOf(cluster);
    if (source === undefined) return Number.POSITIVE_INFINITY;
    const seen = this.knownPod(record);
    const isLeaving =
      seen !== undefined &&
      (seen.pod.metadata.deletionTimestamp !== undefined ||
        (seen.pod.ready !== "True" && seen.pod.containersReady !== "True"));
    const seenAt = source.departed(uid)?.atMs ?? (isLeaving ? seen.atMs : undefined);
    if (seenAt === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(Number(seenAt), this.#facts.freshSinceMs(cluster) + 2 * freshnessCheckMs);
  }

  /**
   * When the slices, undisturbed while pod events are blocked, stopped listing the pod as ready.
   * Slices of a controller that is behind never listed it, or had an earlier pod at its address:
   * then they show nothing about it.
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

  #slicesOf(cluster: string, service: string): readonly KnownSlice[] {
    const source = this.#sourceOf(cluster);
    const slices = source?.publishedOf("default", service).slices ?? [];
    return slices.map((slice) => ({ slice, seenMs: Number(source?.seenAtMs(slice)) }));
  }

  /** From when on Lockstep must go by the slices alone, as it says itself or as faults leave it. */
  #onlySlicesMs(cluster: string): number {
    const facts = this.#facts;
    const podsMs = Math.min(
      facts.podsSilentSinceMs(cluster) + knownStaleMs,
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
