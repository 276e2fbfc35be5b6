// A small cluster in a simulated world: three API servers over one storage, ten nodes that renew
// their Leases, six replicas that each follow all Endpoints with a reflector; and a controller that
// keeps writing Endpoints at the default limits of client-go. Idle or busy, it is the same cluster.
import { Registry } from "prom-client";
import { ApiServer } from "../src/apiserver/api-server.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import type { Environment } from "../src/environment/environment.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { type Endpoints, endpointsKind } from "../src/kube/kinds/endpoints.ts";
import { Reflector } from "../src/kube/reflector/reflector.ts";
import type { Simulation } from "../src/simulation/simulation.ts";

export interface SimulatedCluster {
  readonly servers: readonly string[];
  readonly replicas: readonly string[];
  readonly reflectors: readonly Reflector<Endpoints>[];
  clientOf(host: Environment, serverIndex: number): HttpKubeClient;
  stop(): Promise<void>;
}

const serversCount = 3;
const replicasCount = 6;
const port = 6443;
const token = "admin-token";
const tokens = new Map([[token, { name: "admin", groups: ["system:masters"] }]]);

export async function startCluster(simulation: Simulation): Promise<SimulatedCluster> {
  const storage = new MemoryStorage({ clock: simulation.host("storage").clock });
  const servers = names("server", serversCount);
  const started: ApiServer[] = [];
  for (const name of servers) {
    started.push(await startServer(simulation, storage, name));
  }
  const clientOf: SimulatedCluster["clientOf"] = (host, serverIndex) =>
    new HttpKubeClient({
      ...host,
      cluster: fixedAccess({
        name: "cluster",
        server: `https://${servers[serverIndex % serversCount]}:${port}`,
        token,
      }),
      userAgent: "lockstep-bench",
    });
  const replicas = names("replica", replicasCount);
  const reflectors = replicas.map((name, index) => {
    const host = simulation.host(name);
    return new Reflector<Endpoints>({
      ...host,
      kind: endpointsKind,
      client: clientOf(host, index),
      witness: clientOf(host, index + 1),
      cluster: "cluster",
      indexes: {},
      handlers: [],
      metrics: new Registry(),
    });
  });
  return {
    servers,
    replicas,
    reflectors,
    clientOf,
    stop: async () => {
      await Promise.all(reflectors.map((reflector) => reflector.stop()));
      await Promise.all(started.map((server) => server.stop()));
    },
  };
}

async function startServer(
  simulation: Simulation,
  storage: MemoryStorage,
  name: string,
): Promise<ApiServer> {
  const server = new ApiServer({
    ...simulation.host(name),
    storage,
    name,
    gitVersion: "v1.33.1",
    authentication: { tokens },
    metrics: new Registry(),
  });
  await server.start({ host: name, port });
  return server;
}

function names(what: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${what}-${index + 1}`);
}
