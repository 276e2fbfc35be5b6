// Gateways, HTTPRoutes and GRPCRoutes as routes of the neutral model, certificates, and what each
// object's status says. The result depends only on the objects and the facts. A part that did not
// change is the same object as before, so that the table of routes takes up only changed parts.
import { isDeepStrictEqual } from "node:util";
import { atOnce, type Steps } from "../../../environment/steps.ts";
import type { BackendTlsPolicy } from "../../../kube/kinds/backend-tls-policy.ts";
import type { Gateway } from "../../../kube/kinds/gateway.ts";
import type { GatewayClass } from "../../../kube/kinds/gateway-class.ts";
import type { HttpRoute } from "../../../kube/kinds/http-route.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import type { ReferenceGrant } from "../../../kube/kinds/reference-grant.ts";
import type { ImportedService } from "../../../model/imported-services.ts";
import type { IngressClaims } from "../certificate-claims.ts";
import { anyHost } from "../host-name.ts";
import type { IngressRoutes } from "../ingress/ingress-routes.ts";
import { compareAge } from "../precedence.ts";
import type { Route } from "../route.ts";
import { type DecidedParent, decideParent, type LabelsOf, type ListenersOf } from "./attachment.ts";
import { BackendPolicies, type DecidedPolicy } from "./backend-policies.ts";
import { gatewayAddresses } from "./gateway-addresses.ts";
import { tableNames } from "./gateway-hosts.ts";
import { type HttpRouteRules, httpRouteRules, type ReachedHost } from "./http-route-rules.ts";
import { type AttachedRoute, lostListeners, withoutLost } from "./kind-conflicts.ts";
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
  readonly policies?: readonly BackendTlsPolicy[];
}

export interface GatewayFacts
  extends Omit<ListenerFacts, "grants">,
    Omit<BackendFacts, "grants" | "policies"> {
  readonly labelsOf: LabelsOf;
}

export interface DecidedGateway {
  readonly gateway: Gateway;
  /** That it has for itself; undefined where it shares those of the proxy. */
  readonly address: string | undefined;
  /** All addresses of the proxy that Gateways have for themselves are in use. */
  readonly lacksAddress: boolean;
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
  readonly policies: readonly DecidedPolicy[];
  /** For the table of routes, one for each object. */
  readonly asked: readonly IngressRoutes[];
  /** For the certificates, one for each Gateway. */
  readonly claims: readonly IngressClaims[];
}

export const noGateways: GatewayDecision = {
  classes: [],
  gateways: [],
  routes: [],
  policies: [],
  asked: [],
  claims: [],
};

interface Known<T> {
  readonly inputs: unknown;
  readonly value: T;
}

/** Where a route would be attached if there were no others, and everything that was made of but listeners. */
interface KnownAttachment extends AttachedRoute {
  readonly attachedBy: AskedFacts;
}

/** The last result for a route and everything it was made of but listeners and grants. */
interface KnownRoute {
  readonly route: HttpRoute;
  readonly attached: KnownAttachment;
  /** Where a route of the other kind has its hosts. */
  readonly lost: ReadonlySet<DecidedListener> | undefined;
  /** To decide what its rules are. */
  readonly ruledBy: AskedFacts;
  readonly reached: readonly ReachedHost[];
  /** Undefined where none of its parents is a Gateway of ours. */
  readonly decided: DecidedHttpRoute | undefined;
  /** That it is attached to. */
  readonly listeners: readonly DecidedListener[];
  /** For the table of routes. */
  readonly asked: IngressRoutes | undefined;
}

/** Inputs that routes have in common. While they are the same, a route that is the same has the same result. */
interface Shared {
  readonly ports: ListenerFacts["ports"] | undefined;
  readonly grants: readonly ReferenceGrant[];
  /** That a policy is for. */
  readonly targets: readonly string[];
  readonly listeners: readonly DecidedListener[];
}

export class GatewayFrontEnd {
  /** In the order in which they were given, which stays where none goes. */
  #routes: readonly KnownRoute[] = [];
  #shared: Shared = nothingShared;
  /** By `namespace/name` of a Gateway. */
  #listeners = new Map<string, readonly DecidedListener[]>();
  #ends = new Map<string, Known<IngressRoutes>>();
  #claims = new Map<string, Known<IngressClaims>>();

