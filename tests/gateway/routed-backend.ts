// The answer of a table of routes to a request, by the proxy's twin.
import type { RouteTable } from "../../src/decide/routing/routing.ts";
import { compileHost, findRule } from "../../src/outputs/nginx/route-match.ts";
import type { SpecifiedRequest } from "./specified-routing.ts";

export interface RoutedAnswer {
  /** `namespace/name:port` of the service, or the status of the answer. */
  readonly backend: string | number;
  /** The services that get a copy. */
  readonly copies: readonly string[];
}

export function routedAnswer(
  table: Pick<RouteTable, "hosts">,
): (asked: SpecifiedRequest) => RoutedAnswer {
  const compiled = new Map([...table.hosts].map(([name, rules]) => [name, compileHost(rules)]));
  return (asked) => {
    const found = findRule((name) => compiled.get(name), asked.host, asked.path, asked);
    if (found === undefined) return { backend: 404, copies: [] };
    const { service, policy } = found.rule;
    const copies = (policy?.mirrors ?? []).map((mirror) => mirror.service);
    return { backend: policy?.refuse ?? service, copies };
  };
}
