// Whether this replica should get requests, and why not. Ready means that the clusters were listed,
// a decision was made from them, and nginx serves by it.
//
// Staleness alone makes no replica unready unless configured. When an API server is down, every
// replica is stale at once, and all serve well by the last truth. A load balancer would have no
// replica left. Staleness is reported as text and as a metric. The same holds for a list that is
// not applied because it lacks most objects, and for entries without room in the proxy: a tenant
// must not be able to take replicas out of service. Secrets never matter: a watch of one Secret is
// a list of one object.
import type { LeftOutEntry } from "../outputs/nginx/entry-memory.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import { leftOutNotes } from "./left-out.ts";

export interface FreshnessPolicy {
  /** Unready while a watch is stale for longer than `staleAfterMs`. */
  readonly readyRequiresFresh: boolean;
  readonly staleAfterMs: number;
}

export interface ReadinessFacts {
  readonly isDraining: boolean;
  /** The first decision has been made. */
  readonly isDecided: boolean;
  /** The reason why the proxy cannot serve; undefined when it can. */
  readonly proxyProblem: string | undefined;
  readonly watches: readonly AgedWatch[];
  readonly policy: FreshnessPolicy;
  /** Lists of Secrets that were not applied, in words. */
  readonly doubtedSecrets?: readonly string[];
  /** Entries that do not fit into the proxy's memory beside those of others. */
  readonly leftOut?: readonly LeftOutEntry[];
}

/** One watch, and since when it has not been current. */
export interface AgedWatch {
  /** The watched kind: `pods`. */
  readonly kind: string;
  readonly cluster: string;
  readonly status: WatchStatus;
  /** Undefined when it never was. */
  readonly provedCurrentMsAgo: number | undefined;
}

export interface Readiness {
  /** Undefined when it is ready. */
  readonly problem: string | undefined;
  /** Problems that do not stop it from serving. */
  readonly notes: readonly string[];
}

export const defaultFreshnessPolicy: FreshnessPolicy = {
  readyRequiresFresh: false,
  staleAfterMs: 300_000,
};

/** Lines of /readyz: namespaces that name many secrets have a list each. */
const maxDoubtedSecrets = 20;

export function readiness(facts: ReadinessFacts): Readiness {
  const { isDraining, isDecided, proxyProblem, watches, policy } = facts;
  if (isDraining) return { problem: "stopping", notes: [] };
  if (!isDecided) {
    const waiting = watches.filter(({ status }) => status.state !== "fresh").map(described);
    return { problem: "the clusters have not been listed yet", notes: waiting };
  }
  if (proxyProblem !== undefined) return { problem: proxyProblem, notes: [] };
  const services = watches.filter(({ kind }) => kind === "services");
  if (services.length > 0 && services.every(isRefused)) {
    return {
      problem: "no permission to watch services in any cluster",
      notes: services.map(described),
    };
  }
  const stale = watches.filter((watch) => isStale(watch, policy));
  const [first] = stale.map(described);
  const notes = [
    ...stale.map(described),
    ...[...new Set(facts.doubtedSecrets)].slice(0, maxDoubtedSecrets),
    ...leftOutNotes(facts.leftOut ?? []),
  ];
  return policy.readyRequiresFresh && first !== undefined
    ? { problem: `stale data: ${first}`, notes }
    : { problem: undefined, notes };
}

/** A watch that is refused is not stale: nothing that could be known is missing. */
function isStale({ status, provedCurrentMsAgo }: AgedWatch, { staleAfterMs }: FreshnessPolicy) {
  const isOld = (provedCurrentMsAgo ?? Infinity) >= staleAfterMs;
  return status.doubt !== undefined || (status.state === "stale" && isOld);
}

/** Objects listed before the permission was removed still count. */
function isRefused({ status, provedCurrentMsAgo }: AgedWatch): boolean {
  return status.state === "refused" && provedCurrentMsAgo === undefined;
}

function described({ kind, cluster, status, provedCurrentMsAgo }: AgedWatch): string {
  if (status.doubt !== undefined) return `${cluster}: ${status.doubt}`;
  const age =
    provedCurrentMsAgo === undefined
      ? "were never listed"
      : `were last known to be up to date ${Math.round(provedCurrentMsAgo / 1_000)} s ago`;
  const what = kind === "published" ? "published endpoints" : kind;
  return `${what} of ${cluster} ${age}${status.detail === "" ? "" : ` (${status.detail})`}`;
}
