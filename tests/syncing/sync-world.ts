// Two business clusters and an access cluster in virtual time, each one API server without
// controllers, so that what is published is what the test writes; and a syncer between them.
import { Registry } from "prom-client";
import { ApiServer } from "../../src/apiserver/api-server.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { namespacePolicy } from "../../src/decide/syncing/sync-policy.ts";
import {
  type KubeClient,
  type KubeRequest,
  parseJson,
  StatusError,
} from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { type EndpointSlice, endpointSliceKind } from "../../src/kube/kinds/endpoint-slice.ts";
import { isRecord, listAt, type RawRecord } from "../../src/kube/kinds/fields.ts";
import {
  ServiceSyncer,
  type ServiceSyncerOptions,
  type SyncedReport,
} from "../../src/outputs/slices/service-syncer.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";

export const slicesPath = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
export const servicesPath = "/api/v1/namespaces/shop/services";

export const clusters = ["lab-1", "lab-2", "edge"] as const;
export type ClusterName = (typeof clusters)[number];

export interface RunningSyncer {
  readonly reports: SyncedReport[];
  /** `POST /api/v1/…` for each write that was sent, in order. */
  readonly writes: string[];
  readonly registry: Registry;
  stop(): Promise<void>;
}

export class SyncWorld {
  readonly simulation: Simulation;
  readonly servers = new Map<ClusterName, ApiServer>();
  readonly #running = new Set<RunningSyncer>();

  constructor(simulation: Simulation) {
    this.simulation = simulation;
  }

  server(cluster: ClusterName): ApiServer {
    const server = this.servers.get(cluster);
    if (server === undefined) throw new Error(`there is no ${cluster}`);
    return server;
  }

  async start(): Promise<void> {
    for (const cluster of clusters) {
      const environment = this.simulation.host(cluster);
      const storage = new MemoryStorage(environment);
      const tokens = new Map([["token", { name: "admin", groups: ["system:masters"] }]]);
      const options = { name: cluster, gitVersion: "v1.33.1", authentication: { tokens } };
      const server = new ApiServer({ ...environment, ...options, storage });
      await server.start({ host: cluster, port: 6443 });
      this.servers.set(cluster, server);
      const body = { metadata: { name: "shop" } };
      await this.call(cluster, "POST", "/api/v1/namespaces", body);
    }
  }

  async stop(): Promise<void> {
    for (const syncer of this.#running) await syncer.stop();
    for (const server of this.servers.values()) await server.stop();
  }

  /** A client of a cluster on a machine of its own. */
  client(cluster: ClusterName, host = "lockstep"): HttpKubeClient {
    const access = fixedAccess({
      name: cluster,
      server: `https://${cluster}:6443`,
      token: "token",
    });
    const environment = this.simulation.host(host);
    return new HttpKubeClient({ ...environment, cluster: access, userAgent: host });
  }

  /** A request by a user of a cluster. */
  async call(
    cluster: ClusterName,
    method: KubeRequest["method"],
    path: string,
    body?: unknown,
  ): Promise<unknown> {
    const client = this.client(cluster, "person");
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = { verb: "get", method, path, contentType } as const;
    return parseJson(await client.request(body === undefined ? request : { ...request, body }));
  }

  /** A service with a selector, and one slice of its controller with these ready addresses. */
  async publish(cluster: ClusterName, name: string, addresses: readonly string[]): Promise<void> {
    await this.call(cluster, "POST", servicesPath, {
      metadata: { name },
      spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    });
    await this.call(cluster, "POST", slicesPath, {
      metadata: {
        name: `${name}-x1`,
        labels: {
          "kubernetes.io/service-name": name,
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: addresses.map(ready),
    });
  }

  async republish(cluster: ClusterName, name: string, addresses: readonly string[]): Promise<void> {
    const body = { endpoints: addresses.map(ready) };
    await this.call(cluster, "PATCH", `${slicesPath}/${name}-x1`, body);
  }

  async slices(cluster: ClusterName = "edge"): Promise<readonly EndpointSlice[]> {
    return (await this.#list(cluster, slicesPath)).map((raw) => endpointSliceKind.project(raw));
  }

  /** By slice the addresses it holds in the access cluster, and the names of the Services there. */
  async copies(): Promise<{ slices: Record<string, readonly string[]>; services: string[] }> {
    const slices = (await this.slices()).map((slice): [string, readonly string[]] => [
      slice.metadata.name,
      slice.endpoints.flatMap(({ addresses }) => addresses),
    ]);
    const services = (await this.#list("edge", servicesPath)).map((raw) => nameOf(raw));
    return { slices: Object.fromEntries(slices), services };
  }

  startSyncer(options: Partial<ServiceSyncerOptions> = {}): RunningSyncer {
    const reports: SyncedReport[] = [];
    const writes: string[] = [];
    const registry = new Registry();
    const syncer = new ServiceSyncer({
      ...this.simulation.host("lockstep"),
      sources: [this.cluster("lab-1"), this.cluster("lab-2")],
      target: this.cluster("edge"),
      policy: namespacePolicy(new Set(["shop"])),
      metrics: registry,
      onSynced: (report) => reports.push(report),
      ...options,
      writeClient: recording(options.writeClient ?? this.client("edge"), writes),
    });
    const abort = new AbortController();
    const done = syncer.run(abort.signal);
    const stop = async () => {
      abort.abort(new Error("stopped by the test"));
      await done;
    };
    const running = { reports, writes, registry, stop };
    this.#running.add(running);
    return running;
  }

  cluster(cluster: ClusterName): { cluster: string; client: KubeClient } {
    return { cluster, client: this.client(cluster) };
  }

  async #list(cluster: ClusterName, path: string): Promise<readonly RawRecord[]> {
    const list = await this.call(cluster, "GET", path);
    return isRecord(list) ? listAt(list, "items").filter(isRecord) : [];
  }
}

export function inSyncWorld(run: (world: SyncWorld) => Promise<void>, seed = 1): Promise<void> {
  return simulate({ seed }, async (simulation) => {
    const world = new SyncWorld(simulation);
    await world.start();
    await run(world);
    await world.stop();
  });
}

/** A client of a server that knows no EndpointSlices, as before Kubernetes 1.17. */
export function withoutSlices(client: KubeClient): KubeClient {
  const refuse = (request: KubeRequest): void => {
    if (!request.path.startsWith("/apis/discovery.k8s.io")) return;
    throw new StatusError({ code: 404, reason: "NotFound", message: "no such group" });
  };
  return {
    request: async (request) => {
      refuse(request);
      return await client.request(request);
    },
    stream: async (request) => {
      refuse(request);
      return await client.stream(request);
    },
  };
}

function recording(client: KubeClient, writes: string[]): KubeClient {
  return {
    request: async (request) => {
      if (request.method !== "GET") writes.push(`${request.method} ${request.path}`);
      return await client.request(request);
    },
    stream: (request) => client.stream(request),
  };
}

function ready(address: string): object {
  return { addresses: [address], conditions: { ready: true } };
}

function nameOf(raw: RawRecord): string {
  const metadata = raw["metadata"];
  return isRecord(metadata) ? String(metadata["name"]) : "";
}
