// Routes put together into one table. Two that claim the same host and path cannot both have it: a
// rule goes before a default, then the older object, then the first by namespace and name. The
// others are told who has it.
import { compareText } from "../compare-text.ts";
import type { PathRule } from "../decision.ts";
import { type Backend, backendKey, type Route, type RoutingProblem } from "./route.ts";

export interface RouteTable {
  /** By host; of each host the rules in the order in which they are tried. */
  readonly hosts: ReadonlyMap<string, readonly PathRule[]>;
  /** Every backend that a rule names, by its key. */
  readonly backends: ReadonlyMap<string, Backend>;
  readonly problems: readonly RoutingProblem[];
}

export function routeTable(routes: readonly Route[]): RouteTable {
  const claims = new Map<string, Route>();
  const problems: RoutingProblem[] = [];
  for (const route of [...routes].sort(comparePrecedence)) {
    const claim = `${route.host} ${route.type} ${route.path}`;
    const holder = claims.get(claim);
    if (holder === undefined) claims.set(claim, route);
    else if (!route.isDefault) problems.push(conflict(route, holder));
  }
  const hosts = new Map<string, PathRule[]>();
  const backends = new Map<string, Backend>();
  for (const { host, path, type, backend } of claims.values()) {
    const service = backendKey(backend);
    backends.set(service, backend);
    const rules = hosts.get(host) ?? [];
    rules.push({ path, type, service });
    hosts.set(host, rules);
  }
  for (const rules of hosts.values()) rules.sort(compareSpecificity);
  return { hosts, backends, problems };
}

function conflict(route: Route, holder: Route): RoutingProblem {
  const { kind, namespace, name } = holder.origin;
  return {
    origin: route.origin,
    message: `${route.type} ${route.path} of host ${route.host} belongs to ${kind} ${namespace}/${name}, which came first`,
  };
}

function comparePrecedence(a: Route, b: Route): number {
  if (a.isDefault !== b.isDefault) return a.isDefault ? 1 : -1;
  const [one, other] = [a.origin, b.origin];
  if (one.createdAtMs !== other.createdAtMs) return one.createdAtMs < other.createdAtMs ? -1 : 1;
  return compareText(one.namespace, other.namespace) || compareText(one.name, other.name);
}

/** The longer path first, and of two equal paths the exact one. */
function compareSpecificity(a: PathRule, b: PathRule): number {
  if (a.path.length !== b.path.length) return b.path.length - a.path.length;
  return compareText(a.path, b.path) || compareText(a.type, b.type);
}
