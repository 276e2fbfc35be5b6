// Endpoints of a cluster that has not been listed since the start. The saved state is the last
// known truth (rule 5), and failing requests are the only witness (rule 6). Endpoints that were
// leaving may be gone by now, and get a request only when nothing better is left.
import type { RememberedEndpoint } from "../../model/remembered-endpoint.ts";
import type { UnlistedCluster } from "../../model/service-snapshot.ts";
import { evidenceOf } from "./candidates.ts";
import type { Judged, TruthEndpoint } from "./judged.ts";
import type { Candidate } from "./verdict.ts";

const silence = "and its cluster has not answered since";
const lastTruth = `it served before the start, ${silence}`;
const lastLeaving = `it was terminating before the start, ${silence}`;
const lastUnreached = `requests to it failed before the start, ${silence}`;

export function judgeRemembered(unlisted: UnlistedCluster): readonly Judged[] {
  return unlisted.remembered.map((known): Judged => {
    const { cluster, address, port, podUid, podName } = known;
    const peer = { cluster, address, port, ...(podUid === undefined ? {} : { podUid }) };
    const { probed, unreached } = evidenceOf(unlisted, { address, port, podUid });
    return {
      endpoint: {
        ...peer,
        ...(podName === undefined ? {} : { podName }),
        ...verdictOn(known.state, { probed, unreached }),
        pod: "unknown",
        published: "absent",
      },
      // One that could not be reached is probed while there is no other source.
      doubt: unreached || known.state === "suspect" ? { ...peer, cause: "traffic" } : undefined,
      candidate: undefined,
      soleWitnessAtMs: undefined,
    };
  });
}

function verdictOn(
  before: RememberedEndpoint["state"],
  { probed, unreached }: Pick<Candidate, "probed" | "unreached">,
): Pick<TruthEndpoint, "state" | "reason" | "rule"> {
  const traffic = { state: "suspect", rule: "believe traffic" } as const;
  if (before === "suspect" && probed !== "answers") {
    return { ...traffic, reason: lastUnreached };
  }
  const reason = before === "draining" ? lastLeaving : lastTruth;
  if (unreached && probed === "silent") {
    const why = "but requests to it fail, and it does not answer probes";
    return { ...traffic, reason: `${reason}, ${why}` };
  }
  const state = before === "draining" ? "draining" : "active";
  return { state, rule: "doubt a stale source", reason };
}
