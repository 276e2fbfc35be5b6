// Turns Ingresses, and routes of other front ends, into the table of routes. The table depends only on
// these, the classes and the options. Earlier results are kept, so a change of one Ingress among ten thousand costs
// the rules of its own hosts. Invariant: `#byHost` holds the routes of exactly the Ingresses in
// `#translated`, and `#rules` is the result of `hostRules` for them, with unchanged lists for
// unchanged hosts. The table is made from the rules.

import { isDeepStrictEqual } from "node:util";
import { assertCostly } from "../../environment/assert.ts";
import { atOnce, type Steps } from "../../environment/steps.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import type { HostOwner, PathRule } from "../decision.ts";
import { type BackendChanges, CountedBackends } from "./counted-backends.ts";
import { HostAliases } from "./host-aliases.ts";
import {
  anyHost,
  deepWildcardsOver,
  isWildcardHost,
  wildcardOver,
  wildcardRank,
} from "./host-name.ts";
import { type HostRules, hostRules, strongestRivals } from "./host-rules.ts";
import {
  type AuthHost,
  type IngressRoutes,
  ingressOrigin,
  ingressRoutes,
  isAuthNamespace,
} from "./ingress/ingress-routes.ts";
import { type ClassChoice, classProblems } from "./ingress-class-filter.ts";
import { type Asked, type IngressChanges, OurIngresses } from "./our-ingresses.ts";
import {
  type Backend,
  claimOf,
  type Route,
  type RouteOrigin,
  type RoutingProblem,
} from "./route.ts";
import { areSameRules } from "./same-rules.ts";

/** Hosts and backends change under the reader with every decision. */
export interface RouteTable {
  /** By host; of each host the rules in the order in which they are tried. */
  readonly hosts: ReadonlyMap<string, readonly PathRule[]>;
  /** By host, whose its rules are. */
  readonly owners: ReadonlyMap<string, HostOwner>;
  /** By alias, the host whose rules it has, where these are exactly the same. */
  readonly sameAs: ReadonlyMap<string, string>;
  /** Every backend that a rule names, by its key. */
  readonly backends: ReadonlyMap<string, Backend>;
  readonly problems: readonly RoutingProblem[];
}

export interface RoutingOptions extends ClassChoice {
  /** The class that is served even when the cluster has no IngressClass of this name. */
  readonly className: string;
  /** Gets what no host and path of any Ingress wants; without it that is answered with 404. */
  readonly defaultBackend?: Backend | undefined;
  /** Several namespaces may have routes of one host; see docs/annotations.md for who is trusted. */
  readonly shareHosts?: boolean;
  /** Namespaces that `auth-url` of every namespace may lead to; `*` for all. */
  readonly authNamespaces?: readonly string[];
  /** Where an Ingress has TLS, requests without it are sent to https; true unless given. */
  readonly sslRedirect?: boolean;
  /** Of the proxy, where Ingresses and the default backend are served; all when absent. */
  readonly ingressPorts?: readonly number[] | undefined;
}

/** Everything that is asked for: Ingresses, and the routes of each object of another front end. */
export interface AskedRoutes extends Asked {
  readonly others?: readonly IngressRoutes[];
}

type Asker = Ingress | IngressRoutes;

/** The changes of the last decision. */
export interface RouteChanges {
  /** Of our classes. */
  readonly ingresses: IngressChanges;
  /** Hosts whose rules changed, are gone, have another owner, or are shared with another host. */
  readonly hosts: ReadonlySet<string>;
  readonly backends: BackendChanges;
}

export const emptyTable: RouteTable = {
  hosts: new Map(),
  owners: new Map(),
  sameAs: new Map(),
  backends: new Map(),
  problems: [],
};

