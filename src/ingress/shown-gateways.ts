// Gateways and their routes as they stand: decided again with the routes, from the objects and from what
// else their rules depend on. `decide/routing/gateway/` has the rules.
import { isDeepStrictEqual } from "node:util";
import type { Claimant } from "../decide/routing/certificate-claims.ts";
import type { ClaimantChanges } from "../decide/routing/certificates.ts";
import { checkedSecret } from "../decide/routing/checked-secret.ts";
import {
  type DecidedHttpRoute,
  type GatewayDecision,
  GatewayFrontEnd,
  noGateways,
} from "../decide/routing/gateway/gateway-front-end.ts";
import type { ProxyPorts } from "../decide/routing/gateway/listeners.ts";
import type { RoutingProblem } from "../decide/routing/route.ts";
import type { RouteTable } from "../decide/routing/routing.ts";
import type { HostProblems } from "../decide/status/gateway-status.ts";
import type { Clock } from "../environment/clock.ts";
import { atOnce, type Steps } from "../environment/steps.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import type { ImportedServices } from "../model/imported-services.ts";
import type { SnapshotSource } from "../model/service-snapshot.ts";
import type { GatewaySource } from "../sources/gateway-source.ts";
import type { IngressSource } from "../sources/ingress-source.ts";
import type { SecretSource } from "../sources/secret-source.ts";

export interface GatewayOptions {
  readonly source: Pick<GatewaySource, "classes" | "gateways" | "routes" | "grants" | "policies">;
  readonly ports: ProxyPorts;
  readonly addresses?: readonly string[] | undefined;
  readonly namespaces: Pick<IngressSource, "labelsOf">;
  /** Without them ServiceImports count as not installed. */
  readonly imports?: Pick<ImportedServices, "find"> | undefined;
}

export interface ShownGatewaysOptions {
  /** Without it there are no Gateways. */
  readonly gateways?: GatewayOptions | undefined;
  readonly sources: readonly Pick<SnapshotSource, "service" | "isListed">[];
  readonly secrets?: Pick<SecretSource, "get"> | undefined;
  readonly clock: Pick<Clock, "wallMs">;
}

/** As far as routes depend on it. */
interface KnownService {
  /** In one of the clusters. */
  readonly isThere: boolean;
  /** By port, in the first cluster that has one there. */
  readonly appProtocols: ReadonlyMap<number, string> | undefined;
}

export class ShownGateways {
  readonly #options: ShownGatewaysOptions;
  readonly #frontEnd = new GatewayFrontEnd();
  /** By `namespace/name`, the services that routes refer to, as they were. */
  #services: ReadonlyMap<string, KnownService> = new Map();
  /** The same of the decision that is under way: what changes meanwhile is news too. */
  #asked: ReadonlyMap<string, KnownService> = new Map();
  #claims: ReadonlySet<Claimant> = new Set();
  #decision: GatewayDecision = noGateways;

  constructor(options: ShownGatewaysOptions) {
    this.#options = options;
  }

  /** The last decision. */
  get decision(): GatewayDecision {
    return this.#decision;
  }

  decide(): GatewayDecision {
    return atOnce(this.deciding());
  }

  /** The same in steps. */
  *deciding(): Steps<GatewayDecision> {
    const { gateways, secrets, clock } = this.#options;
    if (gateways === undefined) return noGateways;
    const { source, ports, addresses, namespaces, imports } = gateways;
    const services = new Map<string, KnownService>();
    this.#asked = services;
    const serviceOf = (namespace: string, name: string): KnownService => {
      const key = `${namespace}/${name}`;
      const found = services.get(key) ?? this.#serviceOf(namespace, name);
      services.set(key, found);
      return found;
    };
    const now = clock.wallMs();
    const { classes, routes, grants, policies } = source;
    const objects = { classes, gateways: source.gateways, routes, grants, policies };
    this.#decision = yield* this.#frontEnd.deciding(objects, {
      ports,
      addresses,
      labelsOf: (namespace) => namespaces.labelsOf(namespace),
      certificate: (reference) => {
        const known = secrets?.get(reference) ?? { kind: "unread" };
        return checkedSecret(known, objectKey(reference), now);
      },
      hasService: (namespace, name) => serviceOf(namespace, name).isThere,
      appProtocol: (namespace, name, port) => serviceOf(namespace, name).appProtocols?.get(port),
      importOf: (namespace, name) => imports?.find(namespace, name),
    });
    this.#services = services;
    return this.#decision;
  }

  /** The certificates that are asked for otherwise than when this was last called. */
  takeClaimChanges(): ClaimantChanges {
    const before = this.#claims;
    const now = new Set<Claimant>(this.#decision.claims);
    this.#claims = now;
    return {
      joined: [...now].filter((one) => !before.has(one)),
      left: [...before].filter((one) => !now.has(one)),
    };
  }

  /** The certificates are decided from nothing: every claim is new. */
  forgetClaims(): void {
    this.#claims = new Set();
  }

  /** Whether a service, `namespace/name`, that a route refers to is another for it now. */
  isNews(service: string): boolean {
    const known = this.#asked.get(service) ?? this.#services.get(service);
    if (known === undefined) return false;
    const slash = service.indexOf("/");
    const now = this.#serviceOf(service.slice(0, slash), service.slice(slash + 1));
    return !isDeepStrictEqual(now, known);
  }

  #serviceOf(namespace: string, name: string): KnownService {
    let isThere = false;
    let appProtocols: Map<number, string> | undefined;
    for (const source of this.#options.sources) {
      const service = source.service(namespace, name);
      // Clusters that are not listed yet may have it.
      if (!source.isListed || service !== undefined) isThere = true;
      for (const { port, protocol, appProtocol } of service?.ports ?? []) {
        if (appProtocol === undefined || protocol !== "TCP" || appProtocols?.has(port)) continue;
        appProtocols ??= new Map();
        appProtocols.set(port, appProtocol);
      }
    }
    return { isThere, appProtocols };
  }
}

/** Problems that authors read in the status of their object, and not in Events. */
export function isOfGateways({ origin }: RoutingProblem): boolean {
  const kinds: readonly string[] = ["HTTPRoute", "GRPCRoute", "Gateway", "GatewayClass"];
  return kinds.includes(origin.kind);
}

/** The names of a route that another object has. */
export function takenHosts(table: RouteTable, { route, rules }: DecidedHttpRoute): HostProblems {
  const messages = takenMessages(table).get(keyOf(route.kind, route.metadata)) ?? [];
  if (messages.length === 0) return { messages, isWhole: false };
  const hosts = new Set(rules.routes.map(({ host }) => host));
  return { messages, isWhole: messages.length >= hosts.size };
}

const takenOfTables = new WeakMap<RouteTable, ReadonlyMap<string, readonly string[]>>();

function keyOf(kind: string, named: Parameters<typeof objectKey>[0]): string {
  return `${kind} ${objectKey(named)}`;
}

/** By kind and `namespace/name`. Found once for a table: thousands of routes ask for theirs. */
function takenMessages(table: RouteTable): ReadonlyMap<string, readonly string[]> {
  const known = takenOfTables.get(table);
  if (known !== undefined) return known;
  const found = new Map<string, string[]>();
  for (const { origin, reason, message } of table.problems) {
    if (reason !== "HostTaken") continue;
    const key = keyOf(origin.kind, origin);
    const messages = found.get(key) ?? [];
    messages.push(message);
    found.set(key, messages);
  }
  takenOfTables.set(table, found);
  return found;
}
