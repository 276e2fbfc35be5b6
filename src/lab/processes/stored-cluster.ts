// A cluster whose objects are in an etcd and whose API servers are processes of their own. Its
// controllers and nodes stay in the lab's process and go on through whichever server is there.
import type { Environment } from "../../environment/environment.ts";
import { type Cluster, type ClusterOptions, startClusterWith } from "../cluster.ts";
import { componentToken } from "../cluster-servers.ts";
import { freePort } from "../free-port.ts";
import { ServerBalancer } from "./server-balancer.ts";
import { type ServerProcess, startServerProcesses } from "./server-processes.ts";

export interface StoredClusterOptions {
  readonly environment: Environment;
  /** Everything runs in the one environment. */
  readonly cluster: Omit<ClusterOptions, "environmentOf">;
  /** Of the etcd; several clusters may share one. */
  readonly endpoints: readonly string[];
  /** For what the servers are told. */
  readonly folder: string;
  /** Told when a server dies and when it is back. */
  readonly onNews?: (news: string) => void;
}

export async function startStoredCluster(
  options: StoredClusterOptions,
): Promise<Cluster<ServerProcess>> {
  const { environment, endpoints, folder, onNews } = options;
  const token = environment.random.uuid();
  const balancer = new ServerBalancer(environment.network);
  const { name, hostOf } = options.cluster;
  const cluster: ClusterOptions = {
    ...options.cluster,
    // A server that is started again has to be found where it was.
    ports: await fixedPorts(environment, hostOf(name), options.cluster.ports),
    environmentOf: () => ({ ...environment, network: balancer }),
    nodeToken: (user) => componentToken(token, user),
  };
  return startClusterWith(cluster, async (surroundings) => {
    const servers = await startServerProcesses(
      {
        environment,
        cluster,
        token,
        folder,
        store: { endpoints, root: `/${name}` },
        ...(onNews === undefined ? {} : { onNews }),
      },
      surroundings,
    );
    balancer.serve(servers.map(({ url }) => url));
    return servers;
  });
}

async function fixedPorts(
  environment: Environment,
  host: string,
  ports: readonly number[],
): Promise<readonly number[]> {
  const chosen = new Set<number>();
  for (const port of ports) {
    let fixed = port;
    while (fixed === 0 || chosen.has(fixed)) fixed = await freePort(environment, host);
    chosen.add(fixed);
  }
  return [...chosen];
}
