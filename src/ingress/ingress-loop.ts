// From clusters to an output: sources enqueue keys that may have changed, a worker decides them,
// and the output applies the result. Services, services of many endpoints, and routes have a queue and
// a worker each. A leave is decided in the same turn of the event loop in which the pod's event was
// read. Routes and large services are decided in slices, and other services in between by the present
// routes. A started decision is finished; later changes belong to the next one.
import type { Registry } from "prom-client";
import type { DecisionOutput } from "../decide/decision.ts";
import type { ProxyPorts } from "../decide/routing/gateway/listeners.ts";
import { defaultUnreachableAfterMs, type TruthPolicy } from "../decide/truth/truth-policy.ts";
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import { ProcessorMeter } from "../environment/processor.ts";
import { inSlices } from "../environment/steps.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { splitObjectKey } from "../kube/kinds/kind.ts";
import { type PasswordSecret, passwordSecretKind } from "../kube/kinds/password-secret.ts";
import { secretKind, tlsSecretType } from "../kube/kinds/secret.ts";
import type { KnownBefore } from "../kube/reflector/reflector-removals.ts";
import { type Lane, Workqueue } from "../kube/workqueue/workqueue.ts";
import { runWorkers } from "../kube/workqueue/workqueue-workers.ts";
import { ImportedServices } from "../model/imported-services.ts";
import type { RememberedEndpoints } from "../model/remembered-endpoint.ts";
import { checkedCertificate } from "../sources/checked-certificate.ts";
import { ClusterSource } from "../sources/cluster-source.ts";
import { endpointId } from "../sources/endpoint-id.ts";
import { ExternalNames } from "../sources/external-names.ts";
import { GatewaySource } from "../sources/gateway-source.ts";
import { IngressSource, type InputChange } from "../sources/ingress-source.ts";
import { Probes } from "../sources/probes.ts";
import { ProxyFeedback, type ProxyReporter } from "../sources/proxy-feedback.ts";
import { type SecretReference, SecretSource } from "../sources/secret-source.ts";
import { ServiceExports } from "../sources/service-exports.ts";
import { ServiceImports } from "../sources/service-imports.ts";
import { Decisions, type DecisionsOptions, type TruthChange } from "./decisions.ts";
import { ingressMetrics } from "./ingress-metrics.ts";
import { NamespaceRests } from "./namespace-rests.ts";

export interface IngressCluster {
  readonly name: string;
  readonly client: KubeClient;
}

export interface IngressLoopOptions
  extends Pick<
    Environment,
    "clock" | "timers" | "random" | "network" | "names" | "processor" | "log"
  > {
  /** Where pods run. */
  readonly clusters: readonly IngressCluster[];
  /** Where the Ingresses are. */
  readonly access: IngressCluster;
  readonly className: string;
  /** The ports of the proxy; without them Gateways are not served. */
  readonly ports?: ProxyPorts;
  /** Of the proxy, one for each Gateway; all Gateways share all addresses when absent. */
  readonly gatewayAddresses?: readonly string[];
  /** The secret whose certificate is shown for every name that has none of its own. */
  readonly defaultCertificate?: SecretReference | undefined;
  /** Options of the routes: a default backend, shared hosts. */
  readonly routing?: DecisionsOptions["routing"];
  /** The first policy; `setPolicy` changes it. */
  readonly policy: TruthPolicy;
  /** Where clients reach it, beside the addresses of the machine: no external name may lead there. */
  readonly ownAddresses?: readonly string[];
  /** The remembered endpoints of clusters that are not listed yet; none when absent. */
  readonly remembered?: RememberedEndpoints;
  /** How many objects the watches of an earlier process showed; nothing when absent. */
  readonly knownBefore?: KnownBefore;
  /** Absent in a shadow. */
  readonly output?: DecisionOutput | undefined;
  /** Entries that do not fit into the output; none when absent. */
  readonly memory?: DecisionsOptions["memory"];
  /** Reports the endpoints that requests could not reach; absent without a proxy. */
  readonly proxy?: ProxyReporter;
  readonly onTruth: (change: TruthChange) => void;
  readonly onRoutes?: DecisionsOptions["onRoutes"];
  readonly metrics?: Registry;
}

