// All causes over one body of evidence: findings, the worst and surest first, consequences below the
// cause that explains them; and what is still missing to tell.
import { type Cause, weigh } from "./cause.ts";
import type { Evidence } from "./evidence/evidence.ts";
import { type EvidenceLine, type Finding, severities } from "./finding.ts";
import { apiOverloaded } from "./rules/api-overloaded.ts";
import { apiUnreachable } from "./rules/api-unreachable.ts";
import { apiserverFight } from "./rules/apiserver-fight.ts";
import { brokenWatches } from "./rules/broken-watches.ts";
import { clientThrottling } from "./rules/client-throttling.ts";
import { clockSkew } from "./rules/clock-skew.ts";
import { deadEndpoints } from "./rules/dead-endpoints.ts";
import { discoveryThrottling } from "./rules/discovery-throttling.ts";
import { emptyIngressStatus } from "./rules/empty-ingress-status.ts";
import { endpointBacklog } from "./rules/endpoint-backlog.ts";
import { etcdSlow } from "./rules/etcd-slow.ts";
import { failingProbes } from "./rules/failing-probes.ts";
import { ghostLeader } from "./rules/ghost-leader.ts";
import { headlessRewrites } from "./rules/headless-rewrites.ts";
import { lateHeartbeats } from "./rules/late-heartbeats.ts";
import { leaderChanges } from "./rules/leader-changes.ts";
import { missingPermission } from "./rules/missing-permission.ts";
import { noEndpoints } from "./rules/no-endpoints.ts";
import { noOpWrites } from "./rules/no-op-writes.ts";
import { overCapacity } from "./rules/over-capacity.ts";
import { perSyncGet } from "./rules/per-sync-get.ts";
import { requestPattern } from "./rules/request-pattern.ts";
import { selectorMismatch } from "./rules/selector-mismatch.ts";
import { slowReloads } from "./rules/slow-reloads.ts";
import { slowRequests } from "./rules/slow-requests.ts";
import { staleCache } from "./rules/stale-cache.ts";
import { staleCopies } from "./rules/stale-copies.ts";
import { staleProxy } from "./rules/stale-proxy.ts";
import { strayMachine } from "./rules/stray-machine.ts";
import { stuckLeader } from "./rules/stuck-leader.ts";
import { terminationRace } from "./rules/termination-race.ts";
import { type Unexamined, unexaminedCauses } from "./sources.ts";

/** Of equally bad and equally sure ones the first is shown first: causes before effects. */
export const allCauses: readonly Cause[] = [
  headlessRewrites,
  apiserverFight,
  noOpWrites,
  clientThrottling,
  perSyncGet,
  endpointBacklog,
  staleCache,
  strayMachine,
  ghostLeader,
  stuckLeader,
  lateHeartbeats,
  missingPermission,
  etcdSlow,
  apiOverloaded,
  apiUnreachable,
  leaderChanges,
  brokenWatches,
  failingProbes,
  selectorMismatch,
  overCapacity,
  staleProxy,
  staleCopies,
  terminationRace,
  slowReloads,
  noEndpoints,
  deadEndpoints,
  emptyIngressStatus,
  slowRequests,
  clockSkew,
  discoveryThrottling,
  requestPattern,
];

export interface Diagnosis {
  readonly findings: readonly Finding[];
  /** Causes that something points to, but not enough, with what would tell. */
  readonly open: readonly OpenCause[];
  /** Causes for which no evidence was given, with how to provide it. */
  readonly unexamined: readonly Unexamined[];
}

export interface OpenCause {
  readonly rule: string;
  /** The lines that point to it. */
  readonly evidence: readonly EvidenceLine[];
  readonly missing: readonly string[];
}

export function diagnose(evidence: Evidence, causes: readonly Cause[] = allCauses): Diagnosis {
  const found = new Map<string, Finding>();
  const open: OpenCause[] = [];
  for (const cause of causes) {
    const finding = weigh(cause, evidence);
    if (finding !== undefined) found.set(cause.name, finding);
    else if (isOpen(cause, evidence)) {
      const seen = cause.signs(evidence).flatMap(({ lines }) => lines);
      const { missing = [] } = cause.conclude(evidence);
      open.push({ rule: cause.name, evidence: seen, missing });
    }
  }
  const explained = new Set<string>();
  for (const cause of causes) {
    const finding = found.get(cause.name);
    if (finding === undefined || explained.has(cause.name)) continue;
    const consequences = effectsOf(cause, evidence).flatMap((name) => {
      const effect = found.get(name);
      if (effect === undefined || explained.has(name)) return [];
      explained.add(name);
      // One level is shown: effects of an effect follow from the same cause.
      return [{ ...effect, consequences: [] }, ...effect.consequences];
    });
    found.set(cause.name, { ...finding, consequences });
  }
  const isExplained = (rule: string): boolean =>
    causes.some((cause) => found.has(cause.name) && effectsOf(cause, evidence).includes(rule));
  const findings = [...found.values()]
    .filter(({ rule }) => !explained.has(rule))
    .sort(byImportance);
  const pointedTo = new Set([...found.keys(), ...open.map(({ rule }) => rule)]);
  return {
    findings,
    open: open.filter(({ rule }) => !isExplained(rule)),
    unexamined: unexaminedCauses(
      causes.filter(({ name }) => !pointedTo.has(name)),
      evidence,
    ),
  };
}

function effectsOf(cause: Cause, evidence: Evidence): readonly string[] {
  return [...cause.explains, ...(cause.explainsToo?.(evidence) ?? [])];
}

function isOpen(cause: Cause, evidence: Evidence): boolean {
  const signs = cause.signs(evidence);
  return signs.length > 0 && signs.every(({ weight }) => weight === "support");
}

const confidences = ["possible", "likely", "certain"];

function byImportance(a: Finding, b: Finding): number {
  const severity = severities.indexOf(b.severity) - severities.indexOf(a.severity);
  const rank = ({ confidence }: Finding): number =>
    confidences.indexOf(confidence.split(":")[0] ?? "");
  return severity === 0 ? rank(b) - rank(a) : severity;
}
