// An address that passes from one pod to another. Whoever knows only addresses goes on showing it: it
// cannot show that one pod left and the other joined, and is not waited for to do so.
import { type EndpointChanges, isPending } from "./endpoint-changes.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import type { OpenJourney } from "./open-journey.ts";

/** Returns what was taken for a return of the one that had the address before. */
export function handOver(before: EndpointTrack, successor: EndpointTrack): OpenJourney | undefined {
  const { changes, matches } = before;
  const doubtful = shownOnlyByAddress(changes);
  if (doubtful !== undefined) changes.remove(doubtful);
  const mistaken = doubtful !== undefined && isPending(doubtful) ? doubtful : undefined;
  const { current } = changes;
  const next = successor.changes.current;
  const isLeft = current?.direction === "leave" || doubtful !== undefined;
  if (!isLeft || next?.direction !== "join") return mistaken;
  for (const sight of changes.sights) {
    const { witness, at, notBefore, byAddress, direction } = sight;
    if (!byAddress || direction === "leave") continue;
    matches.clear(witness);
    if (successor.changes.shows(witness) === "leave") {
      successor.changes.see({ ...sight, passed: next.id, shown: next.id });
      const isOfNext = sight.shown === mistaken?.id && !sight.isBaseline;
      const late = notBefore === undefined ? {} : { notBefore };
      if (isOfNext) next.show({ witness, direction, endpoint: before.endpoint, at, ...late });
      else if (isPending(next) && !next.isMarkedBy(witness)) next.agree(witness, undefined);
    }
    changes.see({ ...sight, direction: "leave", passed: current?.id ?? 0 });
    if (current === undefined || !isPending(current) || current.isMarkedBy(witness)) continue;
    // What it said last was of the other one.
    current.agree(witness, undefined);
  }
  return mistaken;
}

/** A join that only those have shown who cannot tell whose it is. */
function shownOnlyByAddress({ current, sights }: EndpointChanges): OpenJourney | undefined {
  if (current?.direction !== "join") return undefined;
  // Also who has gone on from it: it then stands just before, where the pod has said nothing new.
  const showing = sights.filter(({ shown }) => shown > current.id - 1);
  return showing.length > 0 && showing.every(({ byAddress }) => byAddress) ? current : undefined;
}
