// Who may come in, and how often. What is asked for and cannot be had closes the route: one that was
// to be protected is never open by mistake.
import type { RateLimit } from "../../../route-policy.ts";
import { type AnnotationGroup, present } from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import { itemsOf, network, wholeNumber } from "../annotation-values.ts";

const closing = "so every request is answered with 503";

/** More networks than this belong in a firewall. */
const maxNetworks = 1_000;

export const sourceRanges: AnnotationGroup = {
  names: ["allowlist-source-range", "whitelist-source-range"],
  read: (annotations) => {
    const isOld = !annotations.has("allowlist-source-range");
    const name = isOld ? "whitelist-source-range" : "allowlist-source-range";
    const items = itemsOf(annotations.text(name));
    if (items.length > maxNetworks) {
      annotations.report(name, `only its first ${maxNetworks} networks are let in`);
    }
    const allowFrom: string[] = [];
    for (const item of items.slice(0, maxNetworks)) {
      const parsed = network(item);
      if ("value" in parsed) allowFrom.push(parsed.value);
      else annotations.report(name, `${parsed.problem}, so that item is ignored`);
    }
    if (allowFrom.length > 0) return { policy: { allowFrom } };
    annotations.report(name, `it names no network, ${closing}`, "RouteClosed");
    return { policy: { closed: true } };
  },
};

/** Beyond this a limit limits nothing. */
const maxPerSecond = 1_000_000;
const maxPerMinute = 60 * maxPerSecond;
const maxBurstMultiplier = 1_000;
const usualBurstMultiplier = 5;

export const rateLimits: AnnotationGroup = {
  names: ["limit-rps", "limit-rpm", "limit-burst-multiplier"],
  read: (annotations) => ({ policy: present({ rateLimit: rateLimitOf(annotations) }) }),
};

function rateLimitOf(annotations: AnnotationReader): RateLimit | undefined {
  const perSecond = annotations.read("limit-rps", wholeNumber(0, maxPerSecond)) ?? 0;
  const perMinute = annotations.read("limit-rpm", wholeNumber(0, maxPerMinute)) ?? 0;
  const multiplier =
    annotations.read("limit-burst-multiplier", wholeNumber(1, maxBurstMultiplier)) ??
    usualBurstMultiplier;
  if (perSecond > 0 && perMinute > 0) {
    annotations.report("limit-rpm", "limit-rps goes before it, so it is ignored");
  }
  if (perSecond > 0) return { requestsPerSecond: perSecond, burst: perSecond * multiplier };
  if (perMinute > 0) return { requestsPerSecond: perMinute / 60, burst: perMinute * multiplier };
  return undefined;
}

/** What protects a route in ingress-nginx and is not supported here. */
const protections = ["auth-url", "auth-type", "auth-tls-secret", "denylist-source-range"] as const;

export const authentication: AnnotationGroup = {
  names: protections,
  read: (annotations) => {
    for (const name of protections.filter((one) => annotations.has(one))) {
      annotations.report(name, `this protection is not supported, ${closing}`, "RouteClosed");
    }
    return { policy: { closed: true } };
  },
};
