// The decision as it stands: recomputed part by part as sources change, and handed to the output
// whenever something in it is new. Computing is left to the pure functions of `decide/`.

import type {
  ChangedRoutes,
  DecidedEndpoint,
  DecisionChanges,
  DecisionOutput,
  PathRule,
  RoutingDecision,
} from "../decide/decision.ts";
import type { CertificateChanges } from "../decide/routing/certificates.ts";
import { MissingBackends, missingOf } from "../decide/routing/missing-backends.ts";
import type { Backend, RouteOrigin, RoutingProblem } from "../decide/routing/route.ts";
import {
  emptyTable,
  type RouteChanges,
  type RouteTable,
  Routing,
  type RoutingOptions,
} from "../decide/routing/routing.ts";
import type { UserChanges } from "../decide/routing/user-lists.ts";
import { servicePort } from "../decide/truth/candidates.ts";
import { areRoutedAlike } from "../decide/truth/routed-alike.ts";
import { type ServiceTruth, truthInSteps } from "../decide/truth/truth.ts";
import type { TruthPolicy } from "../decide/truth/truth-policy.ts";
import { assertCostly } from "../environment/assert.ts";
import { atOnce, type Steps } from "../environment/steps.ts";
import type { RememberedEndpoints } from "../model/remembered-endpoint.ts";
import {
  type Evidence,
  type ServiceSnapshot,
  type SnapshotSource,
  snapshotService,
} from "../model/service-snapshot.ts";
import { endpointId } from "../sources/endpoint-id.ts";
import type { ExternalNames } from "../sources/external-names.ts";
import type { Probes } from "../sources/probes.ts";
import type { ProxyFeedback } from "../sources/proxy-feedback.ts";
import { LeftOutProblems, type LeftOutSource } from "./left-out.ts";
import { ShownCertificates, type ShownCertificatesOptions } from "./shown-certificates.ts";
import { ShownGateways, type ShownGatewaysOptions } from "./shown-gateways.ts";
import { ShownUsers, type ShownUsersOptions } from "./shown-users.ts";

export interface DecisionsOptions
  extends ShownCertificatesOptions,
    ShownUsersOptions,
    Pick<ShownGatewaysOptions, "gateways"> {
  /** The clusters whose services are routed to. */
  readonly sources: readonly SnapshotSource[];
  /** The same for services of ServiceImports; without it they have no endpoints. */
  readonly imported?: readonly SnapshotSource[] | undefined;
  /** Options of the routes, except the class. */
  readonly routing?: Omit<RoutingOptions, "className"> | undefined;
  /** The current policy; it may change between two decisions. */
  readonly policy: () => TruthPolicy;
  /** Where requests come in, whether or not endpoints are taken from there. */
  readonly accessCluster?: string;
  /** The remembered endpoints of clusters that are not listed yet; none when absent. */
  readonly remembered?: RememberedEndpoints | undefined;
  /** Absent in a shadow. */
  readonly output?: DecisionOutput | undefined;
  /** Entries that do not fit into the output; none when absent. */
  readonly memory?: LeftOutSource | undefined;
  /** Probes endpoints in doubt; without it no endpoint is in doubt. */
  readonly probes?: Pick<Probes, "want" | "standing">;
  /** Endpoints that requests could not reach; ignored when absent. */
  readonly feedback?: Pick<ProxyFeedback, "unreached"> | undefined;
  /** Looks up external names; without it such services have no endpoints. */
  readonly externalNames?: Pick<ExternalNames, "want" | "answerOf"> | undefined;
  readonly onTruth: (change: TruthChange) => void;
  /** Called after routes or problems were computed again, also if nothing is new. */
  readonly onRoutes?: ((table: RouteTable) => void) | undefined;
}

/** The truth of one service port was decided again. */
export interface TruthChange {
  /** The key in the decision. */
  readonly service: string;
  /** Rises with every change that the output gets; the same when only reasons changed. */
  readonly version: number;
  readonly before: ServiceTruth | undefined;
  /** Undefined when no route leads there any more. */
  readonly after: ServiceTruth | undefined;
}

interface Decided {
  readonly version: number;
  readonly truth: ServiceTruth;
}

interface DecidedInTurn extends Decided {
  /** Of its snapshot; a later one has a higher number. */
  readonly turn: number;
}

/**
 * Invariant: `#decided`, `#services`, `#backends` and those in `#backendsOf` have the same keys, and so
 * have the backends of `#routes` while no decision about routes is under way. During one, services are
 * decided by the routes that the output has.
 */
