// The decision as it stands: recomputed part by part as sources change, and handed to the output
// whenever something in it is new. Computing is left to the pure functions of `decide/`.

import type {
  DecidedEndpoint,
  DecisionOutput,
  PathRule,
  RoutingDecision,
} from "../decide/decision.ts";
import type { Backend, RouteOrigin } from "../decide/routing/route.ts";
import {
  emptyTable,
  type RouteTable,
  Routing,
  type RoutingOptions,
} from "../decide/routing/routing.ts";
import { type ServiceTruth, truth } from "../decide/truth/truth.ts";
import type { TruthPolicy } from "../decide/truth/truth-policy.ts";
import type { RememberedEndpoints } from "../model/remembered-endpoint.ts";
import {
  type Evidence,
  type ServiceSnapshot,
  type SnapshotSource,
  snapshotService,
} from "../model/service-snapshot.ts";
import type { ExternalNames } from "../sources/external-names.ts";
import type { Probes } from "../sources/probes.ts";
import { type ProxyFeedback, peerKey } from "../sources/proxy-feedback.ts";
import { ShownCertificates, type ShownCertificatesOptions } from "./shown-certificates.ts";

export interface DecisionsOptions extends ShownCertificatesOptions {
  /** The clusters whose services are routed to. */
  readonly sources: readonly SnapshotSource[];
  /** What routes may do, beyond the class. */
  readonly routing?: Omit<RoutingOptions, "className"> | undefined;
  /** What is wanted now; it may change between two decisions. */
  readonly policy: () => TruthPolicy;
  /** Where requests come in, whether or not endpoints are taken from there. */
  readonly accessCluster?: string;
  /** What is known of clusters that have not been heard yet; nothing when absent. */
  readonly remembered?: RememberedEndpoints | undefined;
  readonly output: DecisionOutput;
  /** Who settles doubts; without it nothing is ever doubted. */
  readonly probes?: Pick<Probes, "want" | "standing">;
  /** What requests found out; without it they are not listened to. */
  readonly feedback?: Pick<ProxyFeedback, "unreached"> | undefined;
  /** Who looks up external names; without it such services have no endpoints. */
  readonly externalNames?: Pick<ExternalNames, "want" | "answerOf"> | undefined;
  readonly onTruth: (change: TruthChange) => void;
  /** Called after routes were decided anew, whether or not something in them is new. */
  readonly onRoutes?: ((table: RouteTable) => void) | undefined;
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
  readonly #routing: Routing;
  #table: RouteTable = emptyTable;
  /** Its problems are among those of `#table`. */
  readonly certificates: ShownCertificates;
  readonly #decided = new Map<string, Decided>();
  readonly #services = new Map<string, readonly DecidedEndpoint[]>();
  /** By `namespace/name`, the backends that are ports of that service. */
  #backendsOf: ReadonlyMap<string, readonly string[]> = new Map();
  #version = 0;
  /** The first decision is told even when it is empty: a proxy may still serve what is gone. */
  #isTold = false;

  constructor(options: DecisionsOptions) {
    this.#options = options;
    this.certificates = new ShownCertificates(options);
    this.#routing = new Routing({ ...options.routing, className: options.className });
  }

  get routes(): RouteTable {
    return this.#table;
  }

  /** Whose a rule is; undefined for one that is not of the table as it stands. */
  originOf(host: string, rule: PathRule): RouteOrigin | undefined {
    return this.#routing.originOf(host, rule);
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
    // It goes over every endpoint there is, so their keys are made only where the address fits.
    const addresses = new Set([...peers].map((key) => key.slice(0, key.indexOf(" "))));
    const isPeer = (one: DecidedEndpoint) => addresses.has(one.address) && peers.has(peerKey(one));
    for (const [key, { truth: decided }] of this.#decided) {
      const service = this.serviceOf(key);
      if (service === undefined || services.has(service)) continue;
      if (decided.endpoints.some(isPeer)) services.add(service);
    }
    return services;
  }

  /** Decides anew which host and path lead where. */
  decideRoutes(): void {
    const { asked } = this.#options;
    const before = this.#table;
    this.#table = this.#routing.decide({
      ingresses: asked.ingresses(),
      classes: asked.classes(),
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
    const isShownAnew = this.certificates.decide();
    const { problems } = this.certificates.table;
    if (problems.length > 0) {
      this.#table = { ...this.#table, problems: [...this.#table.problems, ...problems] };
    }
    const routes = !this.#isTold || isShownAnew || !haveSameRules(before.hosts, this.#table.hosts);
    if (routes || changed.size > 0) this.#apply(routes, changed);
    this.#options.onRoutes?.(this.#table);
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
    const { sources, policy, probes, onTruth, remembered, accessCluster } = this.#options;
    const { externalNames } = this.#options;
    const { namespace, name, port } = backend;
    const snapshot = snapshotService(sources, namespace, name, {
      evidence: this.#evidenceFor(key),
      remembered: remembered?.get(key),
      accessCluster,
      names: externalNames,
    });
    const after = truth(snapshot, port, policy());
    probes?.want(key, after.doubts);
    externalNames?.want(key, externalNamesOf(snapshot));
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
    this.#options.externalNames?.want(key, []);
    if (known === undefined) return;
    const { version, truth: before } = known;
    this.#options.onTruth({ service: key, version, before, after: undefined });
  }

  #apply(routes: boolean, services: ReadonlyMap<string, number>): void {
    const { certificates, serverNames } = this.certificates.table;
    const decision: RoutingDecision = {
      hosts: this.#table.hosts,
      services: this.#services,
      certificates,
      serverNames,
    };
    this.#isTold = true;
    this.#options.output.apply(decision, { routes, services });
  }
}

const noNames: readonly string[] = [];

function externalNamesOf({ clusters }: ServiceSnapshot): readonly string[] {
  if (!clusters.some(({ service }) => service.type === "ExternalName")) return noNames;
  return clusters.flatMap(({ service: { type, externalName } }) =>
    type === "ExternalName" && externalName !== undefined ? [externalName] : [],
  );
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
      one.podUid === other.podUid &&
      one.priority === other.priority &&
      one.weight === other.weight
    );
  });
}

type Hosts = RoutingDecision["hosts"];

/** The lists of hosts that did not change are the same ones. */
function haveSameRules(a: Hosts, b: Hosts): boolean {
  if (a.size !== b.size) return false;
  for (const [host, rules] of a) if (b.get(host) !== rules) return false;
  return true;
}
