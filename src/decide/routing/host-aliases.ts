// Aliases of hosts, as Ingresses give them. An alias leads where the host does, with the rules of
// every Ingress of the same namespace. The Ingress that gives the alias has its own rules there
// already; here are those of the others. Their authors did not ask for it, so they get no problems.
// Invariant: `#given` and `#names` hold the names of exactly the Ingresses that entered and did not
// leave.

import { isDeepStrictEqual } from "node:util";
import { assertCostly } from "../../environment/assert.ts";
import type { Steps } from "../../environment/steps.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import { ingressOrigin } from "./ingress/ingress-routes.ts";
import { compareAge } from "./precedence.ts";
import type { Route, RoutingProblem } from "./route.ts";

/** One Ingress calls a host by another name. */
export interface HostAlias {
  readonly alias: string;
  readonly host: string;
}

export interface AliasRoutes {
  readonly routes: readonly Route[];
  readonly problems: readonly RoutingProblem[];
}

/** Aliases multiply rules; a host with more rules of others should list them itself. */
export const maxSharedRules = 500;

/** Of one host and one namespace. With more names, none of them has rules of other Ingresses. */
const maxSharingNames = 500;

/** Of all names of one host and one namespace: all of these are computed again when one changes. */
const maxSharedInAll = 5_000;

/** Of all names that an Ingress gives, those of other Ingresses that give them too. */
const maxGivenRules = 5_000;

export interface AliasRoutesOptions {
  /** By the object that asks for them, an Ingress or another, the routes of a host. */
  readonly routesOf: (host: string) => Iterable<readonly [object, readonly Route[]]>;
  /** Several namespaces may have routes of one host. */
  readonly shareHosts: boolean;
}

export class HostAliases {
  /** By alias, the Ingresses that give it and the hosts that they give it to. */
  readonly #given = new Map<string, Map<Ingress, Set<string>>>();
  /** By host and namespace, the names that its Ingresses give it, each with how many do. */
  readonly #names = new Map<string, Map<string, Map<string, number>>>();

  /** By Ingress, how many names it gives. */
  readonly #nameCounts = new Map<Ingress, number>();

  /** The Ingress gives these from now on; names that may have other rules by it are touched. */
  *enter(ingress: Ingress, aliases: readonly HostAlias[], touched: Set<string>): Steps<void> {
    if (aliases.length > 0) {
      this.#nameCounts.set(ingress, new Set(aliases.map(({ alias }) => alias)).size);
    }
    for (const { alias, host } of aliases) {
      const givers = this.#given.get(alias) ?? new Map<Ingress, Set<string>>();
      this.#given.set(alias, givers.set(ingress, (givers.get(ingress) ?? new Set()).add(host)));
      touched.add(alias);
      this.#count(ingress, { alias, host }, 1, touched);
      yield;
    }
    this.#check();
  }

  /** The Ingress gives these no longer. */
  *leave(ingress: Ingress, aliases: readonly HostAlias[], touched: Set<string>): Steps<void> {
    this.#nameCounts.delete(ingress);
    for (const { alias, host } of aliases) {
      const givers = this.#given.get(alias);
      givers?.delete(ingress);
      if (givers?.size === 0) this.#given.delete(alias);
      touched.add(alias);
      this.#count(ingress, { alias, host }, -1, touched);
      yield;
    }
    this.#check();
  }

  #check(): void {
    assertCostly(() => this.#isInStep(), "names are those that Ingresses give", this.#given.size);
  }

  #isInStep(): boolean {
    const given = new Map<Ingress, number>();
    const counts = new Map<string, number>();
    for (const [alias, givers] of this.#given) {
      if (givers.size === 0) return false;
      for (const [ingress, hosts] of givers) {
        given.set(ingress, (given.get(ingress) ?? 0) + 1);
        for (const host of hosts) {
          const name = `${host} ${ingress.metadata.namespace} ${alias}`;
          counts.set(name, (counts.get(name) ?? 0) + 1);
        }
      }
    }
    for (const [host, ofHost] of this.#names) {
      for (const [namespace, names] of ofHost) {
        for (const [alias, count] of names) {
          const name = `${host} ${namespace} ${alias}`;
          if (counts.get(name) !== count) return false;
          counts.delete(name);
        }
      }
    }
    return counts.size === 0 && isDeepStrictEqual(given, this.#nameCounts);
  }

