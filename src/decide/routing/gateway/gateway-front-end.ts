// Gateways and HTTPRoutes as routes of the neutral model, certificates, and what each object's status
// says. The result depends only on what is asked for and the facts. What stays as it was is the same
// object as before, so that the table of routes takes up only what changed.
import { isDeepStrictEqual } from "node:util";
import type { Gateway } from "../../../kube/kinds/gateway.ts";
import type { GatewayClass } from "../../../kube/kinds/gateway-class.ts";
import type { HttpRoute } from "../../../kube/kinds/http-route.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import type { ReferenceGrant } from "../../../kube/kinds/reference-grant.ts";
import type { IngressClaims } from "../certificate-claims.ts";
import { anyHost } from "../host-name.ts";
import type { IngressRoutes } from "../ingress/ingress-routes.ts";
import { compareAge } from "../precedence.ts";
import type { Route } from "../route.ts";
import { type DecidedParent, decideParent, type LabelsOf } from "./attachment.ts";
import { tableNames } from "./gateway-hosts.ts";
import { type HttpRouteRules, httpRouteRules, type ReachedHost } from "./http-route-rules.ts";
import {
  type DecidedListener,
  decideListeners,
  gatewayOrigin,
  type ListenerFacts,
  ListenerNames,
} from "./listeners.ts";
import { ReferenceGrants } from "./reference-grants.ts";
import type { BackendFacts } from "./route-backends.ts";

/** The controller name in a GatewayClass whose Gateways Lockstep serves. */
export const gatewayController = "lockstep.dev/gateway";

export interface GatewayObjects {
  readonly classes: readonly GatewayClass[];
  readonly gateways: readonly Gateway[];
  readonly routes: readonly HttpRoute[];
  readonly grants: readonly ReferenceGrant[];
}

export interface GatewayFacts extends Omit<ListenerFacts, "grants">, Omit<BackendFacts, "grants"> {
  readonly labelsOf: LabelsOf;
}

export interface DecidedGateway {
  readonly gateway: Gateway;
  readonly listeners: readonly DecidedListener[];
  /** By name of a listener, how many routes are attached. */
  readonly attached: ReadonlyMap<string, number>;
}

export interface DecidedHttpRoute {
  readonly route: HttpRoute;
  readonly parents: readonly DecidedParent[];
  readonly rules: HttpRouteRules;
}

export interface GatewayDecision {
  readonly classes: readonly GatewayClass[];
  readonly gateways: readonly DecidedGateway[];
  readonly routes: readonly DecidedHttpRoute[];
  /** For the table of routes, one for each object. */
  readonly asked: readonly IngressRoutes[];
  /** For the certificates, one for each Gateway. */
  readonly claims: readonly IngressClaims[];
}

export const noGateways: GatewayDecision = {
  classes: [],
  gateways: [],
  routes: [],
  asked: [],
  claims: [],
};

interface Known<T> {
  readonly inputs: unknown;
  readonly value: T;
}

export class GatewayFrontEnd {
  /** By object, the last result and what it was made of. */
  #routes = new Map<HttpRoute, Known<HttpRouteRules>>();
  #asked = new Map<string, Known<IngressRoutes>>();
  #claims = new Map<string, Known<IngressClaims>>();

  decide(objects: GatewayObjects, facts: GatewayFacts): GatewayDecision {
    const classes = objects.classes.filter(
      ({ controllerName }) => controllerName === gatewayController,
    );
    if (classes.length === 0) {
      this.#routes.clear();
      this.#asked.clear();
      this.#claims.clear();
      return noGateways;
    }
    const ofClasses = new Set(classes.map(({ metadata }) => metadata.name));
    const grants = new ReferenceGrants(objects.grants);
    const own = objects.gateways
      .filter(({ className }) => ofClasses.has(className))
      .sort((a, b) => compareAge(gatewayOrigin(a), gatewayOrigin(b)));
    const decided = own.map((gateway) => ({
      gateway,
      listeners: decideListeners(gateway, { ...facts, grants }),
    }));
    const names = new ListenerNames(decided.flatMap(({ listeners }) => listeners));
    const ofGateway = new Map(
      decided.map(({ gateway, listeners }) => [objectKey(gateway.metadata), listeners]),
    );
    const attached = new Map<DecidedListener, number>();
    const routes: DecidedHttpRoute[] = [];
    const known = new Map<HttpRoute, Known<HttpRouteRules>>();
    for (const route of objects.routes) {
      const parents = route.parentRefs.flatMap(
        (one) => decideParent(route, one, (key) => ofGateway.get(key), facts.labelsOf) ?? [],
      );
      if (parents.length === 0) continue;
      for (const listener of listenersOf(parents)) {
        attached.set(listener, (attached.get(listener) ?? 0) + 1);
      }
      const rules = this.#rulesOf(route, parents, names, { ...facts, grants }, known);
      routes.push({ route, parents, rules });
    }
    this.#routes = known;
    return {
      classes,
      gateways: decided.map(({ gateway, listeners }) => ({
        gateway,
        listeners,
        attached: new Map(listeners.map((one) => [one.listener.name, attached.get(one) ?? 0])),
      })),
      routes,
      asked: this.#askedFor(decided, routes),
      claims: this.#claimsOf(decided),
    };
  }

