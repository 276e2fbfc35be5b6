// Business clusters and an access cluster, each an API server with its control plane in a process of its
// own, `lockstep sync` as a user starts it, and a watch of the copies that is independent of it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { sourceClusterOf } from "../src/decide/syncing/copy-names.ts";
import type { Environment } from "../src/environment/environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { type EndpointSlice, endpointSliceKind } from "../src/kube/kinds/endpoint-slice.ts";
import { Reflector } from "../src/kube/reflector/reflector.ts";
import type { Change } from "../src/kube/store/store-change.ts";
import { freePort } from "../src/lab/free-port.ts";
import { kubeconfig } from "../src/lab/kubeconfig.ts";
import { BenchChild } from "./bench-child.ts";
import type { BenchClusterAddress, BenchClusterOptions } from "./bench-cluster.ts";
import type { ChangeMeter } from "./ingress-meter.ts";
import { type ClusterSize, node } from "./ingress-objects.ts";
import { cpuMicroseconds, peakMegabytes, residentMegabytes } from "./process-cost.ts";

export interface SyncWorldOptions {
  readonly environment: Environment;
  /** Of this world alone. */
  readonly folder: string;
  readonly meter: ChangeMeter;
  /** Of each business cluster. */
  readonly size: ClusterSize;
  readonly clusters: number;
  readonly signal: AbortSignal;
}

export interface BusinessCluster {
  readonly size: ClusterSize;
  /** To write with. */
  readonly client: KubeClient;
}

/** Sums over all kinds of objects, from the start of the process. */
export interface SyncCounts {
  readonly writes: number;
  readonly noopWrites: number;
}

export interface SyncCost {
  readonly residentMb: number;
  readonly peakMb: number;
  readonly cpuMs: number;
}

const host = "127.0.0.1";
const target = "edge";

/** Never reached, so that the source's control plane is not what is measured. */
const unlimitedQps = 10_000;

const pollMs = 20;
const requestDeadlineMs = 60_000;

/** The first full sync of the largest run takes minutes. */
const longestWaitMs = 900_000;

/** It has no pods, so another zone of it causes a resync and changes nothing. */
const spareNode = "spare";

export class SyncWorld {
  readonly sources: BusinessCluster[] = [];
  readonly #options: SyncWorldOptions;
  readonly #started: (() => Promise<void>)[] = [];
  readonly #copies = new Map<string, EndpointSlice>();
  #copied = 0;
  #sync: ChildProcess | undefined;
  #statusUrl = "";

  constructor(options: SyncWorldOptions) {
    this.#options = options;
  }