  decide(objects: GatewayObjects, facts: GatewayFacts): GatewayDecision {
    return atOnce(this.deciding(objects, facts));
  }

  /** The same in steps. One that is not finished leaves what is known as it was. */
  *deciding(objects: GatewayObjects, facts: GatewayFacts): Steps<GatewayDecision> {
    const classes = objects.classes.filter(
      ({ controllerName }) => controllerName === gatewayController,
    );
    if (classes.length === 0) {
      this.#routes = [];
      this.#shared = nothingShared;
      this.#listeners.clear();
      this.#ends.clear();
      this.#claims.clear();
      return noGateways;
    }
    const ofClasses = new Set(classes.map(({ metadata }) => metadata.name));
    const grants = new ReferenceGrants(objects.grants);
    const policies = new BackendPolicies(objects.policies ?? []);
    const { targets } = policies;
    const own = objects.gateways
      .filter(({ className }) => ofClasses.has(className))
      .sort((a, b) => compareAge(gatewayOrigin(a), gatewayOrigin(b)));
    const decided = this.#decideGateways(own, { ...facts, grants });
    const listeners = decided.flatMap((one) => one.listeners);
    const ofGateway = new Map(
      decided.map((one) => [objectKey(one.gateway.metadata), one.listeners]),
    );
    const terms: RouteTerms = {
      names: new ListenerNames(listeners),
      grants,
      policies,
      areReferencesSame:
        areSameObjects(this.#shared.grants, objects.grants) &&
        isDeepStrictEqual(this.#shared.targets, targets),
      listenersOf: (key) => ofGateway.get(key),
      facts,
    };
    const isShared =
      terms.areReferencesSame &&
      this.#shared.ports === facts.ports &&
      areSameObjects(this.#shared.listeners, listeners);
    const earlier = new KnownRoutes(this.#routes);
    const attachments: KnownAttachment[] = [];
    for (const route of objects.routes) {
      const before = earlier.find(route, attachments.length)?.attached;
      const isSame = isShared && before?.route === route && before.attachedBy.areAsIn(facts);
      attachments.push(isSame ? before : attachmentOf(route, terms));
      if (!isSame || attachments.length % samePerStep === 0) yield;
    }
    const lost = lostListeners(attachments);
    const attached = new Map<DecidedListener, number>();
    const routes: DecidedHttpRoute[] = [];
    const asked: IngressRoutes[] = [];
    const known: KnownRoute[] = [];
    for (const attachment of attachments) {
      const { route } = attachment;
      const before = earlier.find(route, known.length);
      const isSame =
        isShared &&
        before?.attached === attachment &&
        isDeepStrictEqual(before.lost, lost.get(route)) &&
        before.ruledBy.areAsIn(facts);
      const now = isSame ? before : decideRoute(attachment, lost.get(route), before, terms);
      known.push(now);
      if (now.decided !== undefined) routes.push(now.decided);
      if (now.asked !== undefined) asked.push(now.asked);
      for (const one of now.listeners) attached.set(one, (attached.get(one) ?? 0) + 1);
      if (!isSame || known.length % samePerStep === 0) yield;
    }
    this.#routes = known;
    this.#shared = { ports: facts.ports, grants: objects.grants, targets, listeners };
    return {
      classes,
      gateways: decided.map((one) => ({
        ...one,
        attached: new Map(
          one.listeners.map((each) => [each.listener.name, attached.get(each) ?? 0]),
        ),
      })),
      routes,
      policies: policies.decide(routes),
      asked: [...this.#endsOf(decided), ...asked],
      claims: this.#claimsOf(decided),
    };
  }

  /** Listeners that say the same as before are the same objects, also where a status was written. */
  #decideGateways(
    gateways: readonly Gateway[],
    facts: ListenerFacts,
  ): readonly Omit<DecidedGateway, "attached">[] {
    const { addresses: pool = [] } = facts;
    const addresses = gatewayAddresses(gateways, pool);
    const known = new Map<string, readonly DecidedListener[]>();
    for (const gateway of gateways) {
      const key = objectKey(gateway.metadata);
      const now = decideListeners(gateway, facts, addresses.get(gateway));
      const before = this.#listeners.get(key);
      const isSame = isDeepStrictEqual(before?.map(withoutGateway), now.map(withoutGateway));
      known.set(key, isSame && before !== undefined ? before : now);
    }
    this.#listeners = known;
    return gateways.map((gateway) => ({
      gateway,
      address: addresses.get(gateway),
      lacksAddress: pool.length > 0 && !addresses.has(gateway),
      listeners: known.get(objectKey(gateway.metadata)) ?? [],
    }));
  }

  #endsOf(
    gateways: readonly Pick<DecidedGateway, "gateway" | "listeners">[],
  ): readonly IngressRoutes[] {
    const known = new Map<string, Known<IngressRoutes>>();
    for (const { gateway, listeners } of gateways) {
      const ends = listeners.flatMap(endsOf);
      const key = objectKey(gateway.metadata);
      const before = this.#ends.get(key);
      const isSame = before !== undefined && isDeepStrictEqual(before.inputs, ends);
      if (ends.length > 0) {
        known.set(key, isSame ? before : { inputs: ends, value: askedRoutes(ends) });
      }
    }
    this.#ends = known;
    return [...known.values()].map(({ value }) => value);
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

/** Routes that are as before: to look at one takes less than a microsecond. */
const samePerStep = 64;

const nothingShared: Shared = { ports: undefined, grants: [], targets: [], listeners: [] };

interface RouteTerms {
  readonly names: ListenerNames;
  readonly grants: ReferenceGrants;
  readonly policies: BackendPolicies;
  /** Of grants and policies. */
  readonly areReferencesSame: boolean;
  readonly listenersOf: ListenersOf;
  readonly facts: GatewayFacts;
}

function attachmentOf(route: HttpRoute, { listenersOf, facts }: RouteTerms): KnownAttachment {
  const attachedBy = new AskedFacts();
  const { labelsOf } = attachedBy.from(facts);
  const parents = route.parentRefs.flatMap(
    (one) => decideParent(route, one, listenersOf, labelsOf) ?? [],
  );
  return { route, attachedBy, parents };
}

/** A part that stays as it was is the same object as before. */
function decideRoute(
  attached: KnownAttachment,
  lost: ReadonlySet<DecidedListener> | undefined,
  before: KnownRoute | undefined,
  { names, grants, policies, areReferencesSame, facts }: RouteTerms,
): KnownRoute {
  const { route } = attached;
  const parents =
    lost === undefined
      ? attached.parents
      : attached.parents.map((one) => withoutLost(one, route.kind, lost));
  const reached = reachedHosts(parents, names, facts.ports);
  const attachments = parents.flatMap((one) => one.attachments);
  const listeners = [...new Set(attachments.map(({ listener }) => listener))];
  const shared = { route, attached, lost, reached, listeners };
  const isRuledAsBefore =
    areReferencesSame &&
    before?.route === route &&
    before.ruledBy.areAsIn(facts) &&
    isDeepStrictEqual(before.reached, reached);
  if (parents.length > 0 && isRuledAsBefore && before.decided !== undefined) {
    const { ruledBy, asked } = before;
    return { ...shared, ruledBy, asked, decided: { ...before.decided, parents } };
  }
  const ruledBy = new AskedFacts();
  if (parents.length === 0) return { ...shared, ruledBy, decided: undefined, asked: undefined };
  const backendFacts = ruledBy.from(facts);
  const rules = httpRouteRules(route, reached, { grants, policies, ...backendFacts });
  const { routes } = rules;
  const areSame = isDeepStrictEqual(before?.asked?.routes, routes);
  const asked = areSame ? before?.asked : routes.length > 0 ? askedRoutes(routes) : undefined;
  return { ...shared, ruledBy, decided: { route, parents, rules }, asked };
}

class KnownRoutes {
  readonly #all: readonly KnownRoute[];
  /** Made where a route is not at the place where it was. */
  #byUid: ReadonlyMap<string, KnownRoute> | undefined;

  constructor(all: readonly KnownRoute[]) {
    this.#all = all;
  }

  find(route: HttpRoute, at: number): KnownRoute | undefined {
    const there = this.#all[at];
    const { uid } = route.metadata;
    if (there?.route === route || there?.route.metadata.uid === uid) return there;
    this.#byUid ??= new Map(this.#all.map((one) => [one.route.metadata.uid, one]));
    return this.#byUid.get(uid);
  }
}

type ServiceName = readonly [namespace: string, name: string];
type ServicePortName = readonly [...ServiceName, port: number];

/** Every fact that a result was made of. */
class AskedFacts {
  readonly #labels = new Map<string, StringMap | undefined>();
  readonly #services: (readonly [...ServiceName, isThere: boolean])[] = [];
  readonly #protocols: (readonly [...ServicePortName, protocol: string | undefined])[] = [];
  readonly #imports: (readonly [...ServiceName, found: ImportedService | undefined])[] = [];

  /** These facts, each kept once it is asked for. */
  from(
    facts: GatewayFacts,
  ): Required<Pick<GatewayFacts, "labelsOf" | "hasService" | "appProtocol" | "importOf">> {
    return {
      labelsOf: (namespace) => {
        const labels = facts.labelsOf(namespace);
        this.#labels.set(namespace, labels);
        return labels;
      },
      hasService: (namespace, name) => {
        const isThere = facts.hasService(namespace, name);
        this.#services.push([namespace, name, isThere]);
        return isThere;
      },
      appProtocol: (...port) => {
        const protocol = facts.appProtocol?.(...port);
        this.#protocols.push([...port, protocol]);
        return protocol;
      },
      importOf: (namespace, name) => {
        const found = facts.importOf?.(namespace, name);
        this.#imports.push([namespace, name, found]);
        return found;
      },
    };
  }

  /** Whether all that was asked for is the same by these. */
  areAsIn(now: GatewayFacts): boolean {
    for (const [namespace, labels] of this.#labels) {
      if (!isDeepStrictEqual(now.labelsOf(namespace), labels)) return false;
    }
    for (const [namespace, name, isThere] of this.#services) {
      if (now.hasService(namespace, name) !== isThere) return false;
    }
    for (const [namespace, name, port, protocol] of this.#protocols) {
      if (now.appProtocol?.(namespace, name, port) !== protocol) return false;
    }
    for (const [namespace, name, found] of this.#imports) {
      if (!isDeepStrictEqual(now.importOf?.(namespace, name), found)) return false;
    }
    return true;
  }
}

function withoutGateway(listener: DecidedListener): object {
  return { ...listener, gateway: undefined };
}

function areSameObjects(some: readonly object[], others: readonly object[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}

function askedRoutes(routes: readonly Route[]): IngressRoutes {
  return { routes, aliases: [], problems: [], authHost: undefined };
}

interface Reached extends Omit<ReachedHost, "ports"> {
  readonly ports: Set<number>;
}

/** Each host once, with the ports of all listeners by which it is reached, for each address. */
function reachedHosts(
  parents: readonly DecidedParent[],
  names: ListenerNames,
  ports: ListenerFacts["ports"],
): readonly ReachedHost[] {
  const found = new Map<string, Reached>();
  for (const { attachments } of parents) {
    for (const { listener, hosts } of attachments) {
      const { origin: gateway, address } = listener;
      for (const host of hosts) {
        if (names.isOvershadowed(listener, host)) continue;
        // The same host of Gateways of two namespaces are two claims; the table knows which one counts.
        const key = `${gateway.namespace} ${address ?? ""} ${host}`;
        const known = found.get(key) ?? { host, gateway, address, ports: new Set<number>() };
        known.ports.add(listener.port);
        found.set(key, known);
      }
    }
  }
  const { http, https, grpc = http } = ports;
  const every = [...new Set([http, https, grpc].flatMap((one) => [...one.values()]))];
  return [...found.values()].map(({ host, gateway, address, ports: own }) => ({
    host,
    gateway,
    address,
    ports: every.every((port) => own.has(port)) ? undefined : [...own].sort((a, b) => a - b),
  }));
}

/**
 * A listener with a host name has all requests for it: what none of its routes matches is answered with
 * 404, and not by a listener whose name is wider.
 */
function endsOf({ host, port, address, origin, isAccepted }: DecidedListener): readonly Route[] {
  if (!isAccepted || host === anyHost) return [];
  const when = {
    ports: [port],
    ...(address !== undefined && { addresses: [address] }),
    isListener: true as const,
  };
  return tableNames(host).map((name) => ({
    host: name,
    match: { path: "/", type: "Prefix", when },
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
