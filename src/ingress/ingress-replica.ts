// One replica of the ingress, put together: the loop that decides, the nginx that serves by it, and
// the listener that answers questions. A shadow has no nginx: it decides and reports, and changes
// nothing anywhere. Several can live in one process, each with its own prefix and ports.
import { Registry } from "prom-client";
import type { ProxyPorts } from "../decide/routing/gateway/listeners.ts";
import type { TruthPolicy } from "../decide/truth/truth-policy.ts";
import { elapsedMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { Listener } from "../environment/network.ts";
import { DirectKubeClient } from "../kube/client/direct-client.ts";
import { MissingPermissions } from "../kube/client/missing-permissions.ts";
import type { ClusterAccess } from "../kube/credentials/credentials.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import { KnownObjects } from "../kube/reflector/known-objects.ts";
import { EventWriter } from "../outputs/events/event-writer.ts";
import type { LeftOutEntry, MemoryUse } from "../outputs/nginx/entry-memory.ts";
import { stopDrainMs } from "../outputs/nginx/nginx-supervisor.ts";
import { type Owner, OwnerError, ownerText } from "../outputs/nginx/prefix-owner.ts";
import type { DecidedGateways } from "../outputs/status/gateway-status-writer.ts";
import { clusterWatches } from "../sources/cluster-source.ts";
import { endpointId } from "../sources/endpoint-id.ts";
import { askedWatches } from "../sources/ingress-source.ts";
import type { SecretReference } from "../sources/secret-source.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import { DecisionLog } from "./decision-log.ts";
import type { DecisionsOptions, TruthChange } from "./decisions.ts";
import { type ExplainedTables, type Explanation, explain, type Question } from "./explanation.ts";
import { type IngressCluster, IngressLoop } from "./ingress-loop.ts";
import { ingressMetrics } from "./ingress-metrics.ts";
import { Leadership, type LeadershipSettings } from "./leadership.ts";
import { NginxOutput, type NginxSettings, type RememberedState } from "./nginx-output.ts";
import { type AskedInCluster, inOtherClasses } from "./other-classes.ts";
import { ingressPermissionEffects } from "./permission-effects.ts";
import {
  type AgedWatch,
  defaultFreshnessPolicy,
  type FreshnessPolicy,
  type Readiness,
  readiness,
} from "./readiness.ts";
import { type RoutedEntry, RoutedJournal } from "./routed-journal.ts";
import {
  type ProbeOf,
  portReport,
  type ServiceReport,
  serviceReport,
  type UseOf,
} from "./service-report.ts";
import { ShadowReport } from "./shadow-report.ts";
import { isOfGateways, takenHosts } from "./shown-gateways.ts";
import { stateReport } from "./state-report.ts";
import { type StatusServerOptions, startStatusServer } from "./status-server.ts";
import { untilRouted } from "./until-routed.ts";

export interface IngressReplicaOptions extends NginxSettings {
  readonly environment: Environment;
  /** Where pods run. */
  readonly clusters: readonly ClusterAccess[];
  /** Where the Ingresses are. */
  readonly access: ClusterAccess;
  readonly className: string;
  readonly routing?: DecisionsOptions["routing"];
  /** See `IngressLoopOptions`. */
  readonly gatewayAddresses?: readonly string[];
  /** The secret whose certificate is shown for every name that has none of its own. */
  readonly defaultCertificate?: SecretReference | undefined;
  /** At first; `setPolicy` changes it. */
  readonly policy: TruthPolicy;
  /** At first; `setFreshness` changes it. */
  readonly freshness?: FreshnessPolicy;
  /** The saved state of an earlier process with the same prefix; none when absent. */
  readonly remembered?: RememberedState;
  readonly status: Pick<StatusServerOptions, "host" | "port" | "hostNames">;
  /** Writes no status and watches no lock when absent. */
  readonly leadership?: LeadershipSettings;
  /** Serves nothing and reports what would have been otherwise; see `shadow-report.ts`. */
  readonly shadow?: { readonly probe: boolean };
  /** Called as the proxy begins to route by each change. */
  readonly onRouted?: (entry: RoutedEntry) => void;
  readonly metrics?: Registry;
}

const userAgent = "lockstep-ingress";

/** How long a start that takes over may take to decide its routes; the other one serves meanwhile. */
const decideWithinMs = 60_000;
const decidedPollMs = 50;

export class IngressReplica {
  readonly loop: IngressLoop;
  readonly journal: RoutedJournal;
  readonly overrides: DecisionLog;
  readonly metrics: Registry;
  /** Undefined unless this is a shadow. */
  readonly shadow: ShadowReport | undefined;
  readonly #leadership: Leadership;
  /** Absent in a shadow, which writes no Events. */
  readonly #events: EventWriter | undefined;
  readonly #options: IngressReplicaOptions;
  readonly #nginx: NginxOutput | undefined;
  readonly #stopping = new AbortController();
  readonly #superseded = new AbortController();
  readonly #clients = new Map<ClusterAccess, IngressCluster>();
  readonly #missing: MissingPermissions;
  readonly #known: KnownObjects;
  /** Called after every decision about routes. */
  readonly #decided = new Set<() => void>();
  #freshness: FreshnessPolicy;
  #status: Listener | undefined;
  /** The loop. */
  #following: Promise<void> | undefined;
  /** The election, and what the leader writes. */
  #beside: Promise<void> | undefined;
  #isDraining = false;
  #replacedBy: Owner | undefined;

  constructor(options: IngressReplicaOptions) {
    this.#options = options;
    const { log } = options.environment;
    this.#missing = new MissingPermissions({ log, effects: ingressPermissionEffects });
    const { environment, shadow, remembered, ...rest } = options;
    this.#known = new KnownObjects(remembered?.known);
    this.metrics = options.metrics ?? new Registry();
    const { metrics } = this;
    this.#freshness = options.freshness ?? defaultFreshnessPolicy;
    const { routed } = ingressMetrics(metrics);
    this.journal = new RoutedJournal({
      ...environment,
      onRouted: (entry) => {
        routed.observe(entry.lagMs / 1000);
        options.onRouted?.(entry);
      },
    });
    this.shadow = shadow && new ShadowReport({ ...environment, ...shadow, metrics });
    this.overrides = new DecisionLog({
      ...environment,
      onBegin: (override) => this.shadow?.begins(override),
      onEnd: (override) => this.shadow?.ends(override),
    });
    if (shadow === undefined) this.#nginx = this.#nginxSide();
    this.loop = new IngressLoop({
      ...environment,
      ...rest,
      ...(remembered !== undefined && { remembered: remembered.services }),
      knownBefore: this.#known,
      clusters: options.clusters.map((access) => this.#clusterOf(access)),
      access: this.#clusterOf(options.access),
      ownAddresses: [
        ...options.listen.map(({ address }) => address),
        ...(options.leadership?.publish?.addresses ?? []).map(({ ip }) => ip),
      ],
      output: this.#nginx,
      routing: { ...options.routing, ingressPorts: ingressPorts(options.listen) },
      ...(shadow === undefined && { ports: portsOf(options.listen) }),
      ...(this.#nginx !== undefined && { proxy: this.#nginx, memory: this.#nginx }),
      onTruth: (change) => this.#note(change),
      onRoutes: ({ problems }) => {
        this.#events?.note(problems.filter((one) => !isOfGateways(one)));
        for (const follower of this.#decided) follower();
      },
      metrics,
    });
    this.#leadership = new Leadership({
      ...environment,
      ...(options.leadership ?? { watchedLocks: [] }),
      cluster: options.access,
      asked: this.loop.asked,
      gateways: this.#gateways(),
      className: options.className,
      untilRouted: (ingress, signal) => this.#untilRouted(ingress, signal),
      metrics,
      onForbidden: (name, error) => this.#missing.note(name, error),
    });
    if (shadow === undefined) this.#events = this.#eventWriter();
  }

  /** Where `/state` and the others are; undefined before the start. */
  get statusAddress(): Listener | undefined {
    return this.#status;
  }

  /** Aborts when another Lockstep has taken charge of the nginx, and this one is of no more use. */
  get superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  /** The Lockstep that has asked to take over; undefined also when one took charge without asking. */
  get replacedBy(): Owner | undefined {
    return this.#replacedBy;
  }

  /** Undefined when nginx serves by our decision; else what is missing. */
  get notReadyBecause(): string | undefined {
    return this.readiness.problem;
  }

  /** Names the run of nginx: another one after each start. Undefined while none runs. */
  get proxyRun(): string | undefined {
    return this.#nginx?.serving?.bootId;
  }

  get readiness(): Readiness {
    const { secrets, passwords, asked } = this.loop;
    return readiness({
      isDraining: this.#isDraining,
      isDecided: this.loop.isReady,
      proxyProblem: this.#nginx?.problem,
      watches: this.watches(),
      policy: this.#freshness,
      doubtedSecrets: [...secrets.doubts, ...passwords.doubts].map(
        (one) => `${asked.cluster}: ${one}`,
      ),
      leftOut: this.leftOut(),
    });
  }

  /** nginx opens its logs again, after they were renamed. */
  reopenLogs(): void {
    this.#nginx?.reopenLogs();
  }

  /** Entries that do not fit into the proxy's memory. */
  leftOut(): readonly LeftOutEntry[] {
    return this.#nginx?.leftOut() ?? [];
  }

  memoryUse(): readonly MemoryUse[] {
    return this.#nginx?.memoryUse() ?? [];
  }

  /** From now on every service is judged by this. */
  setPolicy(policy: TruthPolicy): void {
    this.loop.setPolicy(policy);
  }

  setFreshness(freshness: FreshnessPolicy): void {
    this.#freshness = freshness;
  }

  /** The endpoints that would serve a request, and why. */
  async explain(question: Question): Promise<Explanation> {
    const { decisions } = this.loop;
    const used = await this.#nginx?.use();
    const { hosts, problems } = decisions.routes;
    return explain(question, {
      hosts,
      problems,
      ports: firstPorts(this.#options.listen),
      listenerPorts: portsOf(this.#options.listen),
      originOf: (host, rule) => decisions.originOf(host, rule),
      portOf: (service) => portReport(service, decisions, (key) => used?.get(key)),
      leftAlone: (asked) => inOtherClasses(asked, this.#asked()),
    });
  }

  /** The truth about a service: `namespace/name`, or one port of it. */
  async endpoints(service: string): Promise<ServiceReport> {
    const used = await this.#nginx?.use();
    const { decisions, probes } = this.loop;
    const probeOf: ProbeOf = (key, endpoint) => {
      const answer = probes.standing(key).get(endpoint.cluster)?.get(endpointId(endpoint))?.answer;
      return answer === "unknown" ? undefined : answer;
    };
    return serviceReport(service, decisions, (key) => used?.get(key), probeOf);
  }

  /**
   * Resolves when nginx serves; routes are pushed as soon as they are known. Fails with an
   * `OwnerError` when a living Lockstep has this nginx and is not to be replaced.
   */
  async start(signal: AbortSignal = this.#stopping.signal): Promise<void> {
    // A prefix that is not there has no owner that could have the port. A start that is refused for
    // the port then leaves nothing behind.
    if (await this.#nginx?.isNew()) this.#status = await this.#startStatus();
    const predecessor = await this.#nginx?.claim();
    ingressMetrics(this.metrics).replicas.add(this);
    if (predecessor !== undefined) await this.#takeOver(predecessor, signal);
    this.#status ??= await this.#startStatus();
    // Meanwhile the clusters are read, so that changes are followed sooner after a restart.
    this.#following ??= this.loop.run(this.#stopping.signal);
    await this.#nginx?.start();
    this.#beside ??= this.#runBeside(this.#stopping.signal);
  }

  /** No longer ready, but serving as before until `stop`. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Stops deciding; nginx finishes its requests and ends, or goes on by itself. Idempotent. */
  async stop(options: { readonly keepNginx: boolean; readonly drainMs?: number }): Promise<void> {
    this.drain();
    this.#known.freeze();
    this.#stopping.abort(new Error("the ingress is stopping"));
    await Promise.all([this.#following, this.#beside]);
    await this.shadow?.stop();
    const { keepNginx, drainMs = stopDrainMs } = options;
    await this.#nginx?.stop({ keepNginx, drainMs });
    await this.#status?.close();
    // Last: the successor may want the same status port.
    await this.#nginx?.release();
    ingressMetrics(this.metrics).replicas.delete(this);
  }

  /** Decides first: an owner is replaced by one that has routes, never by one that may get some. */
  async #takeOver(predecessor: Owner, signal: AbortSignal): Promise<void> {
    const { environment, status } = this.#options;
    const { log, timers, clock } = environment;
    const { pid, since } = predecessor;
    log.info("another Lockstep uses this nginx; it will hand over when the new routes are ready", {
      pid,
      since,
    });
    // The port of the other one is free when that one has ended.
    if (status.port !== predecessor.statusPort) this.#status ??= await this.#startStatus();
    this.#following = this.loop.run(this.#stopping.signal);
    this.#beside = this.#runBeside(this.#stopping.signal);
    const beganAt = clock.monotonicMs();
    while (!this.loop.isReady) {
      if (elapsedMs(beganAt, clock.monotonicMs()) > decideWithinMs) {
        throw this.#notTakenOver(predecessor, this.notReadyBecause ?? "no routes are ready");
      }
      await timers.sleep(decidedPollMs, signal);
    }
    const { routes, truths } = this.loop.decisions;
    if (routes.hosts.size === 0) {
      const { className, access } = this.#options;
      const problem = `no Ingress of the class ${className} in ${access.name} has a route`;
      throw this.#notTakenOver(predecessor, problem);
    }
    if (![...truths.values()].some(({ truth }) => truth.endpoints.length > 0)) {
      throw this.#notTakenOver(predecessor, "no service of any route has an endpoint");
    }
    await this.#nginx?.takeOver(predecessor, signal);
  }

  #notTakenOver(predecessor: Owner, problem: string): OwnerError {
    const goesOn = `${ownerText(predecessor)} keeps serving`;
    return new OwnerError("NOTHING_TO_SERVE", `take-over failed: ${problem}; ${goesOn}`);
  }

  async #startStatus(): Promise<Listener> {
    const { environment, status } = this.#options;
    return await startStatusServer({
      ...status,
      network: environment.network,
      metrics: this.metrics,
      journal: this.journal,
      state: () => this.#report(),
      readiness: () => this.readiness,
      explain: async (question) => (this.loop.isReady ? await this.explain(question) : undefined),
      endpoints: async (service) => (this.loop.isReady ? await this.endpoints(service) : undefined),
    });
  }

  /** Writes to the cluster: not before nginx serves, which may fail. */
  async #runBeside(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#leadership.run(signal), this.#events?.run(signal)]);
  }

  #note(change: TruthChange): void {
    this.overrides.note(change);
    this.journal.decided(change);
  }

  async #untilRouted(ingress: Ingress, signal: AbortSignal): Promise<void> {
    const { clock, timers } = this.#options.environment;
    const { loop } = this;
    const proxy = this.#nginx;
    if (proxy !== undefined) await untilRouted(ingress, { clock, timers, loop, proxy, signal });
  }

  #report(): object {
    const { clock } = this.#options.environment;
    const { loop, overrides } = this;
    const readiness = () => this.readiness;
    const proxy = () => this.#nginx?.serving;
    const leadership = () => this.#leadership.report();
    const shadow = () => this.shadow?.summary();
    const useOf: UseOf = (key) => this.#nginx?.useOf(key);
    const memory = { leftOut: () => this.leftOut(), memoryUse: () => this.memoryUse() };
    const parts = { overrides, readiness, proxy, leadership, useOf, shadow, memory };
    return stateReport({ clock, loop, ...parts });
  }

  /** Every watch, and how old what it says may be. */
  watches(): readonly AgedWatch[] {
    const { sources, asked } = this.loop;
    const aged = (kind: string, cluster: string, status: WatchStatus): AgedWatch => {
      const { currentAtMs } = status;
      const now = this.#options.environment.clock.monotonicMs();
      const provedCurrentMsAgo =
        currentAtMs === undefined ? undefined : Math.max(0, elapsedMs(currentAtMs, now));
      return { kind, cluster, status, provedCurrentMsAgo };
    };
    return [
      ...sources.flatMap((source) =>
        clusterWatches.map((name) => aged(name, source.cluster, source.watch(name))),
      ),
      ...askedWatches.map((name) => aged(name, asked.cluster, asked.watch(name))),
    ];
  }

  #gateways(): DecidedGateways | undefined {
    const { loop } = this;
    const source = loop.gateways;
    return (
      source && {
        source,
        decision: () => loop.decisions.gateways.decision,
        isDecided: () => loop.isReady,
        takenHosts: (route) => takenHosts(loop.decisions.routes, route),
        follow: (listener) => {
          this.#decided.add(listener);
          return () => void this.#decided.delete(listener);
        },
      }
    );
  }

  #nginxSide(): NginxOutput {
    const { className, clusters, access, status } = this.#options;
    const contexts = clusters.map(({ name }) => name);
    return new NginxOutput({
      ...this.#options,
      metrics: this.metrics,
      known: () => this.#known.counts(),
      origin: { className, contexts, accessContext: access.name },
      statusPort: status.port,
      onRouted: (service, version, at) => this.journal.routed(service, version, at),
      onSuperseded: (by) => {
        this.#replacedBy = by;
        this.#superseded.abort(new Error("another Lockstep controls this nginx"));
      },
    });
  }

  #asked(): AskedInCluster {
    const { className, routing } = this.#options;
    const { asked } = this.loop;
    return { ...routing, className, ingresses: asked.ingresses(), classes: asked.classes() };
  }

  #eventWriter(): EventWriter {
    const { environment, access } = this.#options;
    const { asked } = this.loop;
    return new EventWriter({
      ...environment,
      client: this.#clusterOf(access).client,
      // Without an election each replica writes: the same Event, by its name.
      isLeader: () => this.#leadership.report().election?.isLeading ?? true,
      uidOf: ({ kind, namespace, name }) =>
        kind === "Ingress"
          ? asked.ingress(namespace, name)?.metadata.uid
          : asked.classes().find(({ metadata }) => metadata.name === name)?.metadata.uid,
      metrics: this.metrics,
    });
  }

  #clusterOf(cluster: ClusterAccess): IngressCluster {
    const known = this.#clients.get(cluster);
    if (known !== undefined) return known;
    const { environment } = this.#options;
    const client = new DirectKubeClient({
      ...environment,
      cluster,
      userAgent,
      metrics: this.metrics,
      onForbidden: (name, error) => this.#missing.note(name, error),
    });
    const made = { name: cluster.name, client };
    this.#clients.set(cluster, made);
    return made;
  }
}

