// The verdict on one try: whose the address was when the request was sent there, whether that pod
// had left by then, and if so which hop was late; else what it was instead, as far as the evidence
// says. Pure: the evidence and the try are all it knows.
import type { LoggedTry } from "../access-log/access-log-entry.ts";
import { durationText } from "../environment/duration-text.ts";
import { type PodHistory, placeOf } from "./address-lives.ts";
import type { Evidence } from "./evidence.ts";
import { judgeLeft } from "./judge-left.ts";
import { judgeNoPod } from "./judge-no-pod.ts";
import { judgeServing } from "./judge-serving.ts";
import { type MeantPod, meantPods } from "./meant-pod.ts";
import { whateverReady } from "./pod-life.ts";
import type { Listing } from "./publications.ts";
import type { Span } from "./span.ts";
import type { TryTimes } from "./try-time.ts";
import type { BlamedPod, TryBase, TryVerdict } from "./verdict.ts";

export interface JudgeTryOptions {
  readonly evidence: Evidence;
  readonly tried: LoggedTry;
  readonly times: TryTimes;
  /** The status that the client received. */
  readonly status: number;
  /** `namespace/name`, where the log says. */
  readonly service: string | undefined;
}

export function judgeTry(logged: JudgeTryOptions): TryVerdict {
  const isOwn = logged.tried.isRedirected !== true;
  const options = { ...logged, service: isOwn ? logged.service : undefined };
  const { evidence, tried, times, service } = options;
  const { address, port } = tried;
  const { sent } = times;
  const listings = listingsOf(options);
  const base = baseOf(options, listings);
  const meant = meantPods({ evidence, address, port, sent, service, listings });
  if (meant.length > meantMax) {
    const because = `${meant.length} pods had the address at that time`;
    return { ...base, cause: "unknown", confidence: "cannot tell", because };
  }
  const verdicts = meant.map((one) => judgePod(options, one, listings, base));
  const [verdict, ...others] = verdicts;
  if (verdict === undefined) return judgeNoPod(options, listings, base);
  return others.length === 0 ? verdict : oneOf(verdicts, verdict, base);
}

/** More verdicts would not be read, and each try would cost as many. */
const meantMax = 10;

function judgePod(
  options: JudgeTryOptions,
  { life: met, successor, predecessor, isForeign }: MeantPod,
  listings: readonly Listing[],
  tryBase: TryBase,
): TryVerdict {
  const { evidence, times } = options;
  const life = asServed(evidence, atAddress(met, tryBase.address), tryBase.service);
  const pod = podOf(life);
  const others = {
    successor: successor && podOf(successor),
    predecessor: predecessor && podOf(predecessor),
  };
  const base = { ...tryBase, pod, ...others };
  const beyond = beyondMs(evidence, life, times.sent);
  const { deletionAskedMs, isOver } = life.facts;
  const isForGood = life.isGone || isOver || deletionAskedMs !== undefined;
  const isStillGone = isForGood && successor === undefined && (beyond ?? 0) <= goneForMs;
  if (beyond !== undefined && !isStillGone) {
    const because = beyondKnown(life.cluster, beyond);
    return { ...base, cause: "unknown", confidence: "cannot tell", because };
  }
  if (times.sent.fromMs <= life.forgottenUntilMs) {
    const because = `${pod.namespace}/${pod.name} changed so often that its older changes were not kept`;
    return { ...base, cause: "unknown", confidence: "cannot tell", because };
  }
  if (isForeign) {
    const because = `that pod does not belong to ${base.service}, so an earlier pod with the address was used`;
    return { ...base, cause: "stale", confidence: "likely", because };
  }
  const verdict = judgeLeft(options, life, listings, base) ?? judgeServing(options, life, base);
  // No pod comes back; yet another one may have its address by then.
  const isInDoubt = predecessor !== undefined || beyond !== undefined;
  return isInDoubt && verdict.confidence === "certain"
    ? { ...verdict, confidence: "likely" }
    : verdict;
}

/** Its life at an address ends when it gets another one. */
function atAddress(life: PodHistory, address: string): PodHistory {
  const moved = life.moved.get(address);
  return moved === undefined ? life : { ...life, moments: [...life.moments, moved] };
}

/** Some services want their pods to get requests whether they are ready or not. */
function asServed(evidence: Evidence, life: PodHistory, service: string | undefined): PodHistory {
  const isAlways = service !== undefined && evidence.services.publishesUnready(service);
  return isAlways ? { ...life, moments: whateverReady(life.moments) } : life;
}

/** The address may belong to several pods: the verdict has only facts that hold for all of them. */
function oneOf(verdicts: readonly TryVerdict[], first: TryVerdict, base: TryBase): TryVerdict {
  const clusters = new Set(verdicts.map(({ pod }) => pod?.cluster));
  const isShared = verdicts.every(({ predecessor }) => predecessor === undefined);
  const who = verdicts.flatMap(({ pod, cause }) =>
    pod === undefined ? [] : [`${pod.namespace}/${pod.name} in ${pod.cluster} (${cause})`],
  );
  const onHost = isShared
    ? `the pod with port ${base.port} is not known`
    : "the log does not contain the service";
  const how = clusters.size > 1 ? "give the cluster of this proxy with --cluster" : onHost;
  const because = `the address belonged to ${who.join(" and to ")}; ${how}`;
  if (verdicts.every(({ cause }) => cause === first.cause)) {
    const rivals = verdicts.flatMap(({ pod }) => (pod === first.pod ? [] : (pod ?? [])));
    const isDecided = first.confidence !== "cannot tell";
    return { ...first, confidence: isDecided ? "likely" : first.confidence, rivals };
  }
  return { ...base, cause: "unknown", confidence: "cannot tell", because };
}

/** How much later than anything known of its place it was sent; undefined when it was not. */
function beyondMs(evidence: Evidence, life: PodHistory, sent: Span): number | undefined {
  const afterMs = sent.fromMs - evidence.knownUntilMs(placeOf(life));
  return afterMs > 0 ? afterMs : undefined;
}

/**
 * Healthy nodes write their status this often: the objects may have been saved this much later than
 * their times show.
 */
const goneForMs = 300_000;

/** By then the address may belong to any pod. */
function beyondKnown(cluster: string, afterMs: number): string {
  return afterMs === Infinity
    ? `no object of ${cluster} contains the time`
    : `the data of ${cluster} ends ${durationText(afterMs)} before the request`;
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
    predecessor: undefined,
    rivals: [],
  };
}

function podOf({ cluster, facts }: PodHistory): BlamedPod {
  const { namespace, name, uid, node } = facts;
  return { cluster, namespace, name, uid, node };
}
