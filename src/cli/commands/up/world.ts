// The clusters of `lockstep up` over real sockets: two business clusters with a shop each, an
// access cluster with its Ingress or HTTPRoute, a syncer, and the stock and Lockstep replicas. One business
// cluster has a throttled controller manager of Kubernetes 1.7. `stop` ends everything.
import type { webcrypto } from "node:crypto";
import { Registry } from "prom-client";
import { makeAuthority } from "../../../apiserver/certificate-authority.ts";
import { namespacePolicy } from "../../../decide/syncing/sync-policy.ts";
import type { Environment } from "../../../environment/environment.ts";
import { type Network, NetworkError, type OutgoingRequest } from "../../../environment/network.ts";
import { type KubeClient, parseJson } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { isRecord, listAt } from "../../../kube/kinds/fields.ts";
import { type Cluster, startCluster } from "../../../lab/cluster.ts";
import { defaultProfile } from "../../../lab/cluster-servers.ts";
import { installGatewayApi } from "../../../lab/gateway-definitions.ts";
import type { KubeconfigContext } from "../../../lab/kubeconfig.ts";
import { Ledger } from "../../../lab/kubelet/ledger.ts";
import { serverNames } from "../../../lab/lab.ts";
import { type LoopbackNetworks, takeLoopbackNetworks } from "../../../lab/loopback-networks.ts";
import {
  createFiller,
  createShop,
  createShopGateway,
  createShopIngress,
  shopHost,
  shopReplicas,
} from "../../../lab/shop.ts";
import type { ProfileName } from "../../../lab/versions/profiles.ts";
import { Observer } from "../../../observe/observer.ts";
import { RecentJourneys } from "../../../observe/recent-journeys.ts";
import { ServiceSyncer } from "../../../outputs/slices/service-syncer.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { type IngressSide, startLockstepSide, startStockSide } from "./ingress-side.ts";
import { ReplicaWatch } from "./replica-watch.ts";

/** The objects that lead Lockstep to the shop. Stock, like ingress-nginx, reads Ingresses alone. */
export const routeKinds = ["ingress", "gateway"] as const;
export type RouteKind = (typeof routeKinds)[number];

export interface WorldOptions {
  readonly environment: Environment;
  readonly crypto: webcrypto.Crypto;
  /** A folder for the proxies of this run. */
  readonly folder: string;
  /** False without nginx: only the control plane starts. */
  readonly proxies: boolean;
  readonly followSlices: boolean;
  readonly routes: RouteKind;
  /** 0 for any free port. */
  readonly ports: { readonly stock: number; readonly lockstep: number };
  readonly onStep: (step: string) => void;
  readonly onJourney: (event: JourneyEvent) => void;
  /** Called when all clusters run. */
  readonly onClusters?: () => void;
  readonly signal: AbortSignal;
}

/** The clusters were not ready in time. */
export class UnsettledError extends Error {
  override readonly name = "UnsettledError";
  readonly code = "UNSETTLED";
}

const host = "127.0.0.1";

/** The cluster with the throttled controller manager. */
export const busyCluster = "alpha";

/** Where the traffic enters. */
export const accessCluster = "access";

const busyProfile: ProfileName = "1.7";

const clusterNames = ["alpha", "beta", "access"] as const;

export type ClusterName = (typeof clusterNames)[number];

/** Waits for the limit are logged at this verbosity. */
export const verbosity = { v: 4 } as const;

/** As in the incident report: default limits. */
export const throttledFlags = { ...verbosity };

/**
 * The first Endpoints are written without the limit, so that the demonstration starts with a
 * settled cluster.
 */
const preparationFlags = { "kube-api-qps": 1_000, "kube-api-burst": 1_000 } as const;

/**
 * Services without pods. A 1.7 controller checks every service each 30 s with two requests, so at
 * 20 requests a second more than 300 services keep it busy forever.
 */
export const fillerServiceCount = 330;

/** New pods start before old ones stop, so there are always enough. */
const shop = {
  strategy: { rollingUpdate: { maxSurge: "50%", maxUnavailable: 0 } },
  terminationGracePeriodSeconds: 5,
};

/** Until a syncer that ended is started again. */
const syncAgainMs = 2_000;

const settlePollMs = 100;
const settleLongestMs = 60_000;
const requestDeadlineMs = 10_000;

