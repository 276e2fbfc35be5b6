// The processes that are measured: one cluster over loopback HTTP and a Lockstep replica with its nginx, each in a
// process of its own, a stock replica with its nginx where it is asked for, and the witnesses.
import type { Environment } from "../src/environment/environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { freePort } from "../src/lab/free-port.ts";
import { LivePlane } from "../src/lab/stock/live/live-plane.ts";
import { StockController } from "../src/lab/stock/stock-controller.ts";
import { BenchChild } from "./bench-child.ts";
import type { BenchClusterAddress, BenchClusterOptions } from "./bench-cluster.ts";
import type { Progress } from "./benchmark.ts";
import type { ChangeMeter } from "./ingress-meter.ts";
import { type WitnessedKinds, Witnesses } from "./ingress-witnesses.ts";
import { childrenOf, cpuMicroseconds, threadMicroseconds } from "./process-cost.ts";
import { ReplicaProcess } from "./replica-process.ts";

export interface IngressWorldOptions extends BenchClusterOptions {
  readonly environment: Environment;
  /** A folder of this world alone. */
  readonly folder: string;
  readonly meter: ChangeMeter;
  readonly withStock: boolean;
  readonly witnessed: WitnessedKinds;
  readonly signal: AbortSignal;
  /** Done before Lockstep starts. */
  readonly prepare?: (client: KubeClient) => Promise<void>;
  /** Lockstep leads and writes the status of objects, with this address. */
  readonly publishAddress?: string;
}

export interface StartedIngress {
  /** To write with. */
  readonly client: KubeClient;
  readonly cluster: BenchClusterAddress;
  readonly replica: ReplicaProcess;
  /** Of Lockstep's nginx, on 127.0.0.1. */
  readonly port: number;
  /** From the start of Lockstep's process until nginx serves by all that is in the cluster. */
  readonly readyMs: number;
  /** How many endpoints the slices show now, where they are witnessed. */
  readonly published: () => number;
  /** Processor time of the parts so far. */
  readonly cpuUse: () => Promise<CpuUse>;
  /** Kills Lockstep, alone or with its nginx, and starts it again with what they have saved. */
  readonly killAndRestart: (killed: Killed) => Promise<RestartedIngress>;
  /** The processes of Lockstep's nginx. */
  readonly nginxPids: () => Promise<readonly number[]>;
}

export type Killed = "Lockstep" | "Lockstep and nginx";

export interface RestartedIngress {
  readonly replica: ReplicaProcess;
  /** From the start of the new process until it serves by all that is in the cluster. */
  readonly readyMs: number;
}

export interface CpuUse {
  /** With the controllers, which are in its process. */
  readonly apiServerMs: number;
  readonly lockstepMs: number;
  /** The workers of Lockstep's nginx. */
  readonly nginxMs: number;
}

const host = "127.0.0.1";
const clusterName = "bench";

/** Each of the two nginx has two: stock's number is fixed. */
const workers = 2;

const readyPollMs = 20;

/** The slices of all services are written within seconds, and stock syncs each 3.3 s. */
const stockDeadlineMs = 60_000;

export class IngressWorld {
  readonly #options: IngressWorldOptions;
  /** Everything that was started, to be ended in the reverse order. */
  readonly #started: (() => Promise<void>)[] = [];

  constructor(options: IngressWorldOptions) {
    this.#options = options;
  }

