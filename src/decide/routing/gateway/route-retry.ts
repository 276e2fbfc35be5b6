// The `retry` of an HTTPRoute's rule as the policy of a route, and the parts that the proxy cannot honour:
// the rule is served without those. Pure.
import type { HttpRouteRule } from "../../../kube/kinds/http-route.ts";
import type { RetriedStatus, RoutePolicy } from "../../route-policy.ts";
import { shown } from "../shown-text.ts";

export interface RuleRetry {
  readonly policy: Pick<RoutePolicy, "tries" | "retryOn">;
  /** Plain sentences. */
  readonly ignored: readonly string[];
}

/** The ones that every implementation has to support; proxy/retries.conf has their sets. */
const retriedStatuses: readonly number[] = [500, 502, 503, 504] satisfies RetriedStatus[];

/** As proxy_next_upstream_tries in proxy/server.conf. */
const maxTries = 10;

export function retryOfRule({ retry }: Pick<HttpRouteRule, "retry">): RuleRetry {
  if (retry === undefined) return { policy: {}, ignored: [] };
  const { codes, attempts, backoff } = retry;
  if (backoff !== undefined && !/^(0(h|m|s|ms))+$/.test(backoff)) {
    const why = "the proxy cannot wait before it tries again";
    return {
      policy: {},
      ignored: [`backoff ${shown(backoff)} is not supported (${why}), so nothing is retried`],
    };
  }
  const others = codes.filter((code) => !retriedStatuses.includes(code));
  const retryOn = retriedStatuses.filter((code) => codes.includes(code)) as RetriedStatus[];
  const wanted = attempts === undefined ? undefined : attempts + 1;
  return {
    policy: {
      ...(wanted !== undefined && { tries: Math.min(Math.max(1, wanted), maxTries) }),
      ...(retryOn.length > 0 && { retryOn }),
    },
    ignored: [
      ...(others.length === 0
        ? []
        : [`answers with ${others.slice(0, 10).join(", ")} are not retried`]),
      ...(wanted === undefined || wanted <= maxTries
        ? []
        : [`there are at most ${maxTries - 1} retries`]),
    ],
  };
}
