// One replica of the ingress, put together: the loop that decides, the pusher that tells nginx, the
// supervisor that sees to it that there is one, and the listener that answers questions. Several can
// live in one process, each with its own prefix and ports.
import { Registry } from "prom-client";
import type { TruthPolicy } from "../decide/truth/truth.ts";
import type { Environment } from "../environment/environment.ts";
import type { Listener } from "../environment/network.ts";
import { DirectKubeClient } from "../kube/client/direct-client.ts";
import type { ClusterAccess } from "../kube/credentials/credentials.ts";
import { findProxyDirectory, type ListenAddress } from "../outputs/nginx/nginx-prefix.ts";
import { NginxPusher } from "../outputs/nginx/nginx-pusher.ts";
import { NginxSupervisor } from "../outputs/nginx/nginx-supervisor.ts";
import { DecisionLog } from "./decision-log.ts";
import type { TruthChange } from "./decisions.ts";
import { type IngressCluster, IngressLoop } from "./ingress-loop.ts";
import { ingressMetrics } from "./ingress-metrics.ts";
import { Leadership, type LeadershipSettings } from "./leadership.ts";
import { type RoutedEntry, RoutedJournal } from "./routed-journal.ts";
import { stateReport } from "./state-report.ts";
import { startStatusServer } from "./status-server.ts";

export interface IngressReplicaOptions {
  readonly environment: Environment;
  /** Where pods run. */
  readonly clusters: readonly ClusterAccess[];
  /** Where the Ingresses are. */
  readonly access: ClusterAccess;
  readonly className: string;
  readonly policy: TruthPolicy;
  /** Where requests come in. */
  readonly listen: readonly ListenAddress[];
  /** nginx's own folder; absolute. */
  readonly prefix: string;
  readonly workers: number;
  readonly status: { readonly host: string; readonly port: number };
  /** Writes no status and watches no lock when absent. */
  readonly leadership?: LeadershipSettings;
  /** Called as the proxy begins to route by each change. */
  readonly onRouted?: (entry: RoutedEntry) => void;
  readonly metrics?: Registry;
}

const userAgent = "lockstep-ingress";

export class IngressReplica {
  readonly loop: IngressLoop;
  readonly journal: RoutedJournal;
  readonly overrides: DecisionLog;
  readonly metrics: Registry;
  readonly #leadership: Leadership;
  readonly #options: IngressReplicaOptions;
  readonly #stopping = new AbortController();
  readonly #superseded = new AbortController();
  readonly #clients = new Map<ClusterAccess, IngressCluster>();
  #pusher: NginxPusher | undefined;
  #supervisor: NginxSupervisor | undefined;
  #status: Listener | undefined;
  #running: Promise<void> | undefined;
  #isLoaded = false;
  /** Whether nginx serves for us; one that we never got hold of is not ours to end. */
  #hasNginx = false;

  constructor(options: IngressReplicaOptions) {
    this.#options = options;
    const { environment } = options;
    this.metrics = options.metrics ?? new Registry();
    const { routed } = ingressMetrics(this.metrics);
    this.journal = new RoutedJournal({
      ...environment,
      onRouted: (entry) => {
        routed.observe(entry.lagMs / 1000);
        options.onRouted?.(entry);
      },
    });
    this.overrides = new DecisionLog(environment);
    this.loop = new IngressLoop({
      ...environment,
      clusters: options.clusters.map((access) => this.#clusterOf(access)),
      access: this.#clusterOf(options.access),
      className: options.className,
      policy: options.policy,
      output: { apply: (decision, changes) => this.#pusher?.apply(decision, changes) },
      proxy: { report: async (since, signal) => this.#pusher?.report(since, signal) },
      onTruth: (change) => this.#note(change),
      metrics: this.metrics,
    });
    this.#leadership = new Leadership({
      ...environment,
      ...(options.leadership ?? { watchedLocks: [] }),
      cluster: options.access,
      asked: this.loop.asked,
      className: options.className,
      metrics: this.metrics,
    });
  }

  /** Where `/state` and the others are; undefined before the start. */
  get statusAddress(): Listener | undefined {
    return this.#status;
  }

  /** Aborts when another Lockstep has taken charge of the nginx, and this one is of no more use. */
  get superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  /** Undefined when nginx serves by our decision; else what is missing. */
  get notReadyBecause(): string | undefined {
    if (!this.loop.isReady) return "the clusters have not been listed yet";
    if (this.#supervisor?.serving === undefined) return "nginx does not serve";
    return this.#isLoaded ? undefined : "nginx has not been told the routes yet";
  }

  /** Resolves when nginx serves; it is told the routes as soon as they are known. */
  async start(): Promise<void> {
    const { environment, listen, prefix, workers, status } = this.#options;
    const proxyDirectory = await findProxyDirectory(environment.files);
    const shared = { ...environment, metrics: this.metrics };
    this.#supervisor = new NginxSupervisor({ ...shared, prefix, proxyDirectory, listen, workers });
    this.#pusher = new NginxPusher({
      ...shared,
      socketPath: this.#supervisor.socketPath,
      onRouted: (service, version, at) => this.journal.routed(service, version, at),
      onLoaded: () => {
        this.#isLoaded = true;
      },
      onSuperseded: () => this.#superseded.abort(new Error("another Lockstep is in charge")),
    });
    this.#status = await startStatusServer({
      ...status,
      network: environment.network,
      metrics: this.metrics,
      journal: this.journal,
      state: () => this.#report(),
      notReadyBecause: () => this.notReadyBecause,
    });
    await this.#supervisor.start();
    this.#hasNginx = true;
    this.#pusher.start();
    this.#running = this.#run(this.#stopping.signal);
  }

  /** Stops deciding; nginx finishes its requests and ends, or goes on by itself. Idempotent. */
  async stop(options: { readonly keepNginx: boolean }): Promise<void> {
    this.#stopping.abort(new Error("the ingress is stopping"));
    await this.#running;
    await this.#pusher?.stop();
    if (options.keepNginx || !this.#hasNginx) await this.#supervisor?.stop();
    else await this.#supervisor?.stopNginx();
    await this.#status?.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.loop.run(signal), this.#leadership.run(signal)]);
  }

  #note(change: TruthChange): void {
    this.overrides.note(change);
    this.journal.decided(change);
  }

  #report(): object {
    const { clock } = this.#options.environment;
    const { loop, overrides } = this;
    const proxy = () => this.#supervisor?.serving;
    const leadership = () => this.#leadership.report();
    return stateReport({ clock, loop, overrides, proxy, leadership });
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
    });
    const made = { name: cluster.name, client };
    this.#clients.set(cluster, made);
    return made;
  }
}
