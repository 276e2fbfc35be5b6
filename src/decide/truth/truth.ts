// Truth: the endpoints of one service port, each with its state and the reason for it, decided from
// everything the model knows. Pure: the same snapshot gives the same truth, in whatever order its
// facts stand.
import { atOnce, mapInSteps, type Steps, sortedInSteps } from "../../environment/steps.ts";
import {
  describeAbsence,
  type ServiceInCluster,
  type ServiceSnapshot,
} from "../../model/service-snapshot.ts";
import type { Doubt } from "../../sources/probes.ts";
import { compareText } from "../compare-text.ts";
import { isRouted } from "../decision.ts";
import { candidatesInSteps, servicePort } from "./candidates.ts";
import {
  externalEndpoints,
  externalNameRule,
  externalProblems,
  isExternalName,
} from "./external-name.ts";
import { type Judged, judge, type TruthEndpoint } from "./judged.ts";
import { judgeRemembered } from "./remembered.ts";
import { believeTraffic } from "./rules/believe-traffic.ts";
import { doubtStaleSource } from "./rules/doubt-stale-source.ts";
import { followPublished, followSlicesExactly } from "./rules/follow-published.ts";
import { holdThroughFlap } from "./rules/hold-through-flap.ts";
import { joinAtOnce } from "./rules/join-at-once.ts";
import { knowTheOwner } from "./rules/know-the-owner.ts";
import { leaveAtOnce } from "./rules/leave-at-once.ts";
import { neverEmpty } from "./rules/never-empty.ts";
import { noMassRemoval } from "./rules/no-mass-removal.ts";
import { unreachableCluster } from "./rules/unreachable-cluster.ts";
import { followsSlices, type ServiceSettings, serviceSettings } from "./service-settings.ts";
import { clusterPriority, markStandIns, shared } from "./spread.ts";
import type { TruthPolicy } from "./truth-policy.ts";
import type { TruthRule } from "./verdict.ts";

export interface ServiceTruth {
  /** In a fixed order: by cluster, address, port and pod. */
  readonly endpoints: readonly TruthEndpoint[];
  /** Why there may be fewer endpoints than expected, in plain sentences. */
  readonly problems: readonly string[];
  /** Endpoints to be probed for as long as they are here: nothing else can settle their state. */
  readonly probeRequests: readonly Doubt[];
}

/** About one endpoint each, in the order of evaluation: the first that decides counts. */
export const rules: readonly TruthRule[] = [
  knowTheOwner,
  holdThroughFlap,
  leaveAtOnce,
  believeTraffic,
  joinAtOnce,
  doubtStaleSource,
  followPublished,
];

export function truth(
  snapshot: ServiceSnapshot,
  port: number | string,
  policy: TruthPolicy,
): ServiceTruth {
  return atOnce(truthInSteps(snapshot, port, policy));
}

/** The same in steps, for services of many endpoints. */
export function* truthInSteps(
  snapshot: ServiceSnapshot,
  port: number | string,
  policy: TruthPolicy,
): Steps<ServiceTruth> {
  const settings = serviceSettings(snapshot, policy);
  const unsorted: Judged[] = [];
  for (const facts of snapshot.clusters) {
    const some = yield* inCluster(snapshot, facts, port, policy, settings);
    for (const one of some) unsorted.push(one);
  }
  for (const one of remembered(snapshot, settings)) unsorted.push(one);
  const judged = yield* sortedInSteps(unsorted, (one, other) =>
    compareEndpoints(one.endpoint, other.endpoint),
  );
  const guarded = neverEmpty(judged.map(({ endpoint }) => endpoint));
  return {
    endpoints: markStandIns(shared(guarded, settings)),
    problems: [...problemsOf(snapshot, port, policy), ...settings.problems],
    probeRequests: judged.flatMap(({ doubt }) => doubt ?? noDoubts),
  };
}

const noDoubts: readonly Doubt[] = [];

/** Whether following the slices would have decided otherwise. */
export function overridesSlices(endpoint: TruthEndpoint): boolean {
  // An external name has no slices that could say anything.
  if (endpoint.rule === externalNameRule) return false;
  return isRouted(endpoint) !== (endpoint.published === "ready");
}

function* inCluster(
  snapshot: ServiceSnapshot,
  facts: ServiceInCluster,
  port: number | string,
  policy: TruthPolicy,
  settings: ServiceSettings,
): Steps<readonly Judged[]> {
  const priority = clusterPriority(snapshot, settings, facts.cluster);
  if (isExternalName(facts)) {
    return placed(externalEndpoints(facts, port, policy), priority, facts, settings);
  }
  const found = servicePort(facts.service, port);
  if (found === undefined) return [];
  const candidates = yield* candidatesInSteps(facts, found);
  if (followsSlices(facts.service, policy)) {
    const exactly = yield* mapInSteps(candidates, (one) => judge(one, [followSlicesExactly]));
    return placed(exactly, priority);
  }
  const judged = yield* mapInSteps(candidates, (one) => judge(one, rules));
  return placed(noMassRemoval(judged), priority, facts, settings);
}

function remembered(snapshot: ServiceSnapshot, settings: ServiceSettings): readonly Judged[] {
  return (snapshot.unlisted ?? []).flatMap((unlisted) => {
    const priority = clusterPriority(snapshot, settings, unlisted.cluster);
    return placed(judgeRemembered(unlisted), priority, unlisted, settings);
  });
}

/** With the priority of their cluster, and what its silence means. */
function placed(
  judged: readonly Judged[],
  priority: number,
  cluster?: Pick<ServiceInCluster, "cluster" | "isUnreachable">,
  settings?: ServiceSettings,
): readonly Judged[] {
  const ranked =
    priority === 0
      ? judged
      : judged.map((one) => ({ ...one, endpoint: { ...one.endpoint, priority } }));
  if (cluster?.isUnreachable !== true || settings === undefined) return ranked;
  const unreachable = settings.unreachable.get(cluster.cluster) ?? settings.unreachableElse;
  return unreachableCluster(ranked, { ...settings, unreachable });
}

function problemsOf(
  snapshot: ServiceSnapshot,
  port: number | string,
  policy: TruthPolicy,
): readonly string[] {
  const { namespace, name, clusters, unlisted = [], silent = [] } = snapshot;
  const key = `${namespace}/${name}`;
  const unknown = [
    ...unlisted.map(
      ({ cluster }) =>
        `the cluster ${cluster} has not answered yet: its last known endpoints stay in use`,
    ),
    ...silent.map((cluster) => `the cluster ${cluster} has not answered yet: it may have ${key}`),
  ];
  if (clusters.length === 0) {
    return unknown.length === 0 ? [describeAbsence(snapshot)] : unknown;
  }
  const missing = clusters.flatMap((facts) => {
    const { cluster, service, published } = facts;
    if (isExternalName(facts)) return externalProblems(facts, port, policy);
    if (servicePort(service, port) === undefined) {
      return [`the service ${key} in ${cluster} has no port ${port}`];
    }
    if (published.isCut !== true) return [];
    const most = `${published.endpoints.length} endpoints`;
    return [`the service ${key} in ${cluster} has more than ${most}; the others are ignored`];
  });
  return [...unknown, ...missing];
}

function compareEndpoints(a: TruthEndpoint, b: TruthEndpoint): number {
  return (
    compareText(a.cluster, b.cluster) ||
    compareText(a.address, b.address) ||
    a.port - b.port ||
    compareText(a.podUid ?? "", b.podUid ?? "")
  );
}
