// The verdict on a try at an address without a known pod. A service may refer to something outside
// the cluster, or an endpoint list may show that the address was removed before. Otherwise the
// verdict is unknown, with a reason that says what to save next time.
import { durationText } from "../environment/duration-text.ts";
import type { JudgeTryOptions } from "./judge-try.ts";
import { type Listing, lastMs } from "./publications.ts";
import { lengthOf, middleOf, orderOf, type Span } from "./span.ts";
import type { TryBase, TryVerdict } from "./verdict.ts";

export function judgeNoPod(
  options: JudgeTryOptions,
  listings: readonly Listing[],
  base: TryBase,
): TryVerdict {
  const { evidence, times, service } = options;
  const externalName = service === undefined ? undefined : evidence.services.externalName(service);
  if (externalName !== undefined) {
    const because = `${service} is the external name ${externalName}`;
    return { ...base, cause: "outside", confidence: "certain", because };
  }
  const owner = evidence.services.at(options.tried.address);
  if (owner !== undefined) {
    const because = `it is the cluster IP of service ${owner}; kube-proxy chose the pod`;
    return { ...base, cause: "unknown", confidence: "cannot tell", because };
  }
  const listed = lastListed(listings, times.sent);
  if (listed !== undefined) return judgeListed(options, listed, base);
  const because = neverListed(options);
  return { ...base, cause: "unknown", confidence: "cannot tell", because };
}

/** Several services may list it: the one that did so for longest. */
function lastListed(listings: readonly Listing[], sent: Span): Listing | undefined {
  return listings
    .filter(({ from }) => from.fromMs <= sent.toMs)
    .sort((one, other) => (lastMs(one) < lastMs(other) ? -1 : 1))
    .at(-1);
}

/** All that is known is from when to when it was listed. */
function judgeListed({ times }: JudgeTryOptions, listed: Listing, base: TryBase): TryVerdict {
  const { sent } = times;
  const { service, podName, until } = listed;
  if (until !== undefined && middleOf(until) < middleOf(sent)) {
    const took = lengthOf(until, sent);
    const shared = { hop: "routed", where: undefined, shownAfter: undefined } as const;
    return {
      ...base,
      cause: "routed late",
      confidence: orderOf(until, sent) === "before" ? "certain" : "likely",
      late: took,
      hops: [{ ...shared, took, isPending: true }],
      because: `${service} no longer listed it${podName === undefined ? "" : ` as pod ${podName}`}`,
    };
  }
  if (podName === undefined) {
    const because = `${service} lists it by hand, without a pod`;
    return { ...base, cause: "outside", confidence: "likely", because };
  }
  const still =
    until === undefined ? "" : ` until ${durationText(lengthOf(sent, until).mostMs)} later`;
  const because = `${service} listed it as pod ${podName}${still}; the evidence has no such pod`;
  return { ...base, cause: "unknown", confidence: "cannot tell", because };
}

/** A part of a sentence. */
function neverListed({ evidence, tried, times }: JudgeTryOptions): string {
  const { podClusters, coverage } = evidence;
  const { sent } = times;
  if (podClusters.length === 0) return "the recordings and objects given contain no pods";
  const later = evidence.lives.everAt(tried.address);
  const firstMs = Math.min(...coverage.map(({ fromMs }) => fromMs));
  const lastMs = Math.max(...coverage.map(({ toMs }) => toMs));
  if (coverage.length > 0 && sent.toMs < firstMs) {
    return `the recording begins ${durationText(firstMs - sent.toMs)} after the request`;
  }
  if (coverage.length > 0 && sent.fromMs > lastMs) {
    return `the recording ends ${durationText(sent.fromMs - lastMs)} before the request`;
  }
  if (later !== undefined) {
    const { namespace, name } = later.facts;
    return `the first pod that had this address, ${namespace}/${name}, was created later`;
  }
  const clusters = podClusters.join(", ");
  return coverage.length > 0
    ? `no pod recorded in ${clusters} had this address; it may belong to another cluster`
    : `no pod saved from ${clusters} has this address; it was probably deleted before you saved ` +
        "the objects. Use lockstep record next time";
}