export class Decisions {
  readonly #options: DecisionsOptions;
  #routing: Routing;
  #routes: RouteTable = emptyTable;
  /** The routes, with what is wrong with certificates and services too. */
  #table: RouteTable = emptyTable;
  /** Its problems are among those of `#table`. */
  certificates: ShownCertificates;
  /** The same. */
  users: ShownUsers;
  readonly gateways: ShownGateways;
  readonly #missing = new MissingBackends();
  readonly #leftOut = new LeftOutProblems();
  /** The revision of the output's memory at the last report of problems. */
  #leftOutRevision = 0;
  readonly #decided = new Map<string, DecidedInTurn>();
  readonly #services = new Map<string, readonly DecidedEndpoint[]>();
  /** By key, every service port that the output has routes to. */
  readonly #backends = new Map<string, Backend>();
  /** By `namespace/name`, the backends that are ports of that service. */
  readonly #backendsOf = new Map<string, Set<string>>();
  #version = 0;
  #turns = 0;
  /** The backend of a new route that is being decided for the first time. */
  #joining: string | undefined;
  /** The first decision is applied even if it is empty: a proxy may still serve old routes. */
  #isApplied = false;
  /** A decision was not finished: what is kept may be half of it. */
  #isHalf = false;

  constructor(options: DecisionsOptions) {
    this.#options = options;
    this.certificates = new ShownCertificates(options);
    this.users = new ShownUsers(options);
    this.gateways = new ShownGateways(options);
    this.#routing = new Routing({ ...options.routing, className: options.className });
  }

  get routes(): RouteTable {
    return this.#table;
  }

  /** The Ingress of a rule; undefined for a rule that is not in the current table. */
  originOf(host: string, rule: PathRule): RouteOrigin | undefined {
    return this.#routing.originOf(host, rule);
  }

  /** The objects whose rules lead requests to a service port, by its key. */
  originsOf(key: string): Iterable<RouteOrigin> {
    return this.#routing.originsOf(key);
  }

  /** The truth of every routed service port, by its key. */
  get truths(): ReadonlyMap<string, Decided> {
    return this.#decided;
  }

  /** Every service port that a route leads to, by its key. */
  get backendKeys(): Iterable<string> {
    return this.#backends.keys();
  }

  /** The same of one service, `namespace/name`. */
  backendsOf(service: string): Iterable<string> {
    return this.#backendsOf.get(service) ?? [];
  }

  /** Every service port that one of these peers, by `endpointId`, serves. */
  backendsAt(peers: ReadonlySet<string>): readonly string[] {
    // It goes over every endpoint there is, so their keys are made only where the address fits.
    const addresses = new Set([...peers].map((key) => key.slice(0, key.indexOf(" "))));
    const isPeer = (one: DecidedEndpoint) =>
      addresses.has(one.address) && peers.has(endpointId(one));
    return [...this.#decided].flatMap(([key, { truth: decided }]) =>
      decided.endpoints.some(isPeer) ? [key] : [],
    );
  }

  /**
   * Decides the routes again, as far as Ingresses have changed, and the certificates, as far as
   * secrets have.
   */
  decideRoutes(options: { readonly areSecretsNew?: boolean } = {}): void {
    atOnce(this.decidingRoutes(options));
  }

  /** The same in steps: services may be decided in between, but no other routes. */
  *decidingRoutes({ areSecretsNew = true } = {}): Steps<void> {
    const { asked } = this.#options;
    const isRestart = this.#isHalf;
    if (isRestart) this.#reset();
    this.#isHalf = true;
    const wanted = { ingresses: asked.ingresses(), classes: asked.classes() };
    const { asked: others } = yield* this.gateways.deciding();
    yield;
    this.#routes = yield* this.#routing.deciding({ ...wanted, others });
    const { changes } = this.#routing;
    const services = new Map<string, number>();
    for (const key of changes.backends.joined) {
      this.#remember(key);
      this.#joining = key;
      const version = yield* this.#deciding(key);
      this.#joining = undefined;
      if (version !== undefined) services.set(key, version);
      yield;
    }
    const owners = this.#routing;
    const ofGateways = this.gateways.takeClaimChanges();
    const claimants = {
      joined: [...changes.ingresses.joined, ...ofGateways.joined],
      left: [...changes.ingresses.left, ...ofGateways.left],
    };
    const shown = yield* this.certificates.changing(claimants, { areSecretsNew, owners });
    const { users } = this.users.change(changes.ingresses);
    yield* this.#show(changes, { ...shown, users }, services);
    yield* this.#leave(isRestart ? this.#unrouted() : changes.backends.left);
    this.#isHalf = false;
    this.#check();
    yield* this.tellingProblems();
  }

  /** Decides again which endpoints serve this port of a service, if a route leads to it. */
  decideBackend(key: string): void {
    atOnce(this.decidingBackend(key));
  }

  /** The same in steps: anything else may be decided in between. */
  *decidingBackend(key: string): Steps<void> {
    const version = yield* this.#deciding(key);
    if (version !== undefined) {
      const changes: DecisionChanges = { routes: false, services: new Map([[key, version]]) };
      yield* this.#options.output?.applying(this.#decision(), changes) ?? noSteps;
    }
    this.#check();
  }

