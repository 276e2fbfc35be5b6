// The verdict on one try: whose the address was when the request was sent there, whether that pod
// had left by then, and if so which hop was late; else what it was instead, as far as the evidence
// says. Pure: the evidence and the try are all it knows.
import type { LoggedTry } from "../access-log/access-log-entry.ts";
import { durationText } from "../journeys/duration-text.ts";
import type { PodLife } from "./address-lives.ts";
import type { Evidence } from "./evidence.ts";
import { hopDelays } from "./hop-delays.ts";
import { judgeNoPod } from "./judge-no-pod.ts";
import { judgeServing } from "./judge-serving.ts";
import { type MeantPod, meantPods } from "./meant-pod.ts";
import { type Moment, standingAt } from "./pod-life.ts";
import type { Listing } from "./publications.ts";
import { lengthOf, orderOf, type Span } from "./span.ts";
import type { TryTimes } from "./try-time.ts";
import type { BlamedPod, TryBase, TryVerdict } from "./verdict.ts";

export interface JudgeTryOptions {
  readonly evidence: Evidence;
  readonly tried: LoggedTry;
  readonly times: TryTimes;
  /** What the client got in the end. */
  readonly status: number;
  /** `namespace/name`, where the log says. */
  readonly service: string | undefined;
}

/** A node's pods are marked not ready when it is, by the same hand. */
const sameHandMs = 10_000;

export function judgeTry(options: JudgeTryOptions): TryVerdict {
  const { evidence, tried, times, service } = options;
  const { address, port } = tried;
  const { sent } = times;
  const listings = listingsOf(options);
  const base = baseOf(options, listings);
  const meant = meantPods({ evidence, address, port, sent, service, listings });
  const verdicts = meant.map((one) => judgePod(options, one, listings, base));
  const [verdict, ...others] = verdicts;
  if (verdict === undefined) return judgeNoPod(options, listings, base);
  return others.length === 0 ? verdict : oneOf(verdicts, verdict, base);
}

function judgePod(
  options: JudgeTryOptions,
  { life, successor }: MeantPod,
  listings: readonly Listing[],
  tryBase: TryBase,
): TryVerdict {
  const { evidence, times } = options;
  const pod = podOf(life);
  const base = { ...tryBase, pod, successor: successor && podOf(successor) };
  const beyond = beyondKnown(evidence, life.cluster, times.sent);
  if (beyond !== undefined) {
    return { ...base, cause: "unknown", confidence: "cannot tell", because: beyond };
  }
  return judgeLeft(options, life, listings, base) ?? judgeServing(options, life, base);
}

/** Several pods may have been meant: what is true of all of them can be told. */
function oneOf(verdicts: readonly TryVerdict[], first: TryVerdict, base: TryBase): TryVerdict {
  const clusters = new Set(verdicts.map(({ pod }) => pod?.cluster));
  const who = verdicts.flatMap(({ pod, cause }) =>
    pod === undefined ? [] : [`${pod.namespace}/${pod.name} in ${pod.cluster} (${cause})`],
  );
  const how =
    clusters.size > 1
      ? "name the cluster that this proxy sends to with --cluster"
      : `which of them had port ${base.port} is not known`;
  const because = `it was that of ${who.join(" and of ")}; ${how}`;
  if (verdicts.every(({ cause }) => cause === first.cause)) {
    const rivals = verdicts.flatMap(({ pod }) => (pod === first.pod ? [] : (pod ?? [])));
    const isTold = first.confidence !== "cannot tell";
    return { ...first, confidence: isTold ? "likely" : first.confidence, rivals };
  }
  return { ...base, cause: "unknown", confidence: "cannot tell", because };
}

/** Undefined when the pod had not left. */
function judgeLeft(
  options: JudgeTryOptions,
  life: PodLife,
  listings: readonly Listing[],
  base: TryBase,
): TryVerdict | undefined {
  const { evidence, times } = options;
  const { sent } = times;
  const left = leftBy(options, life) ?? lostWithNode(options, life);
  if (left === undefined) return undefined;
  const { cause, alternatives, hops } = hopDelays({
    left,
    sent,
    cluster: life.cluster,
    listings: listings.filter((listing) => mayHaveStayed(listing, life, left)),
  });
  const isBefore = orderOf(left.at, sent) === "before";
  const isGuess =
    (left.what === "node lost" && left.shownMs > sent.toMs) || mayRunAgain(life, left, sent);
  return {
    ...base,
    cause,
    alternatives,
    confidence: isBefore && alternatives.length === 0 && !isGuess ? "certain" : "likely",
    left,
    dead: deadBy(options, life),
    late: lengthOf(left.at, sent),
    hops,
    because: cause === "stale" ? noHop(evidence, life) : "",
  };
}