export class Routing {
  readonly #options: RoutingOptions;
  readonly #fallback: readonly Route[];
  readonly #ours: OurIngresses;
  /** By Ingress; the routes of another front end's object stand for that object. */
  readonly #translated = new Map<Asker, IngressRoutes>();
  readonly #byHost = new Map<string, Map<Asker, Route[]>>();
  /** By wildcard, the hosts of `#byHost` under it. */
  readonly #under = new Map<string, Set<string>>();
  readonly #aliases = new HostAliases();
  readonly #rules = new Map<string, HostRules>();
  readonly #hosts = new Map<string, readonly PathRule[]>();
  readonly #owners = new Map<string, HostOwner>();
  readonly #sameAs = new Map<string, string>();
  readonly #backends = new CountedBackends();
  /** Only those that have problems. */
  readonly #badIngresses = new Set<Asker>();
  readonly #badHosts = new Set<string>();
  /** The hosts that `auth-url` names; a route must lead from each, of a namespace that may be asked. */
  readonly #authHosts = new Map<Ingress, AuthHost>();
  #changes = noChanges;
  /** The routes of other front ends. */
  #others: ReadonlySet<IngressRoutes> = new Set();

  constructor(options: RoutingOptions) {
    this.#options = options;
    this.#ours = new OurIngresses(options);
    const { defaultBackend, ingressPorts } = options;
    this.#fallback = defaultBackend === undefined ? [] : [fallbackTo(defaultBackend, ingressPorts)];
  }

  /** The table of what is asked now; the rules of hosts that did not change are the same list. */
  decide(asked: AskedRoutes): RouteTable {
    return atOnce(this.deciding(asked));
  }

