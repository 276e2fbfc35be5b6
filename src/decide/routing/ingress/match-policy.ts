// The part of an Ingress's policy that depends on the path of a rule.
import type { RoutePolicy } from "../../route-policy.ts";
import type { RouteMatch } from "../route.ts";
import { isCookiePath } from "./annotation-values.ts";

export function policyOfMatch(policy: RoutePolicy, { path, type }: RouteMatch): RoutePolicy {
  const { rewrite, balance } = policy;
  const affinity = balance?.affinity;
  const isPlain = type !== "Regex";
  const isRewritten = isPlain && rewrite !== undefined;
  const hasCookie = affinity !== undefined && affinity.path === undefined;
  // The same object for all paths, where it can be: a policy may be large, and paths are many.
  if (!isRewritten && !hasCookie) return policy;
  const cookiePath = isPlain && isCookiePath(path) ? path : "/";
  return {
    ...policy,
    // A plain path has no groups: as in ingress-nginx they stand for nothing.
    ...(isRewritten && { rewrite: withoutGroups(rewrite) }),
    // Two rules of one host with one cookie would otherwise take each other's sessions away.
    ...(balance !== undefined &&
      affinity !== undefined &&
      affinity.path === undefined && {
        balance: { ...balance, affinity: { ...affinity, path: cookiePath } },
      }),
  };
}

function withoutGroups(rewrite: string): string {
  return rewrite.replace(/\$[0-9]/g, "");
}
