// The verdict on a request for which the proxy tried no endpoint. Either the service had no
// endpoint at that moment, and the verdict says why for each pod. Or it had some, and the proxy did
// not know of them yet.
import type { AccessLogEntry } from "../access-log/access-log-entry.ts";
import type { PodHistory } from "./address-lives.ts";
import type { NamespacePlace } from "./coverage.ts";
import { type Evidence, podsOfServiceMax } from "./evidence.ts";
import { type Happening, standingAt } from "./pod-life.ts";
import { type Listing, lastMs } from "./publications.ts";
import { type Length, lengthOf, type Span } from "./span.ts";
import { type LogClock, requestSent } from "./try-time.ts";
import type { RequestVerdict } from "./verdict.ts";

export type UntriedVerdict = Pick<
  RequestVerdict,
  "cause" | "confidence" | "late" | "because" | "service"
>;

/** If a proxy has not received an endpoint for longer than this, it refuses for another reason. */
const joinMaxMs = 600_000;

export function judgeUntried(
  entry: AccessLogEntry,
  evidence: Evidence,
  clock: LogClock,
): UntriedVerdict {
  const { service, triesUnknown } = entry;
  if (triesUnknown !== undefined || service === undefined) {
    const because = triesUnknown ?? "the log names neither an endpoint nor a service for it";
    return { service, cause: "unknown", confidence: "cannot tell", late: undefined, because };
  }
  const sent = requestSent(entry, clock);
  const listed = evidence.publications.latestFirst(service);
  const pods = [...evidence.podsOf(service)];
  const externalName = evidence.services.externalName(service);
  if (externalName !== undefined) {
    const because = `it is the external name ${externalName}`;
    return { service, cause: "outside", confidence: "certain", late: undefined, because };
  }
  if (!evidence.services.has(service) && listed.length === 0 && pods.length === 0) {
    const because = "no data about it: it was not recorded, or does not exist";
    return { service, cause: "unknown", confidence: "cannot tell", late: undefined, because };
  }
  if (pods.length >= podsOfServiceMax) {
    const because = `it had more than ${podsOfServiceMax - 1} pods in all, too many to look at`;
    return { service, cause: "unknown", confidence: "cannot tell", late: undefined, because };
  }
  if (!isFollowed(evidence, service, sent)) {
    const because = "it was not recorded at that time";
    return { service, cause: "unknown", confidence: "cannot tell", late: undefined, because };
  }
  return (
    judgeListed(service, listed, sent) ??
    judgeUnlisted(service, pods, sent, hasLists(evidence, service))
  );
}

/** Absence proves something only while pods are followed, in every place that has the service. */
function isFollowed(evidence: Evidence, service: string, sent: Span): boolean {
  return placesOf(evidence, service).every((place) => evidence.isCovered(place, sent));
}

/** Undefined when nothing was listed. */
function judgeListed(
  service: string,
  latestFirst: readonly Listing[],
  sent: Span,
): UntriedVerdict | undefined {
  const then = latestFirst.filter(
    (one) => one.from.fromMs <= sent.toMs && lastMs(one) > sent.fromMs,
  );
  if (then.length === 0) return undefined;
  const late = lengthOf(listedSince(latestFirst, sent), sent);
  const count = `${then.length} endpoint${then.length === 1 ? " was" : "s were"} listed`;
  if (late.mostMs > joinMaxMs) {
    const because = `${count}, so the proxy had another reason not to try one`;
    return { service, cause: "unknown", confidence: "cannot tell", late: undefined, because };
  }
  // It may have refused for another reason, such as a limit of requests.
  const because = `${count}, but the proxy had none`;
  return { service, cause: "joined late", confidence: "likely", late, because };
}

/** Since when the service has had at least one endpoint without a break. */
function listedSince(latestFirst: readonly Listing[], sent: Span): Span {
  let since: Span = sent;
  for (const one of latestFirst) {
    if (lastMs(one) < since.fromMs) break;
    if (one.from.fromMs < since.fromMs) since = one.from;
  }
  return since;
}

function judgeUnlisted(
  service: string,
  pods: readonly PodHistory[],
  sent: Span,
  areListsKnown: boolean,
): UntriedVerdict {
  const standings = pods.map((pod) => standingAt(pod.moments, sent.fromMs, "to"));
  const ready = standings.flatMap((one) => (one.type === "serving" ? [one.since.at] : []));
  if (ready.length > 0 && areListsKnown) {
    const late = longest(ready.map((at) => lengthOf(at, sent)));
    const count = ready.length === 1 ? "1 pod was" : `${ready.length} pods were`;
    const because = `${count} ready and not listed yet`;
    return { service, cause: "joined late", confidence: "certain", late, because };
  }
  const because = reasons(pods, sent);
  const confidence = ready.length === 0 && areListsKnown ? "certain" : "likely";
  return { service, cause: "no endpoints", confidence, late: undefined, because };
}

/** `2 not ready, 1 terminating`; of the pods that existed then. */
function reasons(pods: readonly PodHistory[], sent: Span): string {
  const counts = new Map<string, number>();
  for (const { moments } of pods) {
    const by = lastWord(moments, sent);
    if (by === undefined || by === "deleted") continue;
    const words = inWords[by];
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  if (counts.size === 0) return "it had no pod";
  return `of its pods ${[...counts].map(([words, count]) => `${count} ${words}`).join(", ")}`;
}

/** The last decisive moment of a pod; undefined for one that did not exist yet. */
function lastWord(moments: PodHistory["moments"], sent: Span): Happening | undefined {
  const before = moments.filter(({ at }) => at.fromMs <= sent.toMs).map(({ what }) => what);
  if (before.length === 0) return undefined;
  const decisive: readonly Happening[] = ["deleted", "terminating", "ended"];
  return decisive.find((what) => before.includes(what)) ?? before.at(-1);
}

const inWords: Readonly<Record<Happening, string>> = {
  appeared: "not ready yet",
  ready: "ready",
  unready: "not ready",
  terminating: "terminating",
  ended: "ended",
  started: "not ready yet",
  deleted: "gone",
  moved: "at another address",
  "node lost": "on a lost node",
};

function longest(lengths: readonly Length[]): Length {
  return {
    leastMs: Math.max(0, ...lengths.map(({ leastMs }) => leastMs)),
    mostMs: Math.max(0, ...lengths.map(({ mostMs }) => mostMs)),
  };
}

function hasLists(evidence: Evidence, service: string): boolean {
  return placesOf(evidence, service).some((place) => evidence.hasPublished(place));
}

function placesOf({ services }: Evidence, service: string): readonly NamespacePlace[] {
  const namespace = service.slice(0, service.indexOf("/"));
  return services.clustersOf(service).map((cluster) => ({ cluster, namespace }));
}