export class World {
  readonly ledger: Ledger;
  readonly sides: IngressSide[] = [];
  readonly replicas: ReplicaWatch;
  readonly #options: WorldOptions;
  readonly #clusters = new Map<string, Cluster>();
  readonly #stopping = new AbortController();
  readonly #contexts: KubeconfigContext[] = [];
  readonly #observer: { current: Observer | undefined } = { current: undefined };
  readonly #recent = new RecentJourneys();
  readonly #syncMetrics = new Registry();
  #syncing: Promise<void> | undefined;
  #watching: Promise<void> | undefined;
  #notes: readonly string[] = [];
  #pods: LoopbackNetworks | undefined;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.ledger = new Ledger(options.environment);
    this.replicas = new ReplicaWatch({
      ...options.environment,
      replicas: () =>
        this.sides.flatMap(({ name: kind, replicas }) =>
          [...replicas].map(([name, { problem, proxyRun }]) => ({
            name,
            kind,
            ...(problem !== undefined && { problem }),
            ...(proxyRun !== undefined && { proxyRun }),
          })),
        ),
    });
  }

  get observer(): Observer {
    return known(this.#observer.current, "the observer");
  }

  /** Undefined until it has started. */
  get startedObserver(): Observer | undefined {
    return this.#observer.current;
  }

  /** Recent changes, including those in flight. */
  get journeys(): readonly Journey[] {
    return [...this.#recent.all, ...this.observer.journeys.pending()];
  }

  get contexts(): readonly KubeconfigContext[] {
    return this.#contexts;
  }

  /** Of `lockstep sync`. */
  get syncMetrics(): Registry {
    return this.#syncMetrics;
  }

  profileOf(name: ClusterName): ProfileName {
    return name === busyCluster ? busyProfile : defaultProfile;
  }

  /** Of the first Lockstep replica that serves: all of them decide alike. */
  get statusUrl(): string | undefined {
    const lockstep = this.sides.find(({ name }) => name === "lockstep");
    const serving = [...(lockstep?.replicas.values() ?? [])].find(
      ({ problem }) => problem?.() === undefined,
    );
    return serving?.statusUrl;
  }

  /** Problems of its own parts, each a sentence. */
  get notes(): readonly string[] {
    return [...this.replicas.notes(), ...this.#notes];
  }

  cluster(name: ClusterName): Cluster {
    return known(this.#clusters.get(name), `the cluster ${name}`);
  }

  client(name: ClusterName, userAgent = "lockstep-up"): KubeClient {
    const { access: cluster } = this.cluster(name);
    return new HttpKubeClient({ ...this.#options.environment, cluster, userAgent });
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Resolves when everything serves and one controller manager is throttled. */
  async start(): Promise<void> {
    const { onStep, proxies, routes } = this.#options;
    await this.#startClusters();
    this.#options.onClusters?.();
    const objects =
      routes === "gateway" ? "a Gateway, an HTTPRoute and an Ingress for stock" : "an Ingress";
    onStep(
      `created a shop in alpha and beta, ${fillerServiceCount} other services in alpha, ${objects} in access`,
    );
    await Promise.all([
      createShop(this.client("alpha"), shop),
      createFiller(this.client("alpha"), fillerServiceCount),
      createShop(this.client("beta"), shop),
      this.#createRoutes(),
    ]);
    onStep("lockstep sync copies the endpoints of alpha and beta to access");
    this.#startSync();
    await this.#startObserver();
    await this.#settled();
    if (proxies) await this.#startSides();
    this.#watching = this.replicas.run(this.#stopping.signal);
    await this.cluster(busyCluster).controlPlane.restart(throttledFlags);
  }

  async #createRoutes(): Promise<void> {
    const { environment, routes, signal } = this.#options;
    const client = this.client("access");
    const isGateway = routes === "gateway";
    await createShopIngress(client, { onlyStock: isGateway });
    if (!isGateway) return;
    await installGatewayApi(client, { ...environment, signal });
    await createShopGateway(client);
  }

  /** Stops everything in reverse order. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the story is over"));
    await this.#watching;
    await Promise.all(this.sides.map((side) => side.stop()));
    await this.#observer.current?.stop();
    await this.#syncing;
    await Promise.all([...this.#clusters.values()].map((cluster) => cluster.stop()));
    await this.#pods?.release();
  }

  async #startClusters(): Promise<void> {
    const { environment, crypto, onStep, signal } = this.#options;
    const { clock } = environment;
    const authority = await makeAuthority({ clock, crypto, name: "lockstep-up" });
    const keys = await authority.issueServer(serverNames);
    const { ca } = authority;
    this.#pods = await takeLoopbackNetworks(environment, clusterNames.length);
    const { networks } = this.#pods;
    for (const [index, name] of clusterNames.entries()) {
      signal.throwIfAborted();
      const isBusy = name === busyCluster;
      const cluster = await startCluster({
        name,
        environmentOf: () => environment,
        hostOf: () => host,
        ports: [0],
        tls: { ...keys, ca },
        nodes: name === "access" ? 1 : 2,
        ...(isBusy ? { profile: busyProfile, flags: preparationFlags } : {}),
        podNetwork: networks[index] ?? "",
        ledger: this.ledger,
        onReady: ({ url, token }) => {
          onStep(`cluster ${name} at ${url}`);
          this.#contexts.push({ name, server: url, ca, token });
        },
      });
      this.#clusters.set(name, cluster);
    }
  }

  #startSync(): void {
    const of = (cluster: ClusterName) => ({
      cluster,
      client: this.client(cluster, "lockstep-sync"),
    });
    const syncer = () =>
      new ServiceSyncer({
        ...this.#options.environment,
        sources: [of("alpha"), of("beta")],
        target: of("access"),
        // The stock side shows the ordinary path, where copies are as late as the slices.
        policy: namespacePolicy(new Set(["default"]), { truth: { followSlices: true } }),
        writeClient: this.client("access", "lockstep-sync"),
        metrics: this.#syncMetrics,
      });
    this.#syncing = this.#keepSyncing(() => syncer().run(this.#stopping.signal));
  }

  /** A syncer that ends by itself is started again. */
  async #keepSyncing(run: () => Promise<void>): Promise<void> {
    const { environment } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        this.#notes = [];
        await run();
      } catch (error) {
        if (signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        environment.log.error("lockstep sync ended and is started again", { error });
        this.#notes = [`lockstep sync ended and is started again: ${message}`];
        await environment.timers.sleep(syncAgainMs, signal).catch(() => undefined);
      }
    }
  }

  async #startObserver(): Promise<void> {
    const { environment, onJourney, signal } = this.#options;
    const of = (cluster: ClusterName) => ({
      cluster,
      client: this.client(cluster, "lockstep-watch"),
    });
    this.#observer.current = new Observer({
      ...environment,
      clusters: [
        { ...of("alpha"), form: "endpoints" },
        { ...of("beta"), form: "endpointslices" },
      ],
      accessClusters: [of("access")],
      onEvent: (event) => {
        this.#recent.onEvent(event);
        onJourney(event);
      },
    });
    this.#observer.current.start();
    await this.#observer.current.waitForSync(signal);
  }

  /** Waits until all services are published and every pod of the shop is copied. */
  async #settled(): Promise<void> {
    const { environment, signal } = this.#options;
    for (let waitedMs = 0; waitedMs < settleLongestMs; waitedMs += settlePollMs) {
      const [published, slices] = await Promise.all([
        this.#list("alpha", "/api/v1/namespaces/default/endpoints"),
        this.#list("access", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"),
      ]);
      const synced = slices.flatMap((slice) => (isRecord(slice) ? listAt(slice, "endpoints") : []));
      if (published.length > fillerServiceCount && synced.length >= 2 * shopReplicas) return;
      await environment.timers.sleep(settlePollMs, signal);
    }
    throw new UnsettledError("the clusters did not settle: the shop's pods are not all synced");
  }

  async #list(cluster: ClusterName, path: string): Promise<readonly unknown[]> {
    const request = { verb: "list", method: "GET", path, deadlineMs: requestDeadlineMs } as const;
    const list = parseJson(await this.client(cluster).request(request));
    return isRecord(list) ? listAt(list, "items") : [];
  }

  async #startSides(): Promise<void> {
    const { environment, folder, followSlices, ports, onStep, signal } = this.#options;
    const { access } = this.cluster("access");
    const replica = (name: string) => this.observer.replica(name);
    const shared = { environment, folder, access, replica };
    onStep("three stock replicas (a model of ingress-nginx), each with its own nginx");
    this.sides.push(await startStockSide({ ...shared, entryPort: ports.stock }));
    signal.throwIfAborted();
    onStep("three Lockstep replicas, each with its own nginx");
    const clusters = [this.cluster("alpha").access, this.cluster("beta").access];
    const entryPort = ports.lockstep;
    this.sides.push(await startLockstepSide({ ...shared, clusters, followSlices, entryPort }));
    signal.throwIfAborted();
    const addresses = this.sides.flatMap(({ replicas }) =>
      [...replicas.values()].map(({ address }) => address),
    );
    await Promise.all(addresses.map((address) => this.#serves(address)));
  }

  /**
   * Waits until a replica answers for the shop. A stock proxy has no routes before its first sync, and
   * requests before that would count as lost.
   */
  async #serves(address: string): Promise<void> {
    const { environment, signal } = this.#options;
    const shop = { method: "GET", url: `http://${address}/`, headers: { host: shopHost }, signal };
    for (let waitedMs = 0; waitedMs < settleLongestMs; waitedMs += settlePollMs) {
      if ((await answerTo(environment.network, shop)) === 200) return;
      await environment.timers.sleep(settlePollMs, signal);
    }
    throw new UnsettledError(`the proxy at ${address} did not serve the shop`);
  }
}

/** The status of the answer; undefined without one. */
async function answerTo(network: Network, request: OutgoingRequest): Promise<number | undefined> {
  try {
    const { status, body } = await network.request(request);
    for await (const _ of body);
    return status;
  } catch (error) {
    if (error instanceof NetworkError && request.signal?.aborted !== true) return undefined;
    throw error;
  }
}

function known<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} has not been started`);
  return value;
}