  /** Resolves when all replicas serve. */
  async start(progress: Progress): Promise<StartedIngress> {
    const { size, withStock } = this.#options;
    progress(`a cluster with ${size.services} services and ${size.pods} pods`);
    const { cluster, pid } = await this.#startCluster();
    const witnesses = await this.#startWitnesses(cluster);
    if (withStock) {
      progress("a stock replica (model) with its nginx");
      await this.#startStock(cluster, witnesses);
    }
    await this.#options.prepare?.(this.#client(cluster, "lockstep-bench"));
    progress("a Lockstep replica with its nginx");
    const startedAt = performance.now();
    const port = await freePort(this.#options.environment, host);
    const replica = await this.#startLockstep(cluster, port);
    const readyMs = performance.now() - startedAt;
    const published = () => witnesses.counts.published;
    const client = this.#client(cluster, "lockstep-bench");
    const cpuUse = () => this.#cpuUse(pid, replica);
    const nginxPids = () => this.#nginxPids();
    let running = replica;
    const killAndRestart = async (killed: Killed): Promise<RestartedIngress> => {
      const pids = killed === "Lockstep" ? [] : await nginxPids();
      for (const one of pids) process.kill(one, "SIGKILL");
      await running.kill();
      const restartedAt = performance.now();
      running = await this.#startLockstep(cluster, port);
      return { replica: running, readyMs: performance.now() - restartedAt };
    };
    return {
      client,
      cluster,
      replica,
      port,
      readyMs,
      published,
      cpuUse,
      killAndRestart,
      nginxPids,
    };
  }

  /** Ends everything. Idempotent. */
  async stop(): Promise<void> {
    for (let end = this.#started.pop(); end !== undefined; end = this.#started.pop()) await end();
  }

  async #startCluster(): Promise<{ cluster: BenchClusterAddress; pid: number }> {
    const { size, controllerQps } = this.#options;
    const options: BenchClusterOptions = { size, controllerQps };
    const { child, ready } = await BenchChild.start<BenchClusterAddress>("bench-cluster", options);
    this.#started.push(() => child.stop());
    return { cluster: ready, pid: child.pid };
  }

  async #startWitnesses(cluster: BenchClusterAddress): Promise<Witnesses> {
    const { environment, meter, witnessed, signal } = this.#options;
    const client = this.#client(cluster, "lockstep-bench-witness");
    const parts = { client, cluster: clusterName, meter, witnessed };
    const witnesses = new Witnesses({ ...environment, ...parts });
    this.#started.push(() => witnesses.stop());
    await witnesses.start(signal);
    return witnesses;
  }

  async #startStock(cluster: BenchClusterAddress, witnesses: Witnesses): Promise<void> {
    const { environment, folder, size, signal } = this.#options;
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
      cluster: clusterName,
      published: "endpointslices",
      plane,
    });
    this.#started.push(() => controller.stop());
    await controller.start();
    // A change of an endpoint that was not there yet would never show.
    const ready = size.pods / 2;
    // The API server's own endpoint is published too.
    const isThere = ({ published, stock } = witnesses.counts) =>
      published >= ready && stock >= ready;
    for (let waitedMs = 0; !isThere(); waitedMs += readyPollMs) {
      if (waitedMs >= stockDeadlineMs) {
        const { published, stock } = witnesses.counts;
        throw new Error(
          `of ${ready} endpoints ${published} are published, ${stock} served by stock`,
        );
      }
      await environment.timers.sleep(readyPollMs, signal);
    }
  }

  async #startLockstep(cluster: BenchClusterAddress, port: number): Promise<ReplicaProcess> {
    const { folder, meter, publishAddress } = this.#options;
    const replica = await ReplicaProcess.start({
      cluster,
      port,
      prefix: prefixIn(folder),
      workers,
      publishAddress,
      onRouted: ({ address, direction }, at) => meter.seen("lockstep", address, direction, at),
    });
    this.#started.push(() => replica.stop());
    return replica;
  }

  async #cpuUse(apiServerPid: number, replica: ReplicaProcess): Promise<CpuUse> {
    const [, ...ofNginx] = await this.#nginxPids();
    const workersMs = ofNginx.map((pid) => threadMicroseconds(pid) / 1000);
    const { cpuMicroseconds: ofReplica } = await replica.usage();
    return {
      apiServerMs: cpuMicroseconds(apiServerPid) / 1000,
      lockstepMs: ofReplica / 1000,
      nginxMs: workersMs.reduce((sum, one) => sum + one, 0),
    };
  }

  /** The master first. */
  async #nginxPids(): Promise<readonly number[]> {
    const { environment, folder } = this.#options;
    const pidFile = await environment.files.read(`${prefixIn(folder)}/nginx.pid`);
    const master = Number(Buffer.from(pidFile ?? "").toString());
    return [master, ...childrenOf(master)];
  }

  #client({ url, token }: BenchClusterAddress, userAgent: string): KubeClient {
    const cluster = fixedAccess({ name: clusterName, server: url, token });
    return new HttpKubeClient({ ...this.#options.environment, cluster, userAgent });
  }
}

/** Of Lockstep's nginx: the name by which a later run finds the nginx of one that was killed. */
function prefixIn(folder: string): string {
  return `${folder}/lockstep-1`;
}
