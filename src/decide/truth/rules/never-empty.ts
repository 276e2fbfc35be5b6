// Rule 7, never empty: before a service answers 503, endpoints that are leaving but still serve get
// its requests, and when there are none of these, those that could not be reached. It looks at the
// whole set, after every endpoint has been judged by itself.
import { type EndpointState, isRouted } from "../../decision.ts";
import type { TruthEndpoint } from "../judged.ts";

/** The replacements, better ones first. */
const standIns: readonly EndpointState[] = ["draining", "suspect"];

export function neverEmpty(endpoints: readonly TruthEndpoint[]): readonly TruthEndpoint[] {
  if (endpoints.some(isRouted)) return endpoints;
  const best = standIns.find((state) => endpoints.some((one) => one.state === state));
  return endpoints.map((endpoint) =>
    endpoint.state === best
      ? {
          ...endpoint,
          state: "active",
          rule: "never empty",
          reason: `no better endpoint is left: ${endpoint.reason}`,
        }
      : endpoint,
  );
}
