// Other names of hosts, as Ingresses give them. Such a name leads where the host does, whichever Ingress
// of the same namespace the rules are from: the one that gives the name has its own there already, and
// here are those of the others. Their authors asked for nothing, so they are told nothing.
// Invariant: `#given` and `#names` hold the names of exactly the Ingresses that entered and did not leave.
import type { Ingress } from "../../kube/kinds/ingress.ts";
import { ingressOrigin } from "./ingress/ingress-routes.ts";
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

/** Names multiply rules; a host with more of others is put together by somebody who can list them. */
export const maxSharedRules = 500;

export interface AliasRoutesOptions {
  /** By Ingress, the routes of a host. */
  readonly routesOf: (host: string) => Iterable<readonly [Ingress, readonly Route[]]>;
  /** Several namespaces may have routes of one host. */
  readonly shareHosts: boolean;
}

export class HostAliases {
  /** By alias, the Ingresses that give it and the hosts that they give it to. */
  readonly #given = new Map<string, Map<Ingress, Set<string>>>();
  /** By host, its aliases, each as often as it is given. */
  readonly #names = new Map<string, string[]>();

  enter(ingress: Ingress, aliases: readonly HostAlias[]): void {
    for (const { alias, host } of aliases) {
      const givers = this.#given.get(alias) ?? new Map<Ingress, Set<string>>();
      this.#given.set(alias, givers.set(ingress, (givers.get(ingress) ?? new Set()).add(host)));
      this.#names.set(host, [...(this.#names.get(host) ?? []), alias]);
    }
  }

  leave(ingress: Ingress, aliases: readonly HostAlias[]): void {
    for (const { alias, host } of aliases) {
      const givers = this.#given.get(alias);
      givers?.delete(ingress);
      if (givers?.size === 0) this.#given.delete(alias);
      const names = [...(this.#names.get(host) ?? [])];
      const at = names.indexOf(alias);
      if (at !== -1) names.splice(at, 1);
      if (names.length === 0) this.#names.delete(host);
      else this.#names.set(host, names);
    }
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

  /** The other names of a host. */
  of(host: string): readonly string[] {
    return this.#names.get(host) ?? none;
  }

  /** What the Ingresses that do not give the name have for its hosts. */
  routes(alias: string, options: AliasRoutesOptions): AliasRoutes {
    const routes: Route[] = [];
    const problems: RoutingProblem[] = [];
    for (const [giver, hosts] of this.#given.get(alias) ?? none) {
      const found = [...hosts].flatMap((host) => ofOthers(giver, host, options));
      if (found.length <= maxSharedRules) {
        routes.push(...found.map((route) => sharedAs(alias, route)));
        continue;
      }
      const what = `other Ingresses have more than ${maxSharedRules} rules for the host`;
      problems.push({
        origin: ingressOrigin(giver),
        reason: "AnnotationIgnored",
        message: `annotation server-alias: ${what}, so ${alias} has none of them`,
      });
    }
    return { routes, problems };
  }
}

const none: readonly never[] = [];

function ofOthers(
  giver: Ingress,
  host: string,
  { routesOf, shareHosts }: AliasRoutesOptions,
): readonly Route[] {
  const { namespace } = giver.metadata;
  return [...routesOf(host)]
    .filter(([other]) => other !== giver)
    .filter(([other]) => shareHosts || other.metadata.namespace === namespace)
    .flatMap(([, routes]) => routes.filter(({ standing }) => standing === "rule"));
}

function sharedAs(alias: string, route: Route): Route {
  return { ...route, host: alias, standing: "alias", isShared: true };
}
