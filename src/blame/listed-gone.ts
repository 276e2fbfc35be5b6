// Pods that an endpoint list names and a list of pods lacks. They were gone by then, and the
// endpoint list was stale. This is how a stale endpoint looks if the recording began after the pod
// had left.
import type { Evidence } from "./evidence.ts";
import type { KillingEvents } from "./killing-events.ts";
import type { Listing } from "./publications.ts";

export interface ListedGoneOptions {
  readonly evidence: Evidence;
  readonly listing: Listing;
  readonly podUid: string;
  /** It was gone by then. */
  readonly byMs: number;
  /** They may show when it was asked to terminate. */
  readonly killings?: KillingEvents;
}

/** Listed as ready, so it was ready; and gone since. Only an event has the exact time. */
export function addListedGone(options: ListedGoneOptions): void {
  const { evidence, listing, podUid: uid, byMs, killings } = options;
  const { address, podName, service, cluster } = listing;
  const namespace = service.slice(0, service.indexOf("/"));
  const metadata = { uid, namespace, name: podName ?? uid };
  const ready = { type: "Ready", status: "True", lastTransitionTime: new Date(0).toISOString() };
  const object = { metadata, status: { podIP: address, conditions: [ready] } };
  // The writer of the list knew every event before the list's newest time.
  const afterMs = Math.max(0, Math.min(listing.changedMs, byMs));
  const seen = { atMs: byMs, isWatched: false, afterMs };
  evidence.add({ cluster, kind: "Pod", isDeleted: false, object, seen });
  killings?.addTo(evidence, { cluster, pod: object, uid });
  evidence.add({ cluster, kind: "Pod", isDeleted: true, object: { metadata }, seen });
}

/** Of recorded places: pods that the first lists lack. */
export function addGoneBeforeRecording(evidence: Evidence): void {
  // Those that had to be forgotten were seen.
  if (evidence.lives.dropped > 0) return;
  for (const listing of evidence.publications.found()) {
    const { podUid, cluster, service } = listing;
    if (podUid === undefined || evidence.lives.byUid(podUid) !== undefined) continue;
    const namespace = service.slice(0, service.indexOf("/"));
    const byMs = evidence.podsListedMs({ cluster, namespace });
    if (byMs !== undefined) addListedGone({ evidence, listing, podUid, byMs });
  }
}
