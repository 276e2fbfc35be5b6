// The verdict on a try at a pod that had left by then: since when, and which hop was late. Pure.
import { type PodHistory, placeOf } from "./address-lives.ts";
import type { Evidence } from "./evidence.ts";
import { hopDelays } from "./hop-delays.ts";
import type { JudgeTryOptions } from "./judge-try.ts";
import { type Happening, type Moment, standingAt } from "./pod-life.ts";
import type { Listing } from "./publications.ts";
import { lengthOf, middleOf, orderOf, type Span } from "./span.ts";
import type { TryBase, TryVerdict } from "./verdict.ts";
import { lengthText } from "./verdict-text.ts";

/** A node's pods are marked not ready when it is, by the same hand. */
const sameHandMs = 10_000;

/** Undefined when the pod had not left. */
export function judgeLeft(
  options: JudgeTryOptions,
  life: PodHistory,
  listings: readonly Listing[],
  base: TryBase,
): TryVerdict | undefined {
  const { tried, times } = options;
  const { sent } = times;
  const left = leftBy(options, life) ?? lostWithNode(options, life);
  if (left === undefined) return undefined;
  const isBefore = orderOf(left.at, sent) === "before";
  if (!isBefore && !isRefused(options)) {
    const unknown = unknownWhen(left, base);
    // A request that waited was accepted by the pod, which therefore had probably not left yet.
    if (unknown !== undefined || probablyLeftMs(left) > middleOf(sent)) return unknown;
  }
  if (isVague(left) && sent.fromMs < left.at.fromMs) return undefined;
  const own = listings.filter((listing) => mayHaveStayed(listing, life, left));
  const { cause, alternatives, hops } = hopDelays({
    left,
    sent,
    cluster: life.cluster,
    listings: own,
  });
  const isGuess =
    (left.what === "node lost" && left.shownMs > sent.toMs) ||
    (tried.answered === true && deaths.has(left.what)) ||
    mayRunAgain(life, left, sent);
  return {
    ...base,
    cause,
    alternatives,
    confidence: isBefore && alternatives.length === 0 && !isGuess ? "certain" : "likely",
    left,
    dead: deadBy(options, life),
    late: lengthOf(left.at, sent),
    hops,
    because: cause === "stale" ? noHop(options.evidence, life) : severalLists(own),
  };
}

/** A connection to a closed port is refused at once. */
const atOnceMs = 1_000;

function isRefused({ tried, times }: JudgeTryOptions): boolean {
  const waitedMs = times.over.fromMs - times.sent.fromMs;
  return tried.answered !== true && tried.status !== gatewayTimeout && waitedMs < atOnceMs;
}

const gatewayTimeout = 504;

/** Known so badly, it may have been long before the request as well as long after it. */
const vagueMs = 60_000;

/** A node that fell silent was dead from then on, though that was seen later. */
export function probablyLeftMs({ what, at }: Moment): number {
  return what === "node lost" ? at.fromMs : middleOf(at);
}

function isVague({ what, at }: Moment): boolean {
  return what !== "node lost" && at.toMs - at.fromMs > vagueMs;
}

/** Undefined where it is known well enough when it left. */
function unknownWhen(left: Moment, base: TryBase): TryVerdict | undefined {
  if (!isVague(left)) return undefined;
  const widthMs = left.at.toMs - left.at.fromMs;
  const span = lengthText({ leastMs: widthMs, mostMs: widthMs });
  const because = `the pod left within ${span} around the request; the evidence does not say when`;
  return { ...base, cause: "unknown", confidence: "cannot tell", because };
}

/** After these the pod does not answer. An answer came from another container or another pod. */
const deaths: ReadonlySet<Happening> = new Set<Happening>([
  "ended",
  "deleted",
  "moved",
  "node lost",
]);

/** The log does not name the service, and the pod was listed by several. */
function severalLists(listings: readonly Listing[]): string {
  const services = [...new Set(listings.map(({ service }) => service))];
  return services.length < 2 ? "" : `${services.join(" and ")} list it, and the log names neither`;
}