/** The key of the routes in their queue. */
const routesKey = "routes";

/** The key for the report of problems to the authors of Ingresses. */
const problemsKey = "problems";

/** Where thousands of services come or go, what is missing is put together a few times only. */
const problemsHoldOffMs = 1_000;

/**
 * From one decision about routes to the next. Every Ingress is looked at to find the changed ones, so
 * changes that come together go together; but one that comes alone waits for nothing.
 */
const routesHoldOffMs = 5;

/** Of each queue. One by one: the proxy wants its pushes in order. */
const workers = 1;
const maxRetries = 15;

/** While every service is decided again, new events are read this often: they go first. */
const breathEveryMs = 10;

/** How long the first decision waits for clusters that do not answer, so that the others serve. */
export const clustersWithinMs = 30_000;
/** The same where it is known what they served before: then it does little harm to begin. */
export const rememberedWithinMs = 5_000;
const lookAgainMs = 20;

export class IngressLoop {
  readonly decisions: Decisions;
  readonly sources: readonly ClusterSource[];
  readonly asked: IngressSource;
  /** Absent where Gateways are not served. */
  readonly gateways: GatewaySource | undefined;
  /** The same. */
  readonly imports: ServiceImports | undefined;
  /** Of the clusters where pods run. Watched only where there are ServiceImports. */
  readonly #exports: readonly ServiceExports[];
  readonly secrets: SecretSource;
  readonly passwords: SecretSource<PasswordSecret>;
  readonly probes: Probes;
  readonly externalNames: ExternalNames;
  readonly feedback: ProxyFeedback | undefined;
  readonly #options: IngressLoopOptions;
  /** Keys of service ports: one with thousands of ports is many decisions, and others go in between. */
  readonly #services: Workqueue;
  /** The same of services with many endpoints. Their decisions take long, and others do not wait. */
  readonly #large: Workqueue;
  /** `routesKey` and `problemsKey`. */
  readonly #routes: Workqueue;
  #policy: TruthPolicy;
  #isReady = false;
  /** How often what is asked for changed, and how much of that is decided. */
  #asked = 0;
  #decidedRevision = 0;
  /** When routes were last decided; undefined before the first time, and while they are decided. */
  #routesDecidedAt: MonotonicMs | undefined;
  /** Secrets may be others than by the last decision. */
  #areSecretsNew = false;
  /** The last reported problem of the default certificate. */
  #defaultProblem: string | undefined;
  /** Since when the event loop has been busy; undefined while nothing is queued. */
  #busySince: MonotonicMs | undefined;
  /** Of the decisions about services, and of those about routes. */
  readonly #serviceRests: NamespaceRests;
  readonly #routeRests: NamespaceRests;
  /** By namespace, the size of the changes that routes are to be decided again for. */
  #changed = new Map<string, number>();

