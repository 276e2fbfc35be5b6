// The verdict on one try: whose the address was when the request was sent there, whether that pod
// had left by then, and if so which hop was late; else what it was instead, as far as the evidence
// says. Pure: the evidence and the try are all it knows.
import type { LoggedTry } from "../access-log/access-log-entry.ts";
import { durationText } from "../journeys/duration-text.ts";
import type { PodLife } from "./address-lives.ts";
import type { Evidence } from "./evidence.ts";
import { hopDelays } from "./hop-delays.ts";
import { type Moment, standingAt } from "./pod-life.ts";
import type { Listing } from "./publications.ts";
import { lengthOf, orderOf, type Span } from "./span.ts";
import type { TryTimes } from "./try-time.ts";
import { unknownAddress } from "./unknown-address.ts";
import type { BlamedPod, TryVerdict } from "./verdict.ts";

export interface JudgeTryOptions {
  readonly evidence: Evidence;
  readonly tried: LoggedTry;
  readonly times: TryTimes;
  /** `namespace/name`, where the log says. */
  readonly service: string | undefined;
}

/** A program that is marked ready before it listens does so within this. */
const startUpMs = 30_000;

/** A connection that is refused or reset is so at once. */
const atOnceMs = 1_000;

/** A node's pods are marked not ready when it is, by the same hand. */
const sameHandMs = 10_000;

export function judgeTry(options: JudgeTryOptions): TryVerdict {
  const { evidence, tried, times } = options;
  const { address } = tried;
  const listings = listingsOf(options);
  const listed = listings.findLast(({ from }) => from.fromMs <= times.sent.toMs);
  const holder = evidence.lives.holder(address, times.sent, listed?.podUid);
  const meant = meantPod(options, holder, listed);
  if (meant === undefined) {
    const because = unknownAddress(evidence, address, times.sent, listed);
    return { ...baseOf(options, listed), cause: "unknown", confidence: "cannot tell", because };
  }
  const base = {
    ...baseOf(options, listed),
    pod: podOf(meant),
    successor: holder === undefined || holder === meant ? undefined : podOf(holder),
  };
  const beyond = beyondKnown(evidence, meant.cluster, times.sent);
  if (beyond !== undefined) {
    return { ...base, cause: "unknown", confidence: "cannot tell", because: beyond };
  }
  return judgeLeft(options, meant, listings, base) ?? judgeServing(options, meant, base);
}

type Base = Omit<TryVerdict, "cause" | "confidence" | "because">;

/** Undefined when the pod had not left. */
function judgeLeft(
  options: JudgeTryOptions,
  life: PodLife,
  listings: readonly Listing[],
  base: Base,
): TryVerdict | undefined {
  const { evidence, times } = options;
  const { sent } = times;
  const left = leftBy(options, life) ?? lostWithNode(options, life);
  if (left === undefined) return undefined;
  const ofPod = listings.filter(({ podUid }) => podUid === undefined || podUid === life.facts.uid);
  const { cause, hops, isCertain } = hopDelays({
    left,
    sent,
    cluster: life.cluster,
    listings: ofPod,
  });
  const isBefore = orderOf(left.at, sent) === "before";
  const isGuess = left.what === "node lost" && left.shownMs > sent.toMs;
  return {
    ...base,
    cause,
    confidence: isBefore && isCertain && !isGuess ? "certain" : "likely",
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

function judgeServing(options: JudgeTryOptions, life: PodLife, base: Base): TryVerdict {
  const { tried, times, evidence } = options;
  const { moments, facts, cluster } = life;
  const now = standingAt(moments, times.sent.toMs, "from");
  if (now.type !== "serving" && !evidence.isCovered(cluster, times.sent)) {
    const because = "nobody recorded at that time whether it was ready";
    return { ...base, cause: "unknown", confidence: "cannot tell", because };
  }
  if (now.type !== "serving") {
    const because = "it had not been ready yet";
    return { ...base, cause: "not yet listening", confidence: "certain", because };
  }
  const later = standingAt(moments, times.over.toMs, "from");
  if (later.type === "left") {
    const left = later.by;
    const isBetween = orderOf(times.sent, left.at) === "before";
    const confidence = isBetween ? "certain" : "likely";
    return { ...base, cause: "left meanwhile", confidence, left, because: "" };
  }
  const readyForMs = lengthOf(now.since.at, times.sent).mostMs;
  const failedAtOnce = tried.answered !== true && (tried.durationMs ?? atOnceMs) < atOnceMs;
  if (failedAtOnce && readyForMs < startUpMs) {
    const because = facts.hasReadinessProbe
      ? "it had become ready just before"
      : "it has no readiness probe, so it counts as ready before it listens";
    return { ...base, cause: "not yet listening", confidence: "likely", because };
  }
  const confidence = tried.answered === true ? "certain" : "likely";
  const isSlow = tried.status === 504 || (tried.status ?? 0) < 500;
  const because = "it was ready";
  return { ...base, cause: isSlow ? "timeout" : "application", confidence, because };
}

/** Later than anything known of the cluster the address may be anybody's. */
function beyondKnown(evidence: Evidence, cluster: string, sent: Span): string | undefined {
  const afterMs = sent.fromMs - evidence.knownUntilMs(cluster);
  if (afterMs <= 0) return undefined;
  if (afterMs === Infinity) return `no object of ${cluster} says when it was so`;
  return `what is known of ${cluster} ends ${durationText(afterMs)} before the request`;
}

/** The moment from which on the pod should have got nothing any more, if that was before the try. */
function leftBy({ times, evidence }: JudgeTryOptions, life: PodLife): Moment | undefined {
  const may = standingAt(life.moments, times.sent.toMs, "from");
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

/** The API showed it as ready, and its node had gone silent, as became known later. */
function lostWithNode({ times, tried, evidence }: JudgeTryOptions, life: PodLife) {
  if (tried.answered === true) return undefined;
  const loss = evidence.nodes.lossAt(life.cluster, life.facts.node, times.over);
  if (loss === undefined) return undefined;
  const { at, shownMs } = loss;
  return { what: "node lost", at: { ...at, toMs: at.fromMs }, shownMs } satisfies Moment;
}

/**
 * The pod that the proxy meant: the one its service listed at that address, also when the address
 * has passed to another pod since.
 */
function meantPod(
  { evidence, times }: JudgeTryOptions,
  holder: PodLife | undefined,
  listed: Listing | undefined,
): PodLife | undefined {
  const named = listed?.podUid === undefined ? undefined : evidence.lives.byUid(listed.podUid);
  if (named === undefined || named === holder) return holder;
  const standing = standingAt(named.moments, times.sent.toMs, "from");
  return holder === undefined || standing.type === "left" ? named : holder;
}

/** Of that address and port, and of that service where the log says which and the lists agree. */
function listingsOf({ evidence, tried, service }: JudgeTryOptions): readonly Listing[] {
  const all = evidence.publications
    .ofAddress(tried.address)
    .filter(({ port }) => port === tried.port || port === 0);
  const ofService = all.filter((listing) => listing.service === service);
  return ofService.length > 0 ? ofService : all;
}

function baseOf({ tried, times, service }: JudgeTryOptions, listed: Listing | undefined): Base {
  const { address, port, status, durationMs, answered } = tried;
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
    successor: undefined,
  };
}

export function podOf({ cluster, facts }: PodLife): BlamedPod {
  const { namespace, name, uid, node } = facts;
  return { cluster, namespace, name, uid, node };
}