function noHop(evidence: Evidence, life: PodHistory): string {
  const { cluster, namespace } = placeOf(life);
  return evidence.hasPublished({ cluster, namespace })
    ? "no known endpoint list names it, so the late hop is unknown"
    : `no Endpoints or EndpointSlices of ${namespace} in ${cluster} are known, so the late hop is unknown`;
}

/**
 * Whether this is the listing from before the pod left. A listing found in a saved list is
 * ambiguous once the pod has become ready again.
 */
function mayHaveStayed(
  { podUid, from }: Listing,
  { facts, moments }: PodHistory,
  left: Moment,
): boolean {
  if (podUid !== undefined && podUid !== facts.uid) return false;
  if (from.fromMs === from.toMs || from.toMs <= left.at.fromMs) return true;
  return !moments.some(({ what, at }) => what === "ready" && at.toMs > left.at.toMs);
}

/** The moment from which on the pod should have got nothing any more, if that was before the try. */
function leftBy(options: JudgeTryOptions, life: PodHistory): Moment | undefined {
  const { times, evidence } = options;
  const may = standingAt(life.moments, times.sent.toMs, "from");
  if (may.type === "not yet" && !isSeenWhole(evidence, life, times.sent)) {
    // The evidence does not show when the pod became ready, but that it had ended or was being
    // deleted.
    return endedDuring(life, times.sent);
  }
  if (may.type !== "left") return undefined;
  const surely = standingAt(life.moments, times.sent.fromMs, "to");
  const by = surely.type === "left" ? surely.by : may.by;
  return asNodeSays(evidence, life, by);
}

/** The same moment as its node shows it, where that was given up by the same hand. */
export function asNodeSays(evidence: Evidence, { cluster, facts }: PodHistory, by: Moment): Moment {
  if (by.what !== "unready" && by.what !== "node lost") return by;
  const loss = evidence.nodes.lossAt(cluster, facts.node, by.at);
  const isSameHand = loss !== undefined && Math.abs(loss.shownMs - by.shownMs) < sameHandMs;
  return isSameHand ? { what: "node lost", at: loss.at, shownMs: loss.shownMs } : by;
}

/** Whether it was followed from its beginning to that instant. */
export function isSeenWhole(evidence: Evidence, life: PodHistory, sent: Span): boolean {
  const { createdMs } = life.facts;
  const fromMs = Math.min(createdMs ?? -Infinity, sent.fromMs);
  return evidence.isCovered(placeOf(life), { fromMs, toMs: sent.toMs });
}

/** The end of the last container before the try; a container that ran again is another life. */
function deadBy({ times }: JudgeTryOptions, { moments }: PodHistory): Moment | undefined {
  const before = moments.filter(({ at }) => at.fromMs <= times.sent.toMs);
  const started = before.findLastIndex(({ what }) => what === "started" || what === "ready");
  return before.slice(started + 1).find(({ what }) => what === "ended" || what === "deleted");
}

/** Its order to end, or the end of a container that did not surely run again before the try. */
function endedDuring({ moments }: PodHistory, sent: Span): Moment | undefined {
  return moments.find((moment, index) => {
    if (moment.at.fromMs > sent.toMs) return false;
    if (moment.what === "terminating") return true;
    if (moment.what !== "ended") return false;
    const again = moments.slice(index).find(({ what }) => what === "started");
    return again === undefined || again.at.toMs > sent.fromMs;
  });
}

/** Its container had ended, and may have run again when the request came. */
function mayRunAgain({ moments }: PodHistory, left: Moment, sent: Span): boolean {
  if (left.what !== "ended") return false;
  const after = moments.slice(moments.indexOf(left));
  return after.some(({ what, at }) => what === "started" && at.fromMs <= sent.toMs);
}

/** The API showed it as ready, and its node had gone silent, as became known later. */
function lostWithNode({ times, tried, evidence }: JudgeTryOptions, life: PodHistory) {
  if (tried.answered === true) return undefined;
  const loss = evidence.nodes.lossAt(life.cluster, life.facts.node, times.over);
  // The request was sent while the node still reported: the loss came during the request at the
  // earliest.
  if (loss === undefined || middleOf(times.sent) < loss.at.fromMs) return undefined;
  const { at, shownMs } = loss;
  return { what: "node lost", at: { ...at, toMs: at.fromMs }, shownMs } satisfies Moment;
}
