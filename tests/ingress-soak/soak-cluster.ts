// One small cluster in virtual time: an API server that crashes and comes back on its storage,
// nodes with real kubelets whose pods are real listeners, the controllers that publish endpoints
// and mark lost nodes, and an operator.

import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { Klog } from "../../src/components/klog.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { runControllerManager } from "../../src/lab/controllers/kube-controllers.ts";
import { Kubelet } from "../../src/lab/kubelet/kubelet.ts";
import type { Ledger } from "../../src/lab/kubelet/ledger.ts";
import { PodAddresses } from "../../src/lab/kubelet/pod-addresses.ts";
import { PodLogBook } from "../../src/lab/kubelet/pod-log-book.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import { TestServer } from "../reflector/reflector-servers.ts";
import { type PodRecord, PodRecords } from "./pod-records.ts";

export interface SoakClusterOptions {
  readonly simulation: Simulation;
  readonly name: string;
  readonly nodes: number;
  /** The first two octets of the pods' addresses. */
  readonly podNetwork: string;
  /** With 0 the next pod gets the address of the last one. */
  readonly reuseAddressAfterMs: number;
  readonly ledger: Ledger;
}

/** How a program takes the request to end. */
export type OnTerm = "exit" | "drain" | "ignore";

export const podPort = 8080;
export const servicePort = 80;

/** The clients of the API server; faults select them by these names. */
export const clientNames = ["operator", "kubelet", "controllers", "lockstep"] as const;

const namespaced = "/api/v1/namespaces/default";

/** Two seconds is what a kubelet gives at least. */
const graceSeconds = 5;

const requestDeadlineMs = 5_000;

/** As a kubelet restarts a container that failed once. */
const restartAfterMs = 10_000;

export class SoakCluster {
  readonly name: string;
  readonly server: TestServer;
  readonly records: PodRecords;
  readonly kubelets = new Map<string, Kubelet>();
  readonly #options: SoakClusterOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #addresses: PodAddresses;
  #pods = 0;

  static async start(options: SoakClusterOptions): Promise<SoakCluster> {
    const cluster = new SoakCluster(options);
    await cluster.server.start();
    cluster.#startNodes();
    cluster.#running.push(cluster.#control());
    return cluster;
  }

  private constructor(options: SoakClusterOptions) {
    const { simulation, name, podNetwork, reuseAddressAfterMs } = options;
    this.#options = options;
    this.name = name;
    this.#addresses = new PodAddresses({
      clock: simulation.host(this.machine).clock,
      network: podNetwork,
      reuseAfterMs: reuseAddressAfterMs,
    });
    const storage = new MemoryStorage(simulation.host(this.machine));
    this.records = new PodRecords({ cluster: name, storage, now: () => simulation.now() });
    this.server = new TestServer({
      simulation,
      storage,
      name: this.machine,
      clientNames,
      expiredWatchAnswer: "event",
    });
  }

  /** Of the API server. */
  get machine(): string {
    return `api-${this.#options.name}`;
  }

  get nodes(): readonly string[] {
    return [...this.kubelets.keys()];
  }

  async service(name: string): Promise<void> {
    const ports = [{ port: servicePort, targetPort: podPort }];
    await this.create(`${namespaced}/services`, {
      metadata: { name },
      spec: { selector: { app: name }, ports },
    });
  }

  async ingress(name: string): Promise<void> {
    const backend = { service: { name, port: { number: servicePort } } };
    const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
    await this.create("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
      metadata: { name },
      spec: { ingressClassName: "lockstep", rules: [{ host: `${name}.example`, http }] },
    });
  }

  async pod(service: string, node: string, onTerm: OnTerm): Promise<void> {
    this.#pods += 1;
    await this.create(`${namespaced}/pods`, {
      metadata: {
        name: `${service}-${this.#pods}`,
        labels: { app: service },
        annotations: { "lab.lockstep.dev/on-term": onTerm },
      },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: graceSeconds,
        containers: [{ name: "c", image: "c", ports: [{ containerPort: podPort }] }],
      },
    });
  }

  async deletePod({ name }: PodRecord): Promise<void> {
    const path = `${namespaced}/pods/${name}`;
    const request = { verb: "delete", method: "DELETE", path } as const;
    await this.#client().request({ ...request, deadlineMs: requestDeadlineMs });
  }

  /** A wrong writer marks the pod as not ready. */
  async slander({ name }: PodRecord): Promise<void> {
    const conditions = ["Ready", "ContainersReady"].map((type) => ({ type, status: "False" }));
    await this.#client().request({
      verb: "patch",
      method: "PATCH",
      path: `${namespaced}/pods/${name}/status`,
      contentType: "application/strategic-merge-patch+json",
      body: { status: { conditions } },
      deadlineMs: requestDeadlineMs,
    });
  }

  /** The address allocator treats these as free, although their pods still have them in the API. */
  freeAddresses(pods: readonly PodRecord[]): void {
    for (const { address } of pods) if (address !== "") this.#addresses.release(address);
  }

  async create(path: string, body: object): Promise<void> {
    const request = { verb: "create", method: "POST", path, body } as const;
    await this.#client().request({ ...request, deadlineMs: requestDeadlineMs });
  }

  /** Everything that was not ended by a fault. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error(`the cluster ${this.name} is stopping`));
    await Promise.all(this.#running);
    await this.server.goDown("stop");
  }

  #startNodes(): void {
    const { simulation, name, nodes, ledger } = this.#options;
    const addresses = this.#addresses;
    const logs = new PodLogBook(simulation.host(this.machine));
    for (let number = 1; number <= nodes; number += 1) {
      const node = `${name}-${number}`;
      const environment = simulation.host(node);
      const client = this.server.client(node, "kubelet");
      const parts = { client, cluster: name, node, addresses, ledger, logs };
      const kubelet = new Kubelet({ ...environment, ...parts });
      this.kubelets.set(node, kubelet);
      // The kubelet of a lost machine never ends, so it is not awaited.
      void kubelet.run(this.#stop.signal);
    }
  }

  /** A process that fails, as a controller does without its API server, is started again. */
  async #control(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#runControllers(signal);
      } catch (error) {
        const { timers, log } = this.#options.simulation.host(this.#controllers);
        log.info("the controllers are started again", { error });
        await timers.sleep(restartAfterMs);
      }
    }
  }

  async #runControllers(signal: AbortSignal): Promise<void> {
    const { simulation, name } = this.#options;
    const environment = simulation.host(this.#controllers);
    await runControllerManager(
      {
        environment,
        cluster: name,
        server: `http://${this.machine}`,
        clientFor: () => this.server.client(this.#controllers, "controllers"),
        profile: "1.33",
        flags: { "leader-elect": false },
        controllers: ["endpointslice-controller", "node-lifecycle-controller"],
        klog: new Klog(environment),
      },
      signal,
    );
  }

  /** Their machine. */
  get #controllers(): string {
    return `controllers-${this.#options.name}`;
  }

  #client(): HttpKubeClient {
    const { simulation, name } = this.#options;
    const cluster = fixedAccess({
      name,
      server: `http://${this.machine}`,
      token: "operator-token",
    });
    return new HttpKubeClient({ ...simulation.host("operator"), cluster, userAgent: "operator" });
  }
}
