// A cluster with its objects in etcd and every API server in a process of its own. Its controllers and
// nodes are in the lab's process and use any server that accepts connections.
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
  /** For the configuration files of the servers. */
  readonly folder: string;
  /** Called when a server ends and when it is back. */
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
    // A server keeps its port when it is started again.
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

/** Free ports for those that are 0, all different. */
async function fixedPorts(
  environment: Environment,
  host: string,
  ports: readonly number[],
): Promise<readonly number[]> {
  const fixed: number[] = [];
  for (const port of ports) {
    let next = port;
    while (next === 0 || (port === 0 && fixed.includes(next))) {
      next = await freePort(environment, host);
    }
    fixed.push(next);
  }
  return fixed;
}