  /** Resolves when the clusters are there; nothing is synced yet. */
  async start(): Promise<void> {
    const { environment, clusters, size, folder } = this.#options;
    const addresses = new Map<string, BenchClusterAddress>();
    for (let number = 0; number < clusters; number += 1) {
      const own = { ...size, number };
      const address = await this.#startCluster(own);
      addresses.set(`business-${number + 1}`, address);
      this.sources.push({ size: own, client: this.#client(address, "lockstep-bench") });
    }
    const access = await this.#startCluster({ services: 0, pods: 0 });
    await this.#watchCopies(access);
    const statusPort = await freePort(environment, host);
    this.#statusUrl = `http://${host}:${statusPort}`;
    const contexts = [...addresses, [target, access] as const].map(([name, { url, token }]) => ({
      name,
      server: url,
      token,
    }));
    await environment.files.write(`${folder}/kubeconfig`, kubeconfig(contexts));
    const config = {
      kubeconfig: `${folder}/kubeconfig`,
      sources: [...addresses.keys()],
      target,
      namespaces: "all",
      createNamespaces: true,
      statusPort,
    };
    await environment.files.write(`${folder}/sync.yaml`, JSON.stringify(config));
  }

  /** How many endpoints the copies have. */
  get copied(): number {
    return this.#copied;
  }

  /** As a user starts it; its lines of each synced service go nowhere. */
  startSync(): void {
    const args = ["bin/lockstep.mjs", "sync", "--config", `${this.#options.folder}/sync.yaml`];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "ignore"] });
    this.#sync = child;
    this.#started.push(() => this.killSync(child));
  }

  /** As a node that fails does it. */
  async killSync(child = this.#sync): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Of the process that runs now, from its start. */
  get cost(): SyncCost {
    const pid = this.#sync?.pid ?? 0;
    return {
      residentMb: residentMegabytes(pid),
      peakMb: peakMegabytes(pid),
      cpuMs: cpuMicroseconds(pid) / 1000,
    };
  }

  async counts(): Promise<SyncCounts> {
    const text = await this.#ask("/metrics");
    const sum = (name: string): number =>
      [...text.matchAll(new RegExp(`^${name}\\{[^}]*\\} (\\d+)`, "gm"))].reduce(
        (total, [, value]) => total + Number(value),
        0,
      );
    return {
      writes: sum("lockstep_sync_writes_total"),
      noopWrites: sum("lockstep_sync_noop_writes_total"),
    };
  }

  /** Services that wait for their turn. */
  async pending(): Promise<number> {
    const state: { readonly pending: number } = JSON.parse(await this.#ask("/state"));
    return state.pending;
  }

  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const { environment, signal } = this.#options;
    const startedAt = performance.now();
    while (!(await holds())) {
      if (performance.now() - startedAt > longestWaitMs) throw new Error(`in vain until ${what}`);
      if (this.#sync !== undefined && this.#sync.exitCode !== null) {
        throw new Error(`lockstep sync has ended with code ${this.#sync.exitCode}`);
      }
      await environment.timers.sleep(pollMs, signal);
    }
  }

  /** Makes the syncer look at every service of every cluster, and find nothing to write. */
  async causeResync(zone: number): Promise<void> {
    const [first] = this.sources;
    if (first !== undefined) await setZone(first, spareNode, zone);
  }

  /** Makes it write every slice of every cluster: all pods are in another zone now. */
  async causeRewrite(zone: number): Promise<void> {
    await Promise.all(this.sources.map((source) => setZone(source, node, zone)));
  }

  /** Ends everything. Idempotent. */
  async stop(): Promise<void> {
    for (let end = this.#started.pop(); end !== undefined; end = this.#started.pop()) await end();
  }

  async #startCluster(size: ClusterSize): Promise<BenchClusterAddress> {
    const options: BenchClusterOptions = { size, controllerQps: unlimitedQps };
    const { child, ready } = await BenchChild.start<BenchClusterAddress>("bench-cluster", options);
    this.#started.push(() => child.stop());
    const client = this.#client(ready, "lockstep-bench");
    const body = { metadata: { name: spareNode } };
    const path = "/api/v1/nodes";
    await client.request({
      verb: "create",
      method: "POST",
      path,
      body,
      deadlineMs: requestDeadlineMs,
    });
    return ready;
  }

  async #watchCopies(access: BenchClusterAddress): Promise<void> {
    const { environment, signal } = this.#options;
    const reflector = new Reflector({
      ...environment,
      client: this.#client(access, "lockstep-bench-witness"),
      cluster: target,
      kind: endpointSliceKind,
      indexes: {},
      handlers: [(change) => this.#copyChanged(change)],
    });
    this.#started.push(() => reflector.stop());
    reflector.start();
    await reflector.waitForSync(signal);
  }

  #copyChanged({ type, object }: Change<EndpointSlice>): void {
    const { meter, environment } = this.#options;
    const at = environment.clock.monotonicMs();
    if (sourceClusterOf(object) === undefined) return;
    const { name, namespace } = object.metadata;
    const key = `${namespace}/${name}`;
    const previous = this.#copies.get(key)?.endpoints ?? [];
    const current = type === "deleted" ? [] : object.endpoints;
    this.#copies.set(key, object);
    this.#copied += current.length - previous.length;
    const [before, after] = [readyIn(previous), readyIn(current)];
    for (const one of after) if (!before.has(one)) meter.seen("synced", one, "join", at);
    for (const one of before) if (!after.has(one)) meter.seen("synced", one, "leave", at);
  }

  async #ask(path: string): Promise<string> {
    const { environment, signal } = this.#options;
    const request = { method: "GET", url: `${this.#statusUrl}${path}`, signal } as const;
    const { body } = await environment.network.request({ ...request, headers: {} });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  }

  #client({ url, token }: BenchClusterAddress, userAgent: string): KubeClient {
    const cluster = fixedAccess({ name: "bench", server: url, token });
    return new HttpKubeClient({ ...this.#options.environment, cluster, userAgent });
  }
}

async function setZone({ client }: BusinessCluster, name: string, zone: number): Promise<void> {
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: `/api/v1/nodes/${name}`,
    contentType: "application/merge-patch+json",
    body: { metadata: { labels: { "topology.kubernetes.io/zone": `zone-${zone}` } } },
    deadlineMs: requestDeadlineMs,
  });
}

function readyIn(endpoints: EndpointSlice["endpoints"]): ReadonlySet<string> {
  const ready = endpoints.filter((endpoint) => endpoint.ready !== false);
  return new Set(ready.flatMap(({ addresses }) => addresses));
}
