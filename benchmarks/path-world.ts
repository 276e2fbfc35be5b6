// What is measured: one healthy cluster over loopback HTTP, a Lockstep replica and a stock replica
// with a real nginx each, and the witnesses. The endpoints are published by the lab's controllers,
// whose limits are raised so that the control plane is not what is measured.

import type { Environment } from "../src/environment/environment.ts";
import { IngressReplica } from "../src/ingress/ingress-replica.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { type Cluster, startCluster } from "../src/lab/cluster.ts";
import { freePort } from "../src/lab/free-port.ts";
import { Ledger } from "../src/lab/kubelet/ledger.ts";
import { LivePlane } from "../src/lab/stock/live/live-plane.ts";
import { StockController } from "../src/lab/stock/stock-controller.ts";
import type { ChangeMeter } from "./path-meter.ts";
import { createObjects, ingressClass } from "./path-objects.ts";
import { Witnesses } from "./path-witnesses.ts";

export interface PathWorldOptions {
  readonly environment: Environment;
  /** A folder of this run alone. */
  readonly folder: string;
  readonly meter: ChangeMeter;
  readonly signal: AbortSignal;
}

const host = "127.0.0.1";

/** Each of the two nginx has two: stock's number is fixed. */
const workers = 2;

/** Never reached: at 50 changes a second a controller makes some 50 requests a second. */
const unlimited = { "kube-api-qps": 10_000, "kube-api-burst": 10_000 } as const;

const readyPollMs = 20;

/** nginx has its routes within a second or two; stock pauses for one at its first sync. */
const readyDeadlineMs = 20_000;

export class PathWorld {
  readonly #options: PathWorldOptions;
  /** What has been started, to be ended in the reverse order. */
  readonly #started: (() => Promise<void>)[] = [];

  constructor(options: PathWorldOptions) {
    this.#options = options;
  }

  /** Resolves when both replicas serve; gives a client to write with. No pod is ready yet. */
  async start(progress: (step: string) => void): Promise<KubeClient> {
    const { environment } = this.#options;
    progress("a cluster, its services and pods");
    const cluster = await this.#startCluster();
    const client = this.#client(cluster, "lockstep-bench");
    await createObjects(client, environment.clock);
    const witnesses = await this.#startWitnesses(cluster);
    progress("a stock replica and a Lockstep replica, each with its own nginx");
    await this.#startStock(cluster, witnesses);
    await this.#startLockstep(cluster, witnesses);
    return client;
  }

  /** Ends everything. Idempotent. */
  async stop(): Promise<void> {
    for (let end = this.#started.pop(); end !== undefined; end = this.#started.pop()) await end();
  }

  async #startCluster(): Promise<Cluster> {
    const { environment } = this.#options;
    const cluster = await startCluster({
      name: "bench",
      environmentOf: () => environment,
      hostOf: () => host,
      ports: [0],
      nodes: 0,
      flags: unlimited,
      podNetwork: "10.64",
      ledger: new Ledger(environment),
    });
    this.#started.push(() => cluster.stop());
    return cluster;
  }

  async #startWitnesses(cluster: Cluster): Promise<Witnesses> {
    const { environment, meter, signal } = this.#options;
    const client = this.#client(cluster, "lockstep-bench-witness");
    const witnesses = new Witnesses({ ...environment, client, cluster: cluster.name, meter });
    this.#started.push(() => witnesses.stop());
    await witnesses.start(signal);
    return witnesses;
  }

  async #startStock(cluster: Cluster, witnesses: Witnesses): Promise<void> {
    const { environment, folder } = this.#options;
    const plane = new LivePlane({
      ...environment,
      host,
      port: 0,
      prefix: `${folder}/stock-1`,
      onRouted: (backends) => witnesses.stockRouted(backends),
    });
    const controller = new StockController({
      ...environment,
      client: this.#client(cluster, "stock"),
      cluster: cluster.name,
      published: "endpointslices",
      plane,
    });
    this.#started.push(() => controller.stop());
    await controller.start();
    await this.#until(() => controller.counts.pushes > 0, "stock");
  }

  async #startLockstep({ access }: Cluster, witnesses: Witnesses): Promise<void> {
    const { environment, folder } = this.#options;
    const replica = new IngressReplica({
      environment,
      clusters: [access],
      access,
      className: ingressClass,
      policy: { followSlices: false },
      listen: [{ address: host, port: await freePort(this.#options.environment, host) }],
      // The name by which a later run finds the nginx of one that was killed.
      prefix: `${folder}/lockstep-1`,
      workers,
      status: { host, port: 0 },
      onRouted: (entry) => witnesses.lockstepRouted(entry),
    });
    this.#started.push(() => replica.stop({ keepNginx: false }));
    await replica.start();
    await this.#until(() => replica.notReadyBecause === undefined, "Lockstep");
  }

  #client({ access: cluster }: Cluster, userAgent: string): KubeClient {
    return new HttpKubeClient({ ...this.#options.environment, cluster, userAgent });
  }

  async #until(isReady: () => boolean, who: string): Promise<void> {
    const { environment, signal } = this.#options;
    for (let waitedMs = 0; !isReady(); waitedMs += readyPollMs) {
      if (waitedMs >= readyDeadlineMs) throw new Error(`${who} does not serve`);
      await environment.timers.sleep(readyPollMs, signal);
    }
  }
}