  constructor(options: IngressLoopOptions) {
    this.#options = options;
    this.#policy = this.#withOwnAddresses(options.policy);
    this.#serviceRests = new NamespaceRests(options.clock);
    this.#routeRests = new NamespaceRests(options.clock);
    const { clusters, access, metrics, ...rest } = options;
    const shared = { ...rest, ...(metrics === undefined ? {} : { metrics }) };
    const registry = metrics === undefined ? {} : { registry: metrics };
    const byNamespace = { ...rest, ...registry, fairness: "namespaces" } as const;
    this.#services = new Workqueue({ ...byNamespace, name: "ingress" });
    this.#large = new Workqueue({ ...byNamespace, name: "ingress-large" });
    this.#routes = new Workqueue({ ...rest, name: "ingress-routes", ...registry });
    this.sources = clusters.map(
      ({ name, client }) =>
        new ClusterSource({
          ...shared,
          client,
          cluster: name,
          onService: (key) => {
            this.#queue(this.decisions.backendsOf(key), "fresh");
            if (this.decisions.gateways.isNews(key)) this.#inputsChanged();
          },
          onFreshness: () => this.#queue(this.decisions.backendKeys, "resync"),
          unreachableAfterMs: () => this.#policy.unreachableAfterMs ?? defaultUnreachableAfterMs,
        }),
    );
    this.asked = new IngressSource({
      ...shared,
      client: access.client,
      cluster: access.name,
      onRoutes: (change) => this.#inputsChanged(change),
      onLabels: () => {
        if (this.decisions.gateways.decision.gateways.length > 0) this.#inputsChanged();
      },
    });
    this.gateways =
      options.ports &&
      new GatewaySource({
        ...shared,
        client: access.client,
        cluster: access.name,
        onRoutes: (change) => this.#inputsChanged(change),
      });
    this.#exports = clusters.map(
      ({ name, client }) =>
        new ServiceExports({
          ...shared,
          client,
          cluster: name,
          onExport: (key) => this.#queue(this.decisions.backendsOf(key), "fresh"),
          onKnown: () => this.#queue(this.decisions.backendKeys, "resync"),
        }),
    );
    this.imports =
      options.ports &&
      new ServiceImports({
        ...shared,
        client: access.client,
        cluster: access.name,
        onImport: (key) => {
          this.#queue(this.decisions.backendsOf(key), "fresh");
          this.#inputsChanged({ namespace: splitObjectKey(key).namespace, size: 1 });
        },
        onFound: () => {
          for (const one of this.#exports) one.start();
        },
        onKnown: () => this.#inputsChanged(),
      });
    const secretSource = {
      ...shared,
      client: access.client,
      cluster: access.name,
      onSecrets: (namespace: string | undefined) => {
        this.#areSecretsNew = true;
        this.#inputsChanged(namespace === undefined ? undefined : { namespace, size: 1 });
      },
    };
    this.secrets = new SecretSource({
      ...secretSource,
      kind: secretKind,
      ofType: tlsSecretType,
      onRead: checkedCertificate,
    });
    this.passwords = new SecretSource({ ...secretSource, kind: passwordSecretKind });
    this.probes = new Probes({
      ...rest,
      onAnswer: (key) => this.#queue([key], "fresh"),
      onAnswered: (target) => this.feedback?.answered(endpointId(target)),
    });
    this.externalNames = new ExternalNames({
      ...rest,
      onAnswer: (key) => this.#queue([key], "fresh"),
    });
    this.feedback =
      options.proxy &&
      new ProxyFeedback({
        ...rest,
        reporter: options.proxy,
        onChange: (peers) => this.#queue(this.decisions.backendsAt(peers), "fresh"),
      });
    const { sources, asked, secrets, passwords, probes, externalNames, feedback } = this;
    const imported = this.#importedServices();
    this.decisions = new Decisions({
      ...options,
      sources,
      asked,
      ...(this.gateways !== undefined &&
        options.ports !== undefined && {
          gateways: {
            source: this.gateways,
            ports: options.ports,
            addresses: options.gatewayAddresses,
            namespaces: asked,
            imports: imported,
          },
        }),
      imported: imported?.sources,
      secrets,
      passwords,
      probes,
      externalNames,
      feedback,
      policy: () => this.#policy,
      accessCluster: access.name,
    });
  }

