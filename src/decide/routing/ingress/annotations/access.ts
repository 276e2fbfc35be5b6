// Allowed client networks and rate limits. A setting that cannot be applied closes the route: a
// protected route is never open by mistake.
import type { RateLimit } from "../../../route-policy.ts";
import {
  type AnnotationGroup,
  type AnnotationInUse,
  present,
  seenInProblems,
} from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import { itemsOf, list, network, wholeNumber } from "../annotation-values.ts";

const closing = "so every request is answered with 503";

/** More networks than this belong in a firewall. */
const maxNetworks = 1_000;

export const allowedRanges: AnnotationGroup = {
  names: ["allowlist-source-range", "whitelist-source-range"],
  differences: { "allowlist-source-range": seenInProblems },
  read: (annotations) => {
    const name = newerOf(annotations, "allowlist-source-range", "whitelist-source-range");
    const allowFrom = networksOf(annotations, name, "are allowed");
    if (allowFrom.length > 0) return { policy: { allowFrom } };
    annotations.report(name, `it names no network, ${closing}`, "RouteClosed");
    return { policy: { closed: true } };
  },
};

/** An unreadable item may be the one that the author wants to keep out most. */
export const deniedRanges: AnnotationGroup = {
  names: ["denylist-source-range"],
  differences: { "denylist-source-range": seenInProblems },
  read: (annotations) => {
    const name = "denylist-source-range";
    const parsed = list(network)(annotations.text(name));
    if ("value" in parsed) return { policy: { denyFrom: parsed.value } };
    annotations.report(name, `${parsed.problem}, ${closing}`, "RouteClosed");
    return { policy: { closed: true } };
  },
};

/** Both names mean the same; the newer one counts. */
function newerOf(annotations: AnnotationReader, newer: string, older: string): string {
  return annotations.has(newer) ? newer : older;
}

/** The readable networks; a list that is too long is reported and cut. */
function networksOf(annotations: AnnotationReader, name: string, what: string): readonly string[] {
  const items = itemsOf(annotations.text(name));
  if (items.length > maxNetworks) {
    annotations.report(name, `only its first ${maxNetworks} networks ${what}`);
  }
  const networks: string[] = [];
  for (const item of items.slice(0, maxNetworks)) {
    const parsed = network(item);
    if ("value" in parsed) networks.push(parsed.value);
    else annotations.report(name, `${parsed.problem}, so that item is ignored`);
  }
  return networks;
}

/** Beyond this a limit limits nothing. */
const maxPerSecond = 1_000_000;
const maxPerMinute = 60 * maxPerSecond;
const maxBurstMultiplier = 1_000;
const usualBurstMultiplier = 5;

export const rateLimits: AnnotationGroup = {
  names: ["limit-rps", "limit-rpm", "limit-burst-multiplier", "limit-allowlist", "limit-whitelist"],
  differences: {
    "limit-rps": statusOfLimits,
    "limit-rpm": statusOfLimits,
    "limit-allowlist": seenInProblems,
  },
  read: (annotations) => ({ policy: present({ rateLimit: rateLimitOf(annotations) }) }),
};

function statusOfLimits({ setting }: AnnotationInUse): string | undefined {
  const status = setting("limit-req-status-code") ?? "503";
  const counted = "an IPv6 client is its /64";
  return status === "429" ? counted : `the answer is 429, in ingress-nginx ${status}; ${counted}`;
}

function rateLimitOf(annotations: AnnotationReader): RateLimit | undefined {
  const perSecond = annotations.read("limit-rps", wholeNumber(0, maxPerSecond)) ?? 0;
  const perMinute = annotations.read("limit-rpm", wholeNumber(0, maxPerMinute)) ?? 0;
  const multiplier =
    annotations.read("limit-burst-multiplier", wholeNumber(1, maxBurstMultiplier)) ??
    usualBurstMultiplier;
  if (perSecond > 0 && perMinute > 0) {
    annotations.report("limit-rpm", "limit-rps overrides it, so it is ignored");
  }
  const name = newerOf(annotations, "limit-allowlist", "limit-whitelist");
  const exempt = networksOf(annotations, name, "are not limited");
  const except = exempt.length === 0 ? {} : { exceptFrom: exempt };
  if (perSecond > 0) {
    return { requestsPerSecond: perSecond, burst: perSecond * multiplier, ...except };
  }
  if (perMinute > 0) {
    return { requestsPerSecond: perMinute / 60, burst: perMinute * multiplier, ...except };
  }
  return undefined;
}