  /** The same in steps. Before the last one the maps of the table are half of the old and the new. */
  *deciding(asked: AskedRoutes): Steps<RouteTable> {
    const { sslRedirect = true, authNamespaces, ingressPorts: ports } = this.#options;
    const ingresses = this.#ours.replace(asked);
    const isWithoutFallback = this.#fallback.length > 0 && !this.#rules.has(anyHost);
    const touched = new Set(isWithoutFallback ? [anyHost] : []);
    for (const ingress of ingresses.joined) {
      const translated = yield* ingressRoutes(ingress, { sslRedirect, authNamespaces, ports });
      yield* this.#enter(ingress, translated, touched);
    }
    for (const ingress of ingresses.left) yield* this.#leave(ingress, touched);
    yield* this.#replaceOthers(asked.others ?? [], touched);
    // The other names of hosts, not the names of those names.
    const named = new Set(touched);
    for (const host of named) {
      for (const alias of this.#aliases.of(host)) touched.add(alias);
      yield;
    }
    // A wildcard depends on the Ingresses that name hosts under it; these hosts on its holder.
    for (const host of touched) {
      const above = wildcardOver(host);
      if (above !== undefined && this.#byHost.has(above)) touched.add(above);
      if (above !== undefined && this.#byHost.has(`*${above}`)) touched.add(`*${above}`);
      yield;
    }
    const hosts = new Set<string>();
    yield* this.#putWildcards(touched, hosts);
    for (const host of touched) {
      if (!isWildcardHost(host) && (yield* this.#putTogether(host))) hosts.add(host);
    }
    // After all of them: an alias is compared with what its host has now.
    for (const host of touched) {
      if (this.#compareWithNamed(host)) hosts.add(host);
      yield;
    }
    this.#changes = { ingresses, hosts, backends: this.#backends.takeChanges() };
    const problems = yield* this.#problems(classProblems(asked.classes));
    this.#check();
    return {
      hosts: this.#hosts,
      owners: this.#owners,
      sameAs: this.#sameAs,
      backends: this.#backends.all,
      problems,
    };
  }

  get changes(): RouteChanges {
    return this.#changes;
  }

  /**
   * The Ingress by which a host, or the wildcard over it, belongs to a namespace; undefined for a name
   * that leads nowhere, for any host, and where hosts are shared.
   */
  ownerOf(host: string): RouteOrigin | undefined {
    if (host === anyHost || this.#options.shareHosts === true) return undefined;
    const holderOf = (name: string) => this.#rules.get(name)?.holder;
    const holder = holderOf(host) ?? holderOf(wildcardOver(host) ?? "");
    return holder?.gateway ?? holder?.origin;
  }

  /** The owner of a rule of the table. */
  originOf(host: string, rule: PathRule): RouteOrigin | undefined {
    return this.#rules.get(host)?.claims.get(claimOf(rule))?.origin;
  }

  /** The owners of a host's rules. */
  originsOfHost(host: string): ReadonlySet<RouteOrigin> {
    const { claims } = this.#rules.get(host) ?? noRules;
    return new Set([...claims.values()].map(({ origin }) => origin));
  }

  /**
   * The Ingresses whose requests a backend, by its key, answers or judges: of every rule that leads
   * there.
   */
  *originsOf(backend: string): Iterable<RouteOrigin> {
    const found = new Set<RouteOrigin>();
    for (const host of this.#backends.hostsOf(backend)) {
      for (const origin of this.#rules.get(host)?.origins.get(backend) ?? []) {
        if (!found.has(origin)) yield origin;
        found.add(origin);
      }
    }
  }

  /** Those that are the same objects as before have nothing new to say. */
  *#replaceOthers(others: readonly IngressRoutes[], touched: Set<string>): Steps<void> {
    const now = new Set(others);
    const before = this.#others;
    this.#others = now;
    for (const one of now) if (!before.has(one)) yield* this.#enter(one, one, touched);
    for (const one of before) if (!now.has(one)) yield* this.#leave(one, touched);
  }

  *#enter(asker: Asker, translated: IngressRoutes, touched: Set<string>): Steps<void> {
    this.#translated.set(asker, translated);
    if (translated.problems.length > 0) this.#badIngresses.add(asker);
    if (translated.authHost !== undefined && "metadata" in asker) {
      this.#authHosts.set(asker, translated.authHost);
    }
    for (const route of translated.routes) {
      const ofHost = this.#byHost.get(route.host) ?? new Map<Asker, Route[]>();
      const own = ofHost.get(asker) ?? [];
      own.push(route);
      ofHost.set(asker, own);
      this.#byHost.set(route.host, ofHost);
      const above = wildcardOver(route.host);
      if (above) this.#under.set(above, (this.#under.get(above) ?? new Set()).add(route.host));
      touched.add(route.host);
      yield;
    }
    if ("metadata" in asker) yield* this.#aliases.enter(asker, translated.aliases, touched);
  }

  *#leave(asker: Asker, touched: Set<string>): Steps<void> {
    const { routes = [], aliases = [] } = this.#translated.get(asker) ?? {};
    if ("metadata" in asker) yield* this.#aliases.leave(asker, aliases, touched);
    for (const { host } of routes) {
      const ofHost = this.#byHost.get(host);
      ofHost?.delete(asker);
      if (ofHost?.size === 0) this.#forgetHost(host);
      touched.add(host);
      yield;
    }
    this.#translated.delete(asker);
    this.#badIngresses.delete(asker);
    if ("metadata" in asker) this.#authHosts.delete(asker);
  }

  #forgetHost(host: string): void {
    this.#byHost.delete(host);
    const above = wildcardOver(host) ?? "";
    const siblings = this.#under.get(above);
    siblings?.delete(host);
    if (siblings?.size === 0) this.#under.delete(above);
  }

  /** The wider ones first: where another route holds one now, the names under it are touched. */
  *#putWildcards(touched: Set<string>, hosts: Set<string>): Steps<void> {
    const byRank: Set<string>[] = [];
    const touch = (host: string): void => {
      touched.add(host);
      if (!isWildcardHost(host)) return;
      const rank = wildcardRank(host);
      byRank[rank] = (byRank[rank] ?? new Set()).add(host);
    };
    for (const host of touched) touch(host);
    for (let rank = 0; rank < byRank.length; rank += 1) {
      const deep = new Set<string>();
      for (const wildcard of byRank[rank] ?? []) {
        const before = this.#rules.get(wildcard)?.holder;
        if (yield* this.#putTogether(wildcard)) hosts.add(wildcard);
        if (isSameHolder(before, this.#rules.get(wildcard)?.holder)) continue;
        for (const host of this.#under.get(wildcard) ?? []) touch(host);
        if (wildcard.startsWith("**.")) deep.add(wildcard);
      }
      if (deep.size === 0) continue;
      for (const host of this.#byHost.keys()) {
        if (deepWildcardsOver(host).some((one) => deep.has(one))) touch(host);
        yield;
      }
    }
  }

  /** The current rules of a host. */
  *#rulesOf(host: string): Steps<{ readonly now: HostRules; readonly hasRoutes: boolean }> {
    const { shareHosts = false } = this.#options;
    const own = this.#aliases.counting(host, this.#byHost.get(host) ?? new Map());
    const shared = this.#aliases.routes(host, {
      routesOf: (one) => this.#byHost.get(one) ?? [],
      shareHosts,
    });
    const routes = [...own.routes, ...shared.routes, ...(host === anyHost ? this.#fallback : [])];
    yield;
    const put = yield* hostRules(routes, { shareHosts, rivals: this.#rivalsOf(host) });
    const now = { ...put, problems: [...put.problems, ...own.problems, ...shared.problems] };
    return { now, hasRoutes: routes.length > 0 };
  }

  /** Whether the rules of the host, or their owner, changed. */
  *#putTogether(host: string): Steps<boolean> {
    const { now, hasRoutes } = yield* this.#rulesOf(host);
    const known = this.#rules.get(host);
    yield;
    const isSame = areSameRules(known?.rules ?? [], now.rules);
    yield;
    const rules = isSame && known !== undefined ? known.rules : now.rules;
    if (known !== undefined) this.#backends.remove(known.backends, host);
    this.#backends.add(now.backends, host);
    if (hasRoutes) this.#rules.set(host, { ...now, rules });
    else this.#rules.delete(host);
    if (rules.length === 0) this.#hosts.delete(host);
    else this.#hosts.set(host, rules);
    const isSameOwner = this.#setOwner(host, ownerOf(now.claims.values()));
    if (now.problems.length === 0) this.#badHosts.delete(host);
    else this.#badHosts.add(host);
    return !isSame || !isSameOwner;
  }

  #check(): void {
    const size = this.#rules.size + this.#translated.size;
    assertCostly(() => this.#hasRoutesOfOurs(), "hosts have the routes of our Ingresses", size);
    assertCostly(() => this.#hasRulesOfRoutes(), "hosts have the rules of their routes", size);
  }

  #hasRoutesOfOurs(): boolean {
    const ofHosts = [...this.#byHost.values()].flatMap((ofHost) => [...ofHost.values()].flat());
    const translated = [...this.#translated.values()].flatMap(({ routes }) => routes);
    const known = new Set(ofHosts);
    const isUnder = (host: string): boolean => {
      const above = wildcardOver(host);
      return above === undefined || this.#under.get(above)?.has(host) === true;
    };
    return (
      ofHosts.length === translated.length &&
      translated.every((route) => known.has(route)) &&
      [...this.#byHost.keys()].every(isUnder)
    );
  }

  #hasRulesOfRoutes(): boolean {
    const hosts = new Set([...this.#byHost.keys(), ...this.#rules.keys(), ...this.#hosts.keys()]);
    return [...hosts].every((host) => {
      const { now, hasRoutes } = atOnce(this.#rulesOf(host));
      const known = this.#rules.get(host)?.rules ?? [];
      const isShown = (this.#hosts.get(host) ?? []).length === known.length;
      return areSameRules(known, now.rules) && this.#rules.has(host) === hasRoutes && isShown;
    });
  }

  /** Of a wildcard the oldest routes of hosts under it; of each name the holders of wildcards over it. */
  #rivalsOf(host: string): readonly Route[] {
    const wildcard = wildcardOver(host);
    const names = [...(wildcard === undefined ? [] : [wildcard]), ...deepWildcardsOver(host)];
    const above = names.flatMap((name) => this.#rules.get(name)?.holder ?? []);
    // A wildcard for any number of labels yields with that for one label.
    const siblings = this.#under.get(host.startsWith("**.") ? host.slice(1) : host) ?? [];
    const under = [...siblings].filter((one) => one !== host);
    // Routes of one Ingress are of one age.
    const ofIngresses = under.flatMap((one) => [...(this.#byHost.get(one)?.values() ?? [])]);
    return [...above, ...strongestRivals(ofIngresses.flatMap((routes) => routes.slice(0, 1)))];
  }

  /** Whether it is the same as before. */
  #setOwner(host: string, owner: HostOwner | undefined): boolean {
    const before = this.#owners.get(host);
    if (owner === undefined) this.#owners.delete(host);
    else this.#owners.set(host, owner);
    const { namespace, createdAtMs } = owner ?? {};
    return before?.namespace === namespace && before?.createdAtMs === createdAtMs;
  }

  /** Whether the host shares its rules with another than before, or no longer. */
  #compareWithNamed(host: string): boolean {
    const rules = this.#hosts.get(host);
    const hasSame = (named: string) => areSameRules(this.#hosts.get(named) ?? [], rules ?? []);
    // One that is an alias itself may have no rules of its own.
    const found =
      rules && this.#aliases.named(host).find((one) => !this.#aliases.has(one) && hasSame(one));
    const before = this.#sameAs.get(host);
    if (found === undefined) this.#sameAs.delete(host);
    else this.#sameAs.set(host, found);
    return before !== found;
  }

  *#problems(ofClasses: readonly RoutingProblem[]): Steps<readonly RoutingProblem[]> {
    const problems: RoutingProblem[] = [...ofClasses];
    for (const ingress of this.#badIngresses) {
      for (const one of this.#translated.get(ingress)?.problems ?? []) problems.push(one);
      yield;
    }
    for (const host of this.#badHosts) {
      for (const one of this.#rules.get(host)?.problems ?? []) problems.push(one);
      yield;
    }
    for (const [ingress, asked] of this.#authHosts) {
      const why = this.#authHostProblem(asked);
      const message = `annotation auth-url: ${why}`;
      const origin = ingressOrigin(ingress);
      if (why !== undefined) problems.push({ origin, reason: "RouteClosed", message });
      yield;
    }
    return problems;
  }

  #authHostProblem({ host, namespaces }: AuthHost): string | undefined {
    const names = [host, wildcardOver(host) ?? anyHost, anyHost];
    const closing = "so every request is answered with 503";
    if (!names.some((name) => this.#hosts.has(name))) {
      return (
        `no Ingress here has the host ${host}, ${closing}; ` +
        "name a service, as in http://auth.tools.svc/check, or a host that an Ingress has"
      );
    }
    const owner = this.ownerOf(host)?.namespace;
    if (owner === undefined || isAuthNamespace(owner, namespaces)) return undefined;
    const whose = `host ${host} belongs to namespace ${owner}`;
    return `${whose}, which --auth-namespace does not allow, ${closing}`;
  }
}

const noChanges: RouteChanges = {
  ingresses: { joined: [], left: [] },
  hosts: new Set(),
  backends: { joined: [], left: [] },
};

const noRules: Pick<HostRules, "claims"> = { claims: new Map() };

function isSameHolder(one: Route | undefined, other: Route | undefined): boolean {
  return (
    one?.standing === other?.standing &&
    isDeepStrictEqual(one?.origin, other?.origin) &&
    isDeepStrictEqual(one?.gateway, other?.gateway)
  );
}

function ownerOf(claims: Iterable<Route>): HostOwner | undefined {
  let owner: HostOwner | undefined;
  for (const { origin } of claims) {
    const { namespace, createdAtMs } = origin;
    const isOne = owner === undefined || owner.namespace === namespace;
    const oldest = Math.min(createdAtMs, owner?.createdAtMs ?? createdAtMs);
    owner = { namespace: isOne ? namespace : "", createdAtMs: oldest };
  }
  return owner;
}

/** Yields to every other route. */
function fallbackTo(backend: Backend, ports: readonly number[] | undefined): Route {
  const name = "--default-backend";
  const createdAtMs = Number.POSITIVE_INFINITY;
  return {
    host: anyHost,
    match: { path: "/", type: "Prefix", ...(ports && { when: { ports } }) },
    backend,
    standing: "default",
    policy: undefined,
    canary: undefined,
    origin: { kind: "setting", namespace: "", name, createdAtMs },
  };
}