  #importedServices(): ImportedServices | undefined {
    if (this.imports === undefined) return undefined;
    const exports = this.#exports;
    const clusters = this.sources.flatMap((source, at) =>
      exports[at] === undefined ? [] : [{ source, exports: exports[at] }],
    );
    const accessCluster = this.#options.access.name;
    return new ImportedServices({ imports: this.imports, accessCluster, clusters });
  }

  /** Whether it is known which services may be imported, and where they are. */
  get #areImportsSettled(): boolean {
    if (this.imports === undefined || this.imports.isAbsent) return true;
    return this.imports.settled && this.#exports.every((one) => one.settled);
  }

  /** Whether the first decision has been made. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** How often Ingresses, classes or secrets have changed. */
  get revision(): number {
    return this.#asked;
  }

  /** The revision by which routes were last decided. */
  get decidedRevision(): number {
    return this.#decidedRevision;
  }

  /** Sets the policy, and decides every service again. */
  setPolicy(policy: TruthPolicy): void {
    this.#policy = this.#withOwnAddresses(policy);
    this.#queue(this.decisions.backendKeys, "resync");
  }

  #withOwnAddresses(policy: TruthPolicy): TruthPolicy {
    const { names, ownAddresses = [] } = this.#options;
    return { ...policy, ownAddresses: [...names.ownAddresses(), ...ownAddresses] };
  }

  /** Runs until the signal aborts; then everything has stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, metrics } = this.#options;
    if (metrics !== undefined) ingressMetrics(metrics).shown.add(this.decisions);
    try {
      this.asked.start();
      this.gateways?.start();
      this.imports?.start();
      for (const source of this.sources) source.start();
      this.feedback?.start();
      await this.#waitForSources(signal);
      await this.#decideRoutes();
      this.#isReady = true;
      const shared = { workers, maxRetries, log, signal };
      await Promise.all([
        runWorkers({ ...shared, queue: this.#services, sync: (key) => this.#decideService(key) }),
        runWorkers({ ...shared, queue: this.#large, sync: (key) => this.#decideLarge(key) }),
        runWorkers({ ...shared, queue: this.#routes, sync: (key) => this.#decide(key) }),
      ]);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (metrics !== undefined) ingressMetrics(metrics).shown.delete(this.decisions);
      this.#services.shutDown();
      this.#large.shutDown();
      this.#routes.shutDown();
      const feedback = this.feedback === undefined ? [] : [this.feedback];
      const parts = [
        this.asked,
        ...(this.gateways === undefined ? [] : [this.gateways]),
        ...(this.imports === undefined ? [] : [this.imports]),
        ...this.#exports,
        this.secrets,
        this.passwords,
        this.probes,
        this.externalNames,
        ...feedback,
        ...this.sources,
      ];
      await Promise.all(parts.map((part) => part.stop()));
    }
  }

  async #decideService(key: string): Promise<void> {
    if (this.decisions.isLarge(key)) {
      this.#large.add(key);
      return;
    }
    if (this.#isResting(key, this.#services)) return;
    const startedAt = this.#options.clock.monotonicMs();
    const meter = new ProcessorMeter(this.#options.processor);
    meter.begin();
    this.decisions.decideBackend(key);
    meter.end();
    this.#decided("service", startedAt);
    this.#serviceRests.used(splitObjectKey(key).namespace, meter.usedMs);
    await this.#breathe(startedAt);
  }

  /** A change that comes meanwhile has it decided again afterwards. */
  async #decideLarge(key: string): Promise<void> {
    if (this.#isResting(key, this.#large)) return;
    const startedAt = this.#options.clock.monotonicMs();
    const meter = new ProcessorMeter(this.#options.processor);
    await inSlices(this.decisions.decidingBackend(key), { ...this.#options, meter });
    this.#decided("service", startedAt);
    this.#serviceRests.used(splitObjectKey(key).namespace, meter.usedMs);
  }

  /** Whether its namespace rests; then it is queued again for the end of that. */
  #isResting(key: string, queue: Workqueue): boolean {
    const leftMs = this.#serviceRests.leftMs(splitObjectKey(key).namespace);
    if (leftMs > 0) queue.addAfter(key, leftMs);
    return leftMs > 0;
  }

  /** Deciding never waits for anything, so without this nothing else would run until all is done. */
  async #breathe(startedAt: MonotonicMs): Promise<void> {
    const { clock, timers } = this.#options;
    this.#busySince ??= startedAt;
    const isLong = elapsedMs(this.#busySince, clock.monotonicMs()) >= breathEveryMs;
    // Also where nothing waits: a watch may have read what brings the same service back at once.
    if (isLong) await timers.breathe();
    if (isLong || this.#services.length === 0) this.#busySince = undefined;
  }

  async #decide(key: string): Promise<void> {
    if (key === problemsKey) {
      await inSlices(this.decisions.tellingProblems(), this.#options);
      return;
    }
    // Changes that waited for a rest may have been decided with those of another namespace.
    if (this.#decidedRevision === this.#asked) return;
    const startedAt = this.#options.clock.monotonicMs();
    await this.#decideRoutes();
    this.#decided("routes", startedAt);
  }

  #decided(kind: "routes" | "service", startedAt: MonotonicMs): void {
    const { clock, metrics } = this.#options;
    if (this.decisions.areProblemsNew) this.#routes.addAfter(problemsKey, problemsHoldOffMs);
    if (metrics === undefined) return;
    const seconds = elapsedMs(startedAt, clock.monotonicMs()) / 1000;
    ingressMetrics(metrics).decisions.observe({ kind }, seconds);
  }

  /** Without an argument it is not known whose inputs they are. */
  #inputsChanged(change?: InputChange): void {
    this.#asked += 1;
    const { namespace, size } = change ?? { namespace: undefined, size: 0 };
    const leftMs = namespace === undefined ? 0 : this.#routeRests.leftMs(namespace);
    if (namespace !== undefined) {
      this.#changed.set(namespace, (this.#changed.get(namespace) ?? 0) + size);
    }
    this.#routes.addAfter(routesKey, Math.max(this.#routesHoldOffLeftMs(), leftMs));
  }

  #routesHoldOffLeftMs(): number {
    if (this.#routesDecidedAt === undefined) return routesHoldOffMs;
    const agoMs = elapsedMs(this.#routesDecidedAt, this.#options.clock.monotonicMs());
    return routesHoldOffMs - agoMs;
  }

  async #decideRoutes(): Promise<void> {
    const revision = this.#asked;
    this.#routesDecidedAt = undefined;
    const areSecretsNew = this.#areSecretsNew;
    // Before the decision: what comes while it is under way is for the next one.
    this.#areSecretsNew = false;
    const changed = this.#changed;
    this.#changed = new Map();
    const meter = new ProcessorMeter(this.#options.processor);
    await inSlices(this.decisions.decidingRoutes({ areSecretsNew }), { ...this.#options, meter });
    this.#decidedRevision = revision;
    this.#routesDecidedAt = this.#options.clock.monotonicMs();
    // The first one is about everything that is there.
    if (this.#isReady) this.#routeRests.usedTogether(changed, meter.usedMs);
    const { defaultProblem } = this.decisions.certificates.table;
    if (defaultProblem !== undefined && defaultProblem !== this.#defaultProblem) {
      this.#options.log.error("the default certificate cannot be used", {
        reason: defaultProblem,
      });
    }
    this.#defaultProblem = defaultProblem;
  }

  #queue(backends: Iterable<string>, lane: Lane): void {
    for (const key of backends) this.#services.add(key, lane);
  }

  /**
   * Nothing is decided before it is known what was asked for, or a proxy that serves well would be
   * emptied. Clusters that do not answer are waited for as well, but not for ever.
   */
  async #waitForSources(signal: AbortSignal): Promise<void> {
    const { clock, timers, log } = this.#options;
    const startedAt = clock.monotonicMs();
    const isRemembered = (this.#options.remembered?.size ?? 0) > 0;
    const patienceMs = isRemembered ? rememberedWithinMs : clustersWithinMs;
    const isOver = (ms: number) => elapsedMs(startedAt, clock.monotonicMs()) >= ms;
    const isKnown = () =>
      this.asked.settled &&
      (this.gateways === undefined || this.gateways.settled) &&
      ((this.#areImportsSettled && this.sources.every((source) => source.settled)) ||
        isOver(patienceMs));
    while (!isKnown()) await timers.sleep(lookAgainMs, signal);
    // Nor may certificates go missing that a proxy shows already, or users that it lets in.
    this.decisions.certificates.wantSecrets(this.decisions.gateways.decide().claims);
    this.decisions.users.wantSecrets();
    const areRead = () => this.secrets.settled && this.passwords.settled;
    while (!areRead() && !isOver(clustersWithinMs)) {
      await timers.sleep(lookAgainMs, signal);
    }
    for (const source of this.sources.filter(({ settled }) => !settled)) {
      const kept = isRemembered
        ? "its last known endpoints stay in use"
        : "its endpoints are missing";
      log.warn(`a cluster does not answer: ${kept} until it answers`, {
        cluster: source.cluster,
      });
    }
  }
}
