// The `sessionPersistence` of an HTTPRoute's rule as the policy of a route, and the parts that the proxy
// cannot honour: the rule is served without those. Pure.
import { createHash } from "node:crypto";
import type { HttpRouteRule } from "../../../kube/kinds/http-route.ts";
import type { RoutePolicy } from "../../route-policy.ts";
import { shown } from "../shown-text.ts";
import { durationMsOf, isClientHeader } from "./route-filters.ts";

export interface RuleSession {
  readonly policy: Pick<RoutePolicy, "balance">;
  /** Plain sentences. */
  readonly ignored: readonly string[];
}

/** A name that a cookie can have. */
const cookieName = /^[\w!#$%&'*+.^`|~-]{1,128}$/;

/** Browsers keep no cookie for longer. */
const maxAgeSeconds = 400 * 86_400;

const nothing: RuleSession["policy"] = {};

/** `rule` is a text of its own for each rule: two rules without a name must not share a session. */
export function sessionOfRule(
  { session }: Pick<HttpRouteRule, "session">,
  rule: string,
): RuleSession {
  if (session === undefined) return { policy: nothing, ignored: [] };
  const { name, type, lifetime, absoluteTimeout, idleTimeout } = session;
  const without = (why: string) => ({
    policy: nothing,
    ignored: [`${why}, so there are no sessions`],
  });
  const ofIdle = idleTimeout === undefined ? [] : ["idleTimeout is not supported and ignored"];
  const cookie = name ?? `lockstep-${digest(rule)}`;
  if (type === "Header") {
    if (!isClientHeader(cookie)) {
      return without(`sessionName ${shown(cookie)} is not a header that clients can send`);
    }
    const ofAbsolute = absoluteTimeout !== undefined;
    return {
      policy: { balance: { method: "round-robin", sessionHeader: cookie } },
      ignored: [
        ...(ofAbsolute ? ["absoluteTimeout needs the type Cookie and is ignored"] : []),
        ...ofIdle,
      ],
    };
  }
  if (type !== "Cookie") return without(`type ${shown(type)} is not supported`);
  if (!cookieName.test(cookie))
    return without(`sessionName ${shown(cookie)} is not a cookie's name`);
  const lifetimeMs = absoluteTimeout === undefined ? undefined : durationMsOf(absoluteTimeout);
  const isPermanent = lifetime === "Permanent";
  if (isPermanent && lifetimeMs === undefined) {
    return without(`absoluteTimeout ${shown(absoluteTimeout ?? "")} is not a duration`);
  }
  const age = Math.min(Math.max(1, Math.floor((lifetimeMs ?? 0) / 1_000)), maxAgeSeconds);
  const affinity = {
    cookie,
    mode: "persistent",
    ...(isPermanent && { maxAgeSeconds: age }),
  } as const;
  return {
    policy: { balance: { method: "round-robin", affinity } },
    ignored: [
      ...(isPermanent || absoluteTimeout === undefined
        ? []
        : ["absoluteTimeout needs the lifetimeType Permanent and is ignored"]),
      ...ofIdle,
    ],
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
