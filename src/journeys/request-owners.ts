// Which changes a request has to do with. A request at some instant belongs to whoever had the
// address then; when nobody had it, to the one who had it last, for whom it came too late. Two
// services can share a pod, and where the log names none the request counts for both.
import type { MonotonicMs } from "../environment/clock.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import type { OpenJourney } from "./open-journey.ts";

/** What became of a request. */
export type RequestCount =
  /** It was sent to an address that joined, or left, a moment ago. */
  | "joined"
  | "left"
  /** It was sent to an endpoint with which nothing is going on. */
  | "ordinary"
  /** It is not known who had the address, or what became of that is no longer followed. */
  | "unknown";

export interface RequestOwners {
  readonly type: RequestCount;
  /** The journeys that it belongs to; there are some when it joined or left. */
  readonly journeys: readonly OpenJourney[];
}

/** An endpoint and the change after which the request fell. */
interface Held {
  readonly track: EndpointTrack;
  readonly journey: OpenJourney | undefined;
}

/** `tracks` are all that may have had the address. */
export function requestOwners(tracks: readonly EndpointTrack[], at: MonotonicMs): RequestOwners {
  const holders: Held[] = [];
  const leavers: Held[] = [];
  for (const track of tracks) {
    const { has, journey } = track.changes.holdingAt(at);
    if (has) holders.push({ track, journey });
    else if (journey !== undefined) leavers.push({ track, journey });
  }
  if (holders.length > 0) {
    const journeys = pendingOf(ofLatestPod(holders));
    return { type: journeys.length > 0 ? "joined" : "ordinary", journeys };
  }
  const journeys = pendingOf(ofLatestPod(leavers));
  return { type: journeys.length > 0 ? "left" : "unknown", journeys };
}

/** Of the pod that came, or went, last: of two that seem to have it, one has left unnoticed. */
function ofLatestPod(all: readonly Held[]): readonly Held[] {
  const latest = all.reduce<Held | undefined>(
    (last, one) => (last === undefined || since(one) > since(last) ? one : last),
    undefined,
  );
  const podUid = latest?.track.endpoint.podUid;
  return all.filter((one) => one === latest || isOfPod(one, podUid));
}

function isOfPod({ track }: Held, podUid: string | undefined): boolean {
  return podUid !== undefined && track.endpoint.podUid === podUid;
}

/** A change that was not observed was before all that were. */
function since({ journey }: Held): number {
  return journey?.originAt ?? -Infinity;
}

function pendingOf(all: readonly Held[]): readonly OpenJourney[] {
  return all.flatMap(({ journey }) => (journey?.outcome === "pending" ? [journey] : []));
}