function noHop(evidence: Evidence, { cluster }: PodLife): string {
  return evidence.hasPublished(cluster)
    ? "no known list names it, so the late hop cannot be told"
    : `no Endpoints or EndpointSlices of ${cluster} are known, so the late hop cannot be told`;
}

/**
 * Whether it is the pod's listing of before it left. Of one found later, by whoever saved it, that is
 * not known once the pod has become ready again.
 */
function mayHaveStayed(
  { podUid, from }: Listing,
  { facts, moments }: PodLife,
  left: Moment,
): boolean {
  if (podUid !== undefined && podUid !== facts.uid) return false;
  if (from.fromMs === from.toMs || from.toMs <= left.at.fromMs) return true;
  return !moments.some(({ what, at }) => what === "ready" && at.toMs > left.at.toMs);
}

/** Later than anything known of the cluster the address may be anybody's. */
function beyondKnown(evidence: Evidence, cluster: string, sent: Span): string | undefined {
  const afterMs = sent.fromMs - evidence.knownUntilMs(cluster);
  if (afterMs <= 0) return undefined;
  if (afterMs === Infinity) return `no object of ${cluster} says when it was so`;
  return `what is known of ${cluster} ends ${durationText(afterMs)} before the request`;
}

/** The moment from which on the pod should have got nothing any more, if that was before the try. */
function leftBy(options: JudgeTryOptions, life: PodLife): Moment | undefined {
  const { times, evidence } = options;
  const may = standingAt(life.moments, times.sent.toMs, "from");
  if (may.type === "not yet" && !evidence.isCovered(life.cluster, times.sent)) {
    // Nobody saw it become ready, yet it is known to have been dead.
    return endedDuring(life, times.sent);
  }
  if (may.type !== "left") return undefined;
  const surely = standingAt(life.moments, times.sent.fromMs, "to");
  const by = surely.type === "left" ? surely.by : may.by;
  if (by.what !== "unready") return by;
  const loss = evidence.nodes.lossAt(life.cluster, life.facts.node, by.at);
  const isSameHand = loss !== undefined && Math.abs(loss.shownMs - by.shownMs) < sameHandMs;
  return isSameHand ? { what: "node lost", at: loss.at, shownMs: loss.shownMs } : by;
}

/** The end of the last container before the try; a container that ran again is another life. */
function deadBy({ times }: JudgeTryOptions, { moments }: PodLife): Moment | undefined {
  const before = moments.filter(({ at }) => at.fromMs <= times.sent.toMs);
  const started = before.findLastIndex(({ what }) => what === "started" || what === "ready");
  return before.slice(started + 1).find(({ what }) => what === "ended" || what === "deleted");
}

/** The end of a container that did not surely run again before the try. */
function endedDuring({ moments }: PodLife, sent: Span): Moment | undefined {
  return moments.find((moment, index) => {
    if (moment.what !== "ended" || moment.at.fromMs > sent.toMs) return false;
    const again = moments.slice(index).find(({ what }) => what === "started");
    return again === undefined || again.at.toMs > sent.fromMs;
  });
}

/** Its container had ended, and may have run again when the request came. */
function mayRunAgain({ moments }: PodLife, left: Moment, sent: Span): boolean {
  if (left.what !== "ended") return false;
  const after = moments.slice(moments.indexOf(left));
  return after.some(({ what, at }) => what === "started" && at.fromMs <= sent.toMs);
}

/** The API showed it as ready, and its node had gone silent, as became known later. */
function lostWithNode({ times, tried, evidence }: JudgeTryOptions, life: PodLife) {
  if (tried.answered === true) return undefined;
  const loss = evidence.nodes.lossAt(life.cluster, life.facts.node, times.over);
  if (loss === undefined) return undefined;
  const { at, shownMs } = loss;
  return { what: "node lost", at: { ...at, toMs: at.fromMs }, shownMs } satisfies Moment;
}

/** Of that address and port, and of that service where the log says which and the lists agree. */
function listingsOf({ evidence, tried, service }: JudgeTryOptions): readonly Listing[] {
  const all = evidence.publications
    .ofAddress(tried.address)
    .filter(({ port }) => port === tried.port || port === 0);
  const ofService = all.filter((listing) => listing.service === service);
  return ofService.length > 0 ? ofService : all;
}

function baseOf({ tried, times, service }: JudgeTryOptions, listings: readonly Listing[]): TryBase {
  const { address, port, status, durationMs, answered } = tried;
  const listed = listings.findLast(({ from }) => from.fromMs <= times.sent.toMs);
  return {
    address,
    port,
    status,
    durationMs,
    answered,
    sent: times.sent,
    pod: undefined,
    service: service ?? listed?.service,
    left: undefined,
    dead: undefined,
    late: undefined,
    hops: [],
    alternatives: [],
    successor: undefined,
    rivals: [],
  };
}

function podOf({ cluster, facts }: PodLife): BlamedPod {
  const { namespace, name, uid, node } = facts;
  return { cluster, namespace, name, uid, node };
}
