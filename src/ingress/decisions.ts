// The decision as it stands: recomputed part by part as sources change, and handed to the output
// whenever something in it is new. Computing is left to the pure functions of `decide/`.

import type {
  DecidedEndpoint,
  DecisionOutput,
  PathRule,
  RoutingDecision,
} from "../decide/decision.ts";
import type { Backend } from "../decide/routing/route.ts";
import type { RouteTable } from "../decide/routing/route-table.ts";
import { routing } from "../decide/routing/routing.ts";
import { type ServiceTruth, type TruthPolicy, truth } from "../decide/truth/truth.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { IngressClass } from "../kube/kinds/ingress-class.ts";
import { type Evidence, type SnapshotSource, snapshotService } from "../model/service-snapshot.ts";
import type { Probes } from "../sources/probes.ts";
import { type ProxyFeedback, peerKey } from "../sources/proxy-feedback.ts";

export interface DecisionsOptions {
  /** The clusters whose services are routed to. */
  readonly sources: readonly SnapshotSource[];
  readonly asked: { ingresses(): readonly Ingress[]; classes(): readonly IngressClass[] };
  readonly className: string;
  readonly policy: TruthPolicy;
  readonly output: DecisionOutput;
  /** Who settles doubts; without it nothing is ever doubted. */
  readonly probes?: Pick<Probes, "want" | "standing">;
  /** What requests found out; without it they are not listened to. */
  readonly feedback?: Pick<ProxyFeedback, "unreached"> | undefined;
  readonly onTruth: (change: TruthChange) => void;
}

/** The truth of one service port was decided anew. */
export interface TruthChange {
  /** The key in the decision. */
  readonly service: string;
  /** Rises with every change that the output is told of; the same when only reasons changed. */
  readonly version: number;
  readonly before: ServiceTruth | undefined;
  /** Undefined when no route leads there any more. */
  readonly after: ServiceTruth | undefined;
}

interface Decided {
  readonly version: number;
  readonly truth: ServiceTruth;
}