  /** Whether it has so many endpoints that a decision about it should be made in steps. */
  isLarge(key: string): boolean {
    const backend = this.#backends.get(key);
    if (backend === undefined) return false;
    const { namespace, name } = backend;
    let published = 0;
    for (const source of this.#sourcesOf(backend)) {
      const { slices } = source.publishedOf(namespace, name);
      for (const { endpoints } of slices) published += endpoints.length;
    }
    return Math.max(published, this.#services.get(key)?.length ?? 0) >= largeEndpoints;
  }

  #check(): void {
    const { size } = this.#backends;
    assertCostly(() => this.#isInStep(), "what is decided is what routes lead to", size);
  }

  #isInStep(): boolean {
    const isDecided = (key: string) => key !== this.#joining || this.#decided.has(key);
    const ofServices = [...this.#backendsOf.values()].flatMap((all) => [...all].filter(isDecided));
    const all: Pick<ReadonlySet<string>, "size" | "has">[] = [
      this.#decided,
      this.#services,
      new Set(ofServices),
    ];
    // During a decision about routes, services are decided by those that the output has.
    if (!this.#isHalf) all.push(this.#routes.backends);
    const keys = [...this.#backends.keys()].filter(isDecided);
    return (
      ofServices.length === keys.length &&
      all.every(({ size }) => size === keys.length) &&
      keys.every((key) => all.every((one) => one.has(key)))
    );
  }

  /** Whether services or ports that routes name came or went since the last report of problems. */
  get areProblemsNew(): boolean {
    const { leftOutRevision = 0 } = this.#options.memory ?? {};
    return this.#missing.isNew || leftOutRevision !== this.#leftOutRevision;
  }

  /** Reports the problems again, with the same routes. */
  *tellingProblems(): Steps<void> {
    this.#table = yield* this.#withProblems();
    this.#options.onRoutes?.(this.#table);
  }

  /** Starts from nothing: then everything is new and is applied as a whole. */
  #reset(): void {
    const { routing, className } = this.#options;
    this.#routing = new Routing({ ...routing, className });
    this.certificates = new ShownCertificates(this.#options);
    this.users = new ShownUsers(this.#options);
    this.gateways.forgetClaims();
    this.#isApplied = false;
    this.#joining = undefined;
  }

  /** Backends of an earlier decision that no route leads to. */
  #unrouted(): readonly string[] {
    return [...this.#backends.keys()].filter((key) => !this.#routes.backends.has(key));
  }

  /**
   * The version, when it is one that the output has to know. The snapshot is taken in the first step and
   * the result counts from the last one on, so that it is of one moment.
   */
  *#deciding(key: string): Steps<number | undefined> {
    const backend = this.#backends.get(key);
    if (backend === undefined) return undefined;
    this.#turns += 1;
    const turn = this.#turns;
    const { policy, probes, onTruth, remembered, accessCluster, externalNames } = this.#options;
    const { namespace, name, port, isImport } = backend;
    const snapshot = snapshotService(this.#sourcesOf(backend), namespace, name, {
      isImport,
      evidence: this.#evidenceFor(key),
      remembered: remembered?.get(key),
      accessCluster,
      names: externalNames,
      isAsked: (service) => servicePort(service, port) !== undefined,
    });
    const after = yield* truthInSteps(snapshot, port, policy());
    const known = this.#decided.get(key);
    // Meanwhile it was decided by a later snapshot, or its last route has gone.
    if (!this.#backends.has(key) || (known !== undefined && known.turn > turn)) return undefined;
    this.#missing.note(key, missingOf(snapshot, port));
    probes?.want(key, after.probeRequests);
    externalNames?.want(key, externalNamesOf(snapshot), createdAtOf(snapshot));
    const isNew = known === undefined || !areRoutedAlike(known.truth, after);
    if (isNew) this.#version += 1;
    const version = isNew ? this.#version : known.version;
    this.#decided.set(key, { turn, version, truth: after });
    // The same list for as long as the version is the same: the output notices by it what is overtaken.
    if (isNew) this.#services.set(key, after.endpoints);
    onTruth({ service: key, version, before: known?.truth, after });
    return isNew ? version : undefined;
  }

  /** Tells the output, if there is anything new. */
  *#show(
    { hosts, backends }: RouteChanges,
    { certificates, serverNames, users }: CertificateChanges & Pick<UserChanges, "users">,
    services: ReadonlyMap<string, number>,
  ): Steps<void> {
    const joined = new Set(backends.joined);
    const routed: ChangedRoutes = { hosts, certificates, serverNames, users, services: joined };
    const isNew = Object.values(routed).some(({ size }) => size > 0);
    // The first decision is applied as a whole, because a proxy may have the routes of an earlier
    // Lockstep.
    if (!this.#isApplied) yield* this.#applying({ routes: true, services });
    else if (isNew) yield* this.#applying({ routes: true, services, routed });
  }

  /** After the routes to them: until then a pod that leaves such a service is routed around. */
  *#leave(backends: readonly string[]): Steps<void> {
    for (const key of backends) {
      this.#forget(key);
      yield;
    }
    const routed: ChangedRoutes = { ...noRoutes, services: new Set(backends) };
    if (backends.length > 0) yield* this.#applying({ routes: true, services: new Map(), routed });
  }

  #sourcesOf({ isImport }: Backend): readonly SnapshotSource[] {
    const { sources, imported = [] } = this.#options;
    return isImport === true ? imported : sources;
  }

  #evidenceFor(key: string): Evidence | undefined {
    const { probes, feedback } = this.#options;
    if (probes === undefined) return undefined;
    return { doubts: probes.standing(key), unreached: feedback?.unreached };
  }

