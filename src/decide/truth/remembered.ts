// Endpoints of a cluster that has not been heard since the start: what was written down of them is
// the last truth there is (rule 5), and requests that fail are the only witness (rule 6).
import type { UnheardCluster } from "../../model/service-snapshot.ts";
import type { EndpointState } from "../decision.ts";
import { evidenceOf } from "./candidates.ts";
import type { Judged } from "./judged.ts";

const lastTruth = "it served before the start, and its cluster has not been heard since";

export function judgeRemembered(unheard: UnheardCluster): readonly Judged[] {
  return unheard.remembered.map((known): Judged => {
    const { cluster, address, port, podUid, podName } = known;
    const peer = { cluster, address, port, ...(podUid === undefined ? {} : { podUid }) };
    const { probed, unreached } = evidenceOf(unheard, { address, port, podUid });
    const isDead = unreached && probed === "silent";
    const state: EndpointState = isDead ? "suspect" : "active";
    const reason = isDead
      ? `${lastTruth}, but requests do not reach it, and it does not answer a probe`
      : lastTruth;
    return {
      endpoint: {
        ...peer,
        ...(podName === undefined ? {} : { podName }),
        state,
        reason,
        rule: isDead ? "believe traffic" : "doubt a stale source",
        pod: "unknown",
        published: "absent",
      },
      doubt: unreached ? { ...peer, cause: "traffic" } : undefined,
      candidate: undefined,
      soleWitnessAtMs: undefined,
    };
  });
}