/** Invariant: `#decided`, `#services` and the backends of `#table` have the same keys. */
export class Decisions {
  readonly #options: DecisionsOptions;
  #table: RouteTable = { hosts: new Map(), backends: new Map(), problems: [] };
  readonly #decided = new Map<string, Decided>();
  readonly #services = new Map<string, readonly DecidedEndpoint[]>();
  /** By `namespace/name`, the backends that are ports of that service. */
  #backendsOf: ReadonlyMap<string, readonly string[]> = new Map();
  #version = 0;
  /** The first decision is told even when it is empty: a proxy may still serve what is gone. */
  #isTold = false;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  get routes(): RouteTable {
    return this.#table;
  }

  /** The truth of every routed service port, by its key. */
  get truths(): ReadonlyMap<string, Decided> {
    return this.#decided;
  }

  /** `namespace/name` of every service that a route leads to. */
  get serviceKeys(): Iterable<string> {
    return this.#backendsOf.keys();
  }

  /** `namespace/name` of the service behind a key of the decision. */
  serviceOf(key: string): string | undefined {
    const backend = this.#table.backends.get(key);
    return backend && `${backend.namespace}/${backend.name}`;
  }

  /** `namespace/name` of every service that one of these peers, by `peerKey`, serves. */
  servicesOf(peers: ReadonlySet<string>): ReadonlySet<string> {
    const services = new Set<string>();
    for (const [key, { truth: decided }] of this.#decided) {
      const service = this.serviceOf(key);
      if (service === undefined || services.has(service)) continue;
      if (decided.endpoints.some((one) => peers.has(peerKey(one)))) services.add(service);
    }
    return services;
  }

  /** Decides anew which host and path lead where. */
  decideRoutes(): void {
    const { asked, className } = this.#options;
    const before = this.#table;
    this.#table = routing({
      ingresses: asked.ingresses(),
      classes: asked.classes(),
      className,
    });
    this.#backendsOf = groupByService(this.#table.backends);
    const changed = new Map<string, number>();
    for (const key of before.backends.keys()) {
      if (!this.#table.backends.has(key)) this.#forget(key);
    }
    for (const key of this.#table.backends.keys()) {
      const version = this.#decided.has(key) ? undefined : this.#decide(key);
      if (version !== undefined) changed.set(key, version);
    }
    const routes = !this.#isTold || !haveSameRules(before.hosts, this.#table.hosts);
    if (routes || changed.size > 0) this.#apply(routes, changed);
  }

  /** Decides anew which endpoints serve `namespace/name`, if a route leads to it. */
  decideService(key: string): void {
    const changed = new Map<string, number>();
    for (const backend of this.#backendsOf.get(key) ?? []) {
      const version = this.#decide(backend);
      if (version !== undefined) changed.set(backend, version);
    }
    if (changed.size > 0) this.#apply(false, changed);
  }

  /** The version, when it is one that the output has to know. */
  #decide(key: string): number | undefined {
    const backend = this.#table.backends.get(key);
    if (backend === undefined) return undefined;
    const { sources, policy, probes, onTruth } = this.#options;
    const { namespace, name, port } = backend;
    const snapshot = snapshotService(sources, namespace, name, this.#evidenceFor(key));
    const after = truth(snapshot, port, policy);
    probes?.want(key, after.doubts);
    const known = this.#decided.get(key);
    const isNew = known === undefined || !areRoutedAlike(known.truth, after);
    if (isNew) this.#version += 1;
    const version = isNew ? this.#version : known.version;
    this.#decided.set(key, { version, truth: after });
    this.#services.set(key, after.endpoints);
    onTruth({ service: key, version, before: known?.truth, after });
    return isNew ? version : undefined;
  }

  #evidenceFor(key: string): Evidence | undefined {
    const { probes, feedback } = this.#options;
    if (probes === undefined) return undefined;
    return { doubts: probes.standing(key), unreached: feedback?.unreached };
  }

  #forget(key: string): void {
    const known = this.#decided.get(key);
    this.#decided.delete(key);
    this.#services.delete(key);
    this.#options.probes?.want(key, []);
    if (known === undefined) return;
    const { version, truth: before } = known;
    this.#options.onTruth({ service: key, version, before, after: undefined });
  }

  #apply(routes: boolean, services: ReadonlyMap<string, number>): void {
    const decision: RoutingDecision = { hosts: this.#table.hosts, services: this.#services };
    this.#isTold = true;
    this.#options.output.apply(decision, { routes, services });
  }
}

function groupByService(
  backends: ReadonlyMap<string, Backend>,
): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, { namespace, name }] of backends) {
    const service = `${namespace}/${name}`;
    const group = groups.get(service);
    if (group === undefined) groups.set(service, [key]);
    else group.push(key);
  }
  return groups;
}

/** Whether a proxy would do the same by both; reasons may differ. */
function areRoutedAlike(a: ServiceTruth, b: ServiceTruth): boolean {
  if (a.endpoints.length !== b.endpoints.length) return false;
  return a.endpoints.every((one, index) => {
    const other = b.endpoints[index];
    return (
      other !== undefined &&
      one.state === other.state &&
      one.address === other.address &&
      one.port === other.port &&
      one.cluster === other.cluster &&
      one.podUid === other.podUid
    );
  });
}

type Hosts = RoutingDecision["hosts"];

function haveSameRules(a: Hosts, b: Hosts): boolean {
  if (a.size !== b.size) return false;
  for (const [host, rules] of a) {
    const others = b.get(host);
    if (others?.length !== rules.length) return false;
    if (!rules.every((rule, index) => isSameRule(rule, others[index]))) return false;
  }
  return true;
}

function isSameRule(a: PathRule, b: PathRule | undefined): boolean {
  return a.path === b?.path && a.type === b.type && a.service === b.service;
}
