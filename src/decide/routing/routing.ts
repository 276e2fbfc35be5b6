// From what people asked for to the table of routes. The table depends on nothing but the Ingresses,
// the classes and the options; what was found out before is kept, so that a change of one Ingress
// among ten thousand costs the rules of its own hosts.
// Invariant: `#byHost` holds the routes of exactly the Ingresses in `#translated`, and `#rules` is
// what `hostRules` makes of them, with the lists of hosts that did not change the same as before.
import { isDeepStrictEqual } from "node:util";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import type { IngressClass } from "../../kube/kinds/ingress-class.ts";
import type { PathRule } from "../decision.ts";
import { anyHost } from "./host-name.ts";
import { type HostRules, hostRules } from "./host-rules.ts";
import { type IngressRoutes, ingressRoutes } from "./ingress/ingress-routes.ts";
import { classProblems, ingressFilter } from "./ingress-class-filter.ts";
import {
  type Backend,
  claimOf,
  type Route,
  type RouteOrigin,
  type RoutingProblem,
} from "./route.ts";

export interface RouteTable {
  /** By host; of each host the rules in the order in which they are tried. */
  readonly hosts: ReadonlyMap<string, readonly PathRule[]>;
  /** Every backend that a rule names, by its key. */
  readonly backends: ReadonlyMap<string, Backend>;
  readonly problems: readonly RoutingProblem[];
}

export interface RoutingOptions {
  /** The class that is served even when the cluster has no IngressClass of this name. */
  readonly className: string;
  /** Gets what no host and path of any Ingress wants; without it that is answered with 404. */
  readonly defaultBackend?: Backend | undefined;
  /** Several namespaces may have routes of one host; see docs/annotations.md for who is trusted. */
  readonly shareHosts?: boolean;
  /** Where an Ingress has TLS, requests without it are sent to https; true unless given. */
  readonly sslRedirect?: boolean;
}

export interface Asked {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
}

export const emptyTable: RouteTable = { hosts: new Map(), backends: new Map(), problems: [] };

export class Routing {
  readonly #options: RoutingOptions;
  readonly #fallback: readonly Route[];
  #translated: ReadonlyMap<Ingress, IngressRoutes> = new Map();
  readonly #byHost = new Map<string, Map<Ingress, Route[]>>();
  readonly #rules = new Map<string, HostRules>();
  #table: RouteTable = emptyTable;

  constructor(options: RoutingOptions) {
    this.#options = options;
    this.#fallback =
      options.defaultBackend === undefined ? [] : [fallbackTo(options.defaultBackend)];
    if (this.#fallback.length > 0) this.#putTogether([anyHost]);
  }

  /** The table of what is asked now; the rules of hosts that did not change are the same list. */
  decide({ ingresses, classes }: Asked): RouteTable {
    const { className, sslRedirect = true } = this.#options;
    const isOurs = ingressFilter(classes, className);
    const before = this.#translated;
    const translated = new Map<Ingress, IngressRoutes>();
    const changed = new Set<string>();
    for (const ingress of ingresses) {
      if (!isOurs(ingress)) continue;
      const known = before.get(ingress);
      const routes = known ?? ingressRoutes(ingress, { sslRedirect });
      translated.set(ingress, routes);
      if (known === undefined) this.#enter(ingress, routes, changed);
    }
    for (const [ingress, routes] of before) {
      if (!translated.has(ingress)) this.#leave(ingress, routes, changed);
    }
    this.#translated = translated;
    this.#putTogether(changed);
    this.#table = this.#assemble(classProblems(classes));
    return this.#table;
  }

  /** Whose a rule of the table is. */
  originOf(host: string, rule: PathRule): RouteOrigin | undefined {
    return this.#rules.get(host)?.claims.get(claimOf(rule))?.origin;
  }

  #enter(ingress: Ingress, { routes }: IngressRoutes, changed: Set<string>): void {
    for (const route of routes) {
      const ofHost = this.#byHost.get(route.host) ?? new Map<Ingress, Route[]>();
      const own = ofHost.get(ingress) ?? [];
      own.push(route);
      ofHost.set(ingress, own);
      this.#byHost.set(route.host, ofHost);
      changed.add(route.host);
    }
  }

  #leave(ingress: Ingress, { routes }: IngressRoutes, changed: Set<string>): void {
    for (const { host } of routes) {
      const ofHost = this.#byHost.get(host);
      ofHost?.delete(ingress);
      if (ofHost?.size === 0) this.#byHost.delete(host);
      changed.add(host);
    }
  }

  #putTogether(hosts: Iterable<string>): void {
    const { shareHosts = false } = this.#options;
    for (const host of hosts) {
      const own = [...(this.#byHost.get(host)?.values() ?? [])].flat();
      const routes = host === anyHost ? [...own, ...this.#fallback] : own;
      const now = hostRules(routes, { shareHosts });
      const known = this.#rules.get(host);
      const isSame = known !== undefined && isDeepStrictEqual(known.rules, now.rules);
      if (routes.length === 0) this.#rules.delete(host);
      else this.#rules.set(host, isSame ? { ...now, rules: known.rules } : now);
    }
  }

  #assemble(ofClasses: readonly RoutingProblem[]): RouteTable {
    const hosts = new Map<string, readonly PathRule[]>();
    const backends = new Map<string, Backend>();
    const problems: RoutingProblem[] = [...ofClasses];
    for (const { problems: own } of this.#translated.values()) {
      for (const one of own) problems.push(one);
    }
    for (const [host, { rules, backends: own, problems: conflicts }] of this.#rules) {
      if (rules.length > 0) hosts.set(host, rules);
      for (const [key, backend] of own) backends.set(key, backend);
      for (const one of conflicts) problems.push(one);
    }
    return { hosts, backends, problems };
  }
}

/** Yields to everybody. */
function fallbackTo(backend: Backend): Route {
  const name = "--default-backend";
  const createdAtMs = Number.POSITIVE_INFINITY;
  return {
    host: anyHost,
    match: { path: "/", type: "Prefix" },
    backend,
    standing: "default",
    policy: undefined,
    canary: undefined,
    origin: { kind: "setting", namespace: "", name, createdAtMs },
  };
}
