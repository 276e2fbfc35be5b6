// Copies of EndpointSlices in an access cluster that follow their source late. The business cluster is
// right and the proxies follow their own cluster; the sync between the two is the late hop.

import { durationText } from "../../environment/duration-text.ts";
import type { Cause } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { type HopDelay, hopDelays } from "../evidence/hop-delays.ts";

const lateMs = 10_000;
const changesMin = 3;

export const staleCopies: Cause = {
  name: "stale-copies",
  summary:
    "Changes are published in the cluster of the pods and reach the copies in the access cluster late. " +
    "The sync between the clusters is the late hop.",
  affected: "It depends on the sync between clusters, not on the version.",
  shownBy: ["copied changes"],
  hop: "synced",
  explains: ["dead-endpoints", "no-endpoints"],

  signs(evidence) {
    const [first] = lateCopies(evidence);
    if (first === undefined) return [];
    const { witness, late, changes, missing, longestMs } = first;
    const never = missing === 0 ? "" : `, ${missing} not at all`;
    const text = `the copies in ${witness} showed ${late} of ${changes} published changes more than ${durationText(lateMs)} late, up to ${durationText(longestMs)}${never}`;
    const lines = [{ text, source: evidence.journeys?.source ?? "" }];
    return [{ weight: "proof", source: "changes", lines }];
  },

  conclude(evidence) {
    const cluster = lateCopies(evidence)[0]?.witness ?? "the access cluster";
    return {
      severity: "critical",
      cause: `The copies of EndpointSlices in ${cluster} are late, although the source cluster has published the changes.`,
      fix: {
        component: `the sync to ${cluster}`,
        change:
          "lockstep sync --from SOURCE --to ACCESS   # or the log and the limits of the sync that you run",
        reason:
          "The sync reads one cluster and writes another one: its watch of the source can be stale, and its " +
          "request limit in the access cluster can be used up. The proxies are not the reason.",
      },
      missing: ["the log of the sync controller"],
    };
  },
};

function lateCopies({ journeys }: Evidence): readonly HopDelay[] {
  if (journeys === undefined) return [];
  return hopDelays(journeys, "synced", lateMs).filter(({ late }) => late >= changesMin);
}
