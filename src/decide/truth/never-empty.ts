// Rule 7, never empty: before a service answers 503, endpoints that are leaving but still serve get
// its requests. It looks at the whole set, after every endpoint has been judged by itself.
import { isRouted } from "../decision.ts";
import type { TruthEndpoint } from "./truth.ts";

export function neverEmpty(endpoints: readonly TruthEndpoint[]): readonly TruthEndpoint[] {
  if (endpoints.some(isRouted)) return endpoints;
  return endpoints.map((endpoint) =>
    endpoint.state === "draining"
      ? {
          ...endpoint,
          state: "active",
          rule: "never empty",
          reason: `no endpoint is better: ${endpoint.reason}`,
        }
      : endpoint,
  );
}