  /** Where nothing is new it stays the same table, which its readers notice. */
  *#withProblems(): Steps<RouteTable> {
    const { problems: before } = this.#table;
    const problems: RoutingProblem[] = [];
    let isSame = this.#table.hosts === this.#routes.hosts;
    for (const some of [
      this.#routes.problems,
      this.certificates.table.problems,
      this.users.table.problems,
      this.#missing.problems((key) => this.#routing.originsOf(key)),
      yield* this.#leftOutProblems(),
    ]) {
      for (const one of some) {
        yield;
        // An object that is being deleted will not be mended, and its namespace may refuse Events.
        if (one.origin.isLeaving === true) continue;
        isSame &&= one === before[problems.length];
        problems.push(one);
      }
    }
    isSame &&= problems.length === before.length;
    return isSame ? this.#table : { ...this.#routes, problems };
  }

  *#leftOutProblems(): Steps<readonly RoutingProblem[]> {
    const { memory, asked } = this.#options;
    if (memory === undefined) return [];
    this.#leftOutRevision = memory.leftOutRevision;
    return yield* this.#leftOut.problems(memory.leftOut(), {
      ofHost: (host) => this.#routing.originsOfHost(host),
      ofService: (key) => this.#routing.originsOf(key),
      ingresses: () => asked.ingresses(),
    });
  }

  #remember(key: string): void {
    const backend = this.#routes.backends.get(key);
    if (backend === undefined) return;
    this.#backends.set(key, backend);
    const service = serviceOfKey(key);
    const group = this.#backendsOf.get(service) ?? new Set();
    this.#backendsOf.set(service, group.add(key));
  }

  #forget(key: string): void {
    const service = serviceOfKey(key);
    const group = this.#backendsOf.get(service);
    group?.delete(key);
    if (group?.size === 0) this.#backendsOf.delete(service);
    this.#backends.delete(key);
    const known = this.#decided.get(key);
    this.#decided.delete(key);
    this.#services.delete(key);
    this.#missing.note(key, undefined);
    this.#options.probes?.want(key, []);
    this.#options.externalNames?.want(key, []);
    if (known === undefined) return;
    const { version, truth: before } = known;
    this.#options.onTruth({ service: key, version, before, after: undefined });
  }

  *#applying(changes: DecisionChanges): Steps<void> {
    const { output } = this.#options;
    if (output !== undefined) yield* output.applying(this.#decision(), changes);
    this.#isApplied = true;
  }

  #decision(): RoutingDecision {
    const { certificates, serverNames } = this.certificates.table;
    return {
      hosts: this.#routes.hosts,
      owners: this.#routes.owners,
      sameAs: this.#routes.sameAs,
      services: this.#services,
      certificates,
      serverNames,
      users: this.users.table.users,
    };
  }
}

const noRoutes: ChangedRoutes = {
  hosts: new Set(),
  certificates: new Set(),
  serverNames: new Set(),
  users: new Set(),
  services: new Set(),
};

const noNames: readonly string[] = [];

const noSteps: readonly undefined[] = [];

/** Some milliseconds of work. */
const largeEndpoints = 1_000;

function externalNamesOf({ clusters }: ServiceSnapshot): readonly string[] {
  if (!clusters.some(({ service }) => service.type === "ExternalName")) return noNames;
  return clusters.flatMap(({ service: { type, externalName } }) =>
    type === "ExternalName" && externalName !== undefined ? [externalName] : [],
  );
}

/** When the service was first created in any cluster. */
function createdAtOf({ clusters }: ServiceSnapshot): number {
  const times = clusters.map(({ service }) => service.metadata.creationTimestamp);
  return Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY));
}

/** `namespace/name`; a port has no colon in it. */
function serviceOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf(":"));
}
