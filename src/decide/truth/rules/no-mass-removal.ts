// Rule 10, no mass removal on one witness. The pod watch alone may report that most endpoints of a
// service in a cluster left at about the same time, while the slices still list them. Then the
// watch may be wrong: a list that lost them, or a server with an old history. Endpoints that answer
// a probe are held until the slices agree, a probe fails, or the watch has been consistent for so
// long that an error would have been found. Intended removals do not count: pods that were seen to
// be deleted, to terminate, to end, or to lose their labels leave at once.
import { elapsedMs } from "../../../environment/clock.ts";
import { isRouted } from "../../decision.ts";
import type { Judged } from "../judged.ts";
import { probeTargetOf } from "../probe-target.ts";
import { isPublishedReady, type Verdict } from "../verdict.ts";

const name = "no mass removal on one witness";

/** Removals within this time count as one: one list, or one round of the nodes' reports. */
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
