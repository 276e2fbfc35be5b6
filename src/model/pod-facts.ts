// The pod watch's view of the pods of one service: those it selects, those its published endpoints
// name, which of these are gone and how that is known, and addresses that another pod claims too.
import type { MonotonicMs } from "../environment/clock.ts";
import type { Pod } from "../kube/kinds/pod.ts";
import type { Service } from "../kube/kinds/service.ts";
import type { Departure } from "../sources/departed-pods.ts";
import { selects } from "../sources/service-pods.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import type { PublishedEndpoint } from "./published-endpoint.ts";
import type { PodFacts, SnapshotSource } from "./service-snapshot.ts";

export function podFacts(
  source: SnapshotSource,
  service: Service,
  published: readonly PublishedEndpoint[],
): PodFacts {
  const watch = source.watch("pods");
  const pods = new Map<string, Pod>();
  const gone = new Map<string, Departure>();
  for (const pod of source.podsOf(service)) pods.set(pod.metadata.uid, pod);
  for (const { pod: named, seenAtMs } of published) {
    if (named === undefined || pods.has(named.uid) || gone.has(named.uid)) continue;
    const pod = source.pod(service.metadata.namespace, named.name);
    if (pod?.metadata.uid === named.uid) {
      pods.set(named.uid, pod);
      continue;
    }
    const departure = departureOf(source, named.uid, pod) ?? provedAbsent(watch, seenAtMs);
    if (departure !== undefined) gone.set(named.uid, departure);
  }
  const { selector } = service;
  const facts = [...pods.values()].map((pod) => ({
    pod,
    seenAtMs: source.seenAtMs(pod),
    selected: selects(selector, pod.metadata.labels),
  }));
  const addressClaimants = selector === undefined ? none : claimantsOf(source, pods, published);
  return { watch, pods: facts, gone, addressClaimants };
}

const none: PodFacts["addressClaimants"] = new Map();

/** A name that has passed to a successor proves as much as a deletion that was seen. */
function departureOf(
  source: SnapshotSource,
  uid: string,
  successor: Pod | undefined,
): Departure | undefined {
  if (successor === undefined) return source.departed(uid);
  return { atMs: source.seenAtMs(successor), isWitnessed: true };
}

/**
 * The pod existed before the slice that names it was seen. If the watch has since proved to show
 * everything that was true at a later moment, and does not show the pod, then it is gone.
 */
function provedAbsent({ currentAtMs }: WatchStatus, namedAtMs: MonotonicMs): Departure | undefined {
  if (currentAtMs === undefined || currentAtMs < namedAtMs) return undefined;
  return { atMs: namedAtMs, isWitnessed: false };
}

function claimantsOf(
  source: SnapshotSource,
  pods: ReadonlyMap<string, Pod>,
  published: readonly PublishedEndpoint[],
): PodFacts["addressClaimants"] {
  let addressClaimants: Map<string, readonly Pod[]> | undefined;
  const look = (address: string, expectedUid: string): void => {
    const found = source.claimantsAt(address, expectedUid);
    if (found === undefined) return;
    addressClaimants ??= new Map();
    addressClaimants.set(address, found);
  };
  for (const { podIP, secondPodIP, metadata } of pods.values()) {
    if (podIP !== "") look(podIP, metadata.uid);
    if (secondPodIP !== undefined) look(secondPodIP, metadata.uid);
  }
  for (const { address, pod } of published) {
    if (pod !== undefined && pods.get(pod.uid)?.podIP !== address) look(address, pod.uid);
  }
  return addressClaimants ?? none;
}
