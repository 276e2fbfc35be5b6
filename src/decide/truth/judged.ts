// An endpoint while it is being judged: the decision so far, and the facts that rules about whole
// sets of endpoints need.

import type { MonotonicMs } from "../../environment/clock.ts";
import { podState } from "../../model/pod-endpoint.ts";
import type { Doubt, DoubtCause } from "../../sources/probes.ts";
import type { DecidedEndpoint } from "../decision.ts";
import { probeTargetOf } from "./probe-target.ts";
import type { Candidate, TruthRule, Verdict } from "./verdict.ts";

/** One row of the truth table: the decision, and the report of each witness. */
export interface TruthEndpoint extends DecidedEndpoint {
  /** The rule that decided. */
  readonly rule: string;
  readonly pod: "ready" | "not ready" | "terminating" | "ended" | "gone" | "unknown";
  readonly published: "ready" | "not ready" | "absent";
}

export interface Judged {
  readonly endpoint: TruthEndpoint;
  readonly doubt: Doubt | undefined;
  /** Undefined for what is only remembered. */
  readonly candidate: Candidate | undefined;
  /** See `Verdict`. */
  readonly soleWitnessAtMs: MonotonicMs | undefined;
}

/** The first rule that decides counts; the last one always does. */
export function judge(candidate: Candidate, rules: readonly TruthRule[]): Judged {
  let cause: DoubtCause | undefined;
  for (const rule of rules) {
    cause ??= rule.doubt?.(candidate);
    const verdict = rule.decide(candidate);
    if (verdict === undefined) continue;
    return {
      endpoint: endpointOf(candidate, rule.name, verdict),
      doubt: cause && { ...probeTargetOf(candidate), cause },
      candidate,
      soleWitnessAtMs: verdict.soleWitnessAtMs,
    };
  }
  throw new Error("the last rule of truth decides always");
}

function endpointOf(
  candidate: Candidate,
  rule: string,
  { state, reason }: Pick<Verdict, "state" | "reason">,
): TruthEndpoint {
  const { address, port, cluster, podUid, podName, published } = candidate;
  const pod = podSays(candidate);
  const how = published === undefined ? "absent" : published.ready ? "ready" : "not ready";
  // The ordinary case, without copies: this runs for every endpoint of a service at every change.
  if (podUid !== undefined && podName !== undefined) {
    return { address, port, cluster, podUid, podName, state, reason, rule, pod, published: how };
  }
  const known = podUid === undefined ? {} : { podUid };
  const named = podName === undefined ? {} : { podName };
  return { address, port, cluster, ...known, ...named, state, reason, rule, pod, published: how };
}

function podSays({ pod, gone }: Candidate): TruthEndpoint["pod"] {
  if (gone !== undefined) return "gone";
  if (pod === undefined) return "unknown";
  return podState(pod.pod);
}