  /** Made again where the object, where it can be reached, or what it refers to is another. */
  #rulesOf(
    route: HttpRoute,
    parents: readonly DecidedParent[],
    names: ListenerNames,
    facts: BackendFacts & Pick<GatewayFacts, "ports">,
    known: Map<HttpRoute, Known<HttpRouteRules>>,
  ): HttpRouteRules {
    const reached = reachedHosts(parents, names, facts.ports);
    const services = route.rules.flatMap(({ backendRefs }) =>
      backendRefs.map(({ namespace, name, group, kind }) => {
        const target = { group, kind, namespace: namespace ?? route.metadata.namespace, name };
        const from = { group: "gateway.networking.k8s.io", kind: "HTTPRoute" };
        const isAllowed = facts.grants.allow(
          { ...from, namespace: route.metadata.namespace },
          target,
        );
        return isAllowed && facts.hasService(target.namespace, name);
      }),
    );
    const inputs = { reached, services };
    const before = this.#routes.get(route);
    const isSame = before !== undefined && isDeepStrictEqual(before.inputs, inputs);
    const now = isSame ? before : { inputs, value: httpRouteRules(route, reached, facts) };
    known.set(route, now);
    return now.value;
  }

  #askedFor(
    gateways: readonly Pick<DecidedGateway, "gateway" | "listeners">[],
    routes: readonly DecidedHttpRoute[],
  ): readonly IngressRoutes[] {
    const asked = new Map<string, Known<IngressRoutes>>();
    const put = (key: string, inputs: unknown, list: () => readonly Route[]): void => {
      const before = this.#asked.get(key);
      const isSame = before !== undefined && isDeepStrictEqual(before.inputs, inputs);
      const make = () => ({ routes: list(), aliases: [], problems: [], authHost: undefined });
      asked.set(key, isSame ? before : { inputs, value: make() });
    };
    for (const { gateway, listeners } of gateways) {
      const ends = listeners.flatMap(endsOf);
      if (ends.length > 0) put(`Gateway ${objectKey(gateway.metadata)}`, ends, () => ends);
    }
    for (const { route, rules } of routes) {
      const key = `HTTPRoute ${objectKey(route.metadata)}`;
      const before = this.#asked.get(key);
      // The same list is known to be the same, and is not compared.
      if (before?.inputs === rules.routes) asked.set(key, before);
      else if (rules.routes.length > 0) put(key, rules.routes, () => rules.routes);
    }
    this.#asked = asked;
    return [...asked.values()].map(({ value }) => value);
  }

  #claimsOf(
    gateways: readonly Pick<DecidedGateway, "gateway" | "listeners">[],
  ): readonly IngressClaims[] {
    const claims = new Map<string, Known<IngressClaims>>();
    for (const { gateway, listeners } of gateways) {
      const made = certificateClaims(gateway, listeners);
      const key = objectKey(gateway.metadata);
      const before = this.#claims.get(key);
      const isSame = before !== undefined && isDeepStrictEqual(before.value, made);
      if (made.claims.length > 0) claims.set(key, isSame ? before : { inputs: made, value: made });
    }
    this.#claims = claims;
    return [...claims.values()].map(({ value }) => value);
  }
}

function listenersOf(parents: readonly DecidedParent[]): ReadonlySet<DecidedListener> {
  return new Set(parents.flatMap(({ attachments }) => attachments.map((one) => one.listener)));
}

/** Each host once, with the ports of all listeners by which it is reached. */
function reachedHosts(
  parents: readonly DecidedParent[],
  names: ListenerNames,
  ports: ListenerFacts["ports"],
): readonly ReachedHost[] {
  const found = new Map<string, { gateway: ReachedHost["gateway"]; ports: Set<number> }>();
  for (const { attachments } of parents) {
    for (const { listener, hosts } of attachments) {
      for (const host of hosts) {
        if (names.isOvershadowed(listener, host)) continue;
        const { namespace } = listener.origin;
        // The same host of Gateways of two namespaces are two claims; the table knows which one counts.
        const key = `${namespace} ${host}`;
        const known = found.get(key) ?? { gateway: listener.origin, ports: new Set<number>() };
        known.ports.add(listener.port);
        found.set(key, known);
      }
    }
  }
  const every = [...new Set([...ports.http.values(), ...ports.https.values()])];
  return [...found].map(([key, { gateway, ports: own }]) => ({
    host: key.slice(key.indexOf(" ") + 1),
    gateway,
    ports: every.every((port) => own.has(port)) ? undefined : [...own].sort((a, b) => a - b),
  }));
}

/**
 * A listener with a host name has all requests for it: what none of its routes matches is answered with
 * 404, and not by a listener whose name is wider.
 */
function endsOf({ host, port, origin, isAccepted }: DecidedListener): readonly Route[] {
  if (!isAccepted || host === anyHost) return [];
  return tableNames(host).map((name) => ({
    host: name,
    match: { path: "/", type: "Prefix", when: { ports: [port] } },
    backend: undefined,
    standing: "default",
    policy: { refuse: 404 },
    canary: undefined,
    origin,
    gateway: origin,
  }));
}

function certificateClaims(gateway: Gateway, listeners: readonly DecidedListener[]): IngressClaims {
  const origin = gatewayOrigin(gateway);
  const claims = listeners.flatMap(({ secret, host, listener }) =>
    secret === undefined
      ? []
      : [
          {
            name: host,
            origin,
            reference: secret,
            key: objectKey(secret),
            where: `listener ${listener.name}`,
            isAlias: false,
          },
        ],
  );
  const names = [...new Set(claims.map(({ name }) => name))];
  return { origin, names, claims, aliases: [], passwords: undefined, problems: [] };
}
