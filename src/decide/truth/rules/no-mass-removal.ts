// Rule 10, no mass removal on one witness. When the pod watch alone says that most endpoints of a
// service in a cluster have left at about the same time, and the slices still list them, it may be
// the watch that is wrong: a list that lost them, a server that woke up with an old history. Those
// that answer a probe are held until the slices agree, a probe is missed, or the watch has said the
// same for so long that it would have been found out. What somebody meant does not count: pods that
// were seen to be deleted, to terminate, to end, or to lose their labels leave at once.
import { elapsedMs } from "../../../environment/clock.ts";
import { isRouted } from "../../decision.ts";
import type { Judged } from "../judged.ts";
import { probeTargetOf } from "../probe-target.ts";
import { isPublishedReady, type Verdict } from "../verdict.ts";

const name = "no mass removal on one witness";

/** What leaves within so long leaves together: one list, or one round of the nodes' reports. */
export const togetherMs = 10_000;

/** The endpoints of one service in one cluster. */
export function noMassRemoval(judged: readonly Judged[]): readonly Judged[] {
  const sudden = suddenlyDropped(judged);
  if (sudden.size === 0) return judged;
  const staying = judged.filter(({ endpoint }) => isRouted(endpoint)).length;
  if (sudden.size <= staying) return judged;
  return judged.map((one) => (sudden.has(one) ? held(one) : one));
}

/** Those that left with the last to leave, and those held since an earlier time. */
function suddenlyDropped(judged: readonly Judged[]): ReadonlySet<Judged> {
  let lastMs: Judged["soleWitnessAtMs"];
  for (const one of judged) {
    const { soleWitnessAtMs: atMs } = one;
    if (atMs === undefined || !isDropped(one)) continue;
    if (lastMs === undefined || atMs > lastMs) lastMs = atMs;
  }
  const sudden = new Set<Judged>();
  if (lastMs === undefined) return sudden;
  for (const one of judged) {
    const { soleWitnessAtMs: atMs, candidate } = one;
    if (atMs === undefined || !isDropped(one)) continue;
    const isHeld = candidate?.doubted?.cause === "mass";
    if (isHeld || elapsedMs(atMs, lastMs) <= togetherMs) sudden.add(one);
  }
  return sudden;
}

function isDropped({ candidate, endpoint }: Judged): boolean {
  if (candidate === undefined || endpoint.state !== "out") return false;
  return candidate.probed !== undefined && isPublishedReady(candidate);
}

function held(one: Judged): Judged {
  const { candidate, endpoint } = one;
  if (candidate === undefined) return one;
  const doubt = { ...probeTargetOf(candidate), cause: "mass" } as const;
  const { state, reason } = verdictOn(candidate);
  return {
    ...one,
    doubt,
    endpoint: { ...endpoint, state, rule: name, reason: `${endpoint.reason}; ${reason}` },
  };
}

function verdictOn({ probed, doubted }: NonNullable<Judged["candidate"]>): Verdict {
  const alone = "most endpoints disappeared at once, and only the pod watch reports it";
  if (probed === "silent") return { state: "out", reason: "it does not answer probes" };
  if (doubted?.isOld === true && doubted.cause === "mass") {
    return { state: "out", reason: "the pod watch has reported it for long enough" };
  }
  return probed === "answers"
    ? { state: "held", reason: `${alone}; it answers probes` }
    : { state: "suspect", reason: `${alone}; it is being probed` };
}
