// The answer of a table of routes to a request, by the proxy's twin.
import type { RouteTable } from "../../src/decide/routing/routing.ts";
import { compileHost, findRule } from "../../src/outputs/nginx/route-match.ts";
import type { SpecifiedRequest } from "./specified-routing.ts";

/** `namespace/name:port` of the service, or the status of the answer. */
export function routedBackend(
  table: Pick<RouteTable, "hosts">,
): (asked: SpecifiedRequest) => string | number {
  const compiled = new Map([...table.hosts].map(([name, rules]) => [name, compileHost(rules)]));
  return (asked) => {
    const found = findRule((name) => compiled.get(name), asked.host, asked.path, asked);
    return found === undefined ? 404 : (found.rule.policy?.refuse ?? found.rule.service);
  };
}