  #count(ingress: Ingress, { alias, host }: HostAlias, by: 1 | -1, touched: Set<string>): void {
    const { namespace } = ingress.metadata;
    const ofHost = this.#names.get(host) ?? new Map<string, Map<string, number>>();
    const names = ofHost.get(namespace) ?? new Map<string, number>();
    this.#names.set(host, ofHost.set(namespace, names));
    const before = names.size;
    const count = (names.get(alias) ?? 0) + by;
    if (count > 0) names.set(alias, count);
    else names.delete(alias);
    const isSharing = names.size <= maxSharingNames;
    if (isSharing !== before <= maxSharingNames) for (const one of names.keys()) touched.add(one);
    if (names.size === 0) ofHost.delete(namespace);
    if (ofHost.size === 0) this.#names.delete(host);
  }

  /** Whether some Ingress gives this name to a host. */
  has(alias: string): boolean {
    return this.#given.has(alias);
  }

  /** The hosts that an alias is given to. */
  named(alias: string): readonly string[] {
    const givers = this.#given.get(alias);
    return givers === undefined ? none : [...givers.values()].flatMap((hosts) => [...hosts]);
  }

  /** The other names of a host that may have rules of other Ingresses. */
  of(host: string): readonly string[] {
    const groups = [...(this.#names.get(host)?.values() ?? none)];
    const sharing = groups.filter(({ size }) => size <= maxSharingNames);
    return sharing.flatMap((names) => [...names.keys()]);
  }

  /** The routes that the other Ingresses have for the hosts of this alias. */
  routes(alias: string, options: AliasRoutesOptions): AliasRoutes {
    const routes: Route[] = [];
    const problems: RoutingProblem[] = [];
    for (const [giver, hosts] of this.#given.get(alias) ?? none) {
      const found = this.#shared(alias, giver, hosts, options);
      if (typeof found !== "string") {
        for (const route of found) routes.push(sharedAs(alias, route));
        continue;
      }
      problems.push({
        origin: ingressOrigin(giver),
        reason: "AnnotationIgnored",
        message: `annotation server-alias: ${found}`,
      });
    }
    return { routes, problems };
  }

  /**
   * The routes of this name that count. If many Ingresses give the same many names, each name has
   * rules of the oldest only, by namespace: a change of one Ingress computes all its names again.
   */
  counting(name: string, ofName: ReadonlyMap<object, readonly Route[]>): AliasRoutes {
    const groups = new Map<string, Ingress[]>();
    for (const giver of this.#given.get(name)?.keys() ?? none) {
      const { namespace } = giver.metadata;
      const group = groups.get(namespace);
      if (group === undefined) groups.set(namespace, [giver]);
      else group.push(giver);
    }
    const problems: RoutingProblem[] = [];
    const left = new Set<object>();
    for (const givers of groups.values()) {
      for (const giver of this.#beyond(givers, ofName)) {
        left.add(giver);
        const what = `its Ingresses have more than ${maxGivenRules} rules for the same names`;
        problems.push({
          origin: ingressOrigin(giver),
          reason: "AnnotationIgnored",
          message: `annotation server-alias: ${what}, so those of this Ingress are ignored for ${name}`,
        });
      }
    }
    const routes = [...ofName].flatMap(([ingress, own]) =>
      left.has(ingress) ? own.filter(({ standing }) => standing !== "alias") : own,
    );
    return { routes, problems };
  }

  /** The newest of these that give a name, as far as there is no room for them. */
  #beyond(
    givers: readonly Ingress[],
    ofName: ReadonlyMap<object, readonly Route[]>,
  ): readonly Ingress[] {
    const names = givers.reduce(
      (most, giver) => Math.max(most, this.#nameCounts.get(giver) ?? 1),
      1,
    );
    const rulesOf = (giver: Ingress) => ofName.get(giver)?.length ?? 0;
    let room = maxGivenRules / names;
    if (givers.reduce((sum, giver) => sum + rulesOf(giver), 0) <= room) return none;
    const origins = new Map(givers.map((giver) => [giver, ingressOrigin(giver)]));
    const byAge = [...origins].sort(([, a], [, b]) => compareAge(a, b));
    return byAge.flatMap(([giver], index) => {
      room -= rulesOf(giver);
      return room < 0 && index > 0 ? [giver] : [];
    });
  }

  /** Routes of others than the giver; in words why there are none where they would be too many. */
  #shared(
    alias: string,
    giver: Ingress,
    hosts: ReadonlySet<string>,
    options: AliasRoutesOptions,
  ): readonly Route[] | string {
    const routes: Route[] = [];
    let most = maxSharedRules;
    for (const host of hosts) {
      const names = this.#names.get(host)?.get(giver.metadata.namespace)?.size ?? 0;
      if (names > maxSharingNames) {
        const what = `the host has more than ${maxSharingNames} names`;
        return `${what}, so rules of other Ingresses are ignored for ${alias}`;
      }
      most = Math.min(most, Math.floor(maxSharedInAll / Math.max(names, 1)));
      for (const route of ofOthers(giver, host, options)) {
        routes.push(route);
        if (routes.length <= most) continue;
        const what = `other Ingresses have more than ${most} rules for the host`;
        return `${what}, so they are ignored for ${alias}`;
      }
    }
    return routes;
  }
}

const none: readonly never[] = [];

function* ofOthers(
  giver: Ingress,
  host: string,
  { routesOf, shareHosts }: AliasRoutesOptions,
): Iterable<Route> {
  const { namespace } = giver.metadata;
  for (const [other, routes] of routesOf(host)) {
    if (other === giver) continue;
    for (const route of routes) {
      // Routes of Gateways have the hosts that they name, and no others.
      const isIngress = route.gateway === undefined && route.standing === "rule";
      if (isIngress && (shareHosts || route.origin.namespace === namespace)) yield route;
    }
  }
}

function sharedAs(alias: string, route: Route): Route {
  return { ...route, host: alias, standing: "alias", isShared: true };
}
