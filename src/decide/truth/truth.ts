// Truth: the endpoints of one service port, each with its state and the reason for it, decided from
// everything the model knows. Pure: the same snapshot gives the same truth, in whatever order its
// facts stand.
import type { ServiceInCluster, ServiceSnapshot } from "../../model/service-snapshot.ts";
import type { Doubt, DoubtCause } from "../../sources/probes.ts";
import { compareText } from "../compare-text.ts";
import { type DecidedEndpoint, type EndpointState, isRouted } from "../decision.ts";
import { candidatesOf, servicePort } from "./candidates.ts";
import { neverEmpty } from "./never-empty.ts";
import { probeTargetOf } from "./probe-target.ts";
import { believeTraffic } from "./rules/believe-traffic.ts";
import { followPublished, followSlicesExactly } from "./rules/follow-published.ts";
import { holdThroughFlap } from "./rules/hold-through-flap.ts";
import { joinAtOnce } from "./rules/join-at-once.ts";
import { leaveAtOnce } from "./rules/leave-at-once.ts";
import type { Candidate, TruthRule } from "./verdict.ts";

export interface TruthPolicy {
  /** Route by the published slices alone, for every service. */
  readonly followSlices: boolean;
}

/** One row of the truth table: what is decided, beside what each witness says. */
export interface TruthEndpoint extends DecidedEndpoint {
  /** The rule that decided. */
  readonly rule: string;
  readonly pod: "ready" | "not ready" | "terminating" | "ended" | "gone" | "unknown";
  readonly published: "ready" | "not ready" | "absent";
}

export interface ServiceTruth {
  /** In a fixed order: by cluster, address, port and pod. */
  readonly endpoints: readonly TruthEndpoint[];
  /** Why there may be fewer endpoints than expected, in plain sentences. */
  readonly problems: readonly string[];
  /** Endpoints to be probed for as long as they are here: nothing else can settle their state. */
  readonly doubts: readonly Doubt[];
}

/** A service follows its slices exactly when its annotation says so. */
export const followSlicesAnnotation = "lockstep.dev/follow-slices";

/** The first rule that decides counts. */
export const rules: readonly TruthRule[] = [
  holdThroughFlap,
  leaveAtOnce,
  believeTraffic,
  joinAtOnce,
  followPublished,
];

export function truth(
  snapshot: ServiceSnapshot,
  port: number | string,
  policy: TruthPolicy,
): ServiceTruth {
  const judged = snapshot.clusters.flatMap((facts) => judgeAll(facts, port, policy));
  judged.sort((one, other) => compareEndpoints(one.endpoint, other.endpoint));
  return {
    endpoints: neverEmpty(judged.map(({ endpoint }) => endpoint)),
    problems: problemsOf(snapshot, port),
    doubts: judged.flatMap(({ doubt }) => doubt ?? []),
  };
}

/** Whether following the slices would have decided otherwise. */
export function overridesSlices(endpoint: TruthEndpoint): boolean {
  return isRouted(endpoint) !== (endpoint.published === "ready");
}

function judgeAll(facts: ServiceInCluster, port: number | string, policy: TruthPolicy): Judged[] {
  const found = servicePort(facts.service, port);
  if (found === undefined) return [];
  const asked = facts.service.annotations[followSlicesAnnotation] === "true";
  const chosen = policy.followSlices || asked ? [followSlicesExactly] : rules;
  return candidatesOf(facts, found).map((candidate) => judge(candidate, chosen));
}

interface Judged {
  readonly endpoint: TruthEndpoint;
  readonly doubt: Doubt | undefined;
}

function judge(candidate: Candidate, chosen: readonly TruthRule[]): Judged {
  let cause: DoubtCause | undefined;
  for (const rule of chosen) {
    cause ??= rule.doubt?.(candidate);
    const verdict = rule.decide(candidate);
    if (verdict === undefined) continue;
    const doubt = cause && { ...probeTargetOf(candidate), cause };
    return { endpoint: endpointOf(candidate, rule.name, verdict), doubt };
  }
  throw new Error("the last rule of truth decides always");
}

function endpointOf(
  candidate: Candidate,
  rule: string,
  { state, reason }: { readonly state: EndpointState; readonly reason: string },
): TruthEndpoint {
  const { address, port, cluster, podUid, podName, published } = candidate;
  return {
    address,
    port,
    cluster,
    ...(podUid === undefined ? {} : { podUid }),
    ...(podName === undefined ? {} : { podName }),
    state,
    reason,
    rule,
    pod: podSays(candidate),
    published: published === undefined ? "absent" : published.ready ? "ready" : "not ready",
  };
}

function podSays({ pod, podGone }: Candidate): TruthEndpoint["pod"] {
  if (podGone) return "gone";
  if (pod === undefined) return "unknown";
  const { phase, metadata, ready } = pod.pod;
  if (phase === "Failed" || phase === "Succeeded") return "ended";
  if (metadata.deletionTimestamp !== undefined) return "terminating";
  return ready === "True" ? "ready" : "not ready";
}

function problemsOf({ namespace, name, clusters }: ServiceSnapshot, port: number | string) {
  const key = `${namespace}/${name}`;
  if (clusters.length === 0) return [`no cluster has the service ${key}`];
  return clusters.flatMap(({ cluster, service }) => {
    if (service.type === "ExternalName") {
      return [`the service ${key} in ${cluster} is an external name, which is not routed`];
    }
    return servicePort(service, port) === undefined
      ? [`the service ${key} in ${cluster} has no port ${port}`]
      : [];
  });
}

function compareEndpoints(a: TruthEndpoint, b: TruthEndpoint): number {
  return (
    compareText(a.cluster, b.cluster) ||
    compareText(a.address, b.address) ||
    a.port - b.port ||
    compareText(a.podUid ?? "", b.podUid ?? "")
  );
}