/**
 * The ports that Ingresses are served at; undefined where no others are open, so that rules need no
 * condition.
 */
function ingressPorts(listen: IngressReplicaOptions["listen"]): readonly number[] | undefined {
  const own = listen.filter(({ forGateways }) => forGateways !== true);
  return own.length === listen.length ? undefined : [...new Set(own.map(({ port }) => port))];
}

/**
 * The ports that listeners may name: the proxy's own, and the usual ones, which load balancers lead there
 * unless the proxy has them for something else.
 */
function portsOf(listen: IngressReplicaOptions["listen"]): ProxyPorts {
  const { plain, secure, grpc } = byScheme(listen);
  const taken = new Set(listen.map(({ port }) => port));
  const ports = (some: typeof plain, usual?: number): ReadonlyMap<number, number> => {
    const own = some.map(({ port }): [number, number] => [port, port]);
    const [first] = own;
    const isUsual = usual !== undefined && first !== undefined && !taken.has(usual);
    return new Map([...(isUsual ? [[usual, first[1]] as const] : []), ...own]);
  };
  return { http: ports(plain, 80), grpc: ports(grpc), https: ports(secure, 443) };
}

function firstPorts(listen: IngressReplicaOptions["listen"]): ExplainedTables["ports"] {
  const { plain, secure, grpc } = byScheme(listen);
  return { http: plain[0]?.port, https: secure[0]?.port, grpc: grpc[0]?.port };
}

function byScheme(listen: IngressReplicaOptions["listen"]) {
  return {
    plain: listen.filter(({ tls, http2 }) => tls !== true && http2 !== true),
    secure: listen.filter(({ tls }) => tls === true),
    grpc: listen.filter(({ http2 }) => http2 === true),
  };
}
