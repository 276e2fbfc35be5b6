// Only for tests: a cluster with several API servers on one store, each on a host of its own.
import { ApiServer } from "../../src/apiserver/api-server.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";

/** `nobody` may read nothing. */
const tokens = new Map([
  ["admin", { name: "admin", groups: ["system:masters"] }],
  ["nobody", { name: "nobody", groups: ["system:authenticated"] }],
]);

/** Listens on port 6443 of each host, and tells of every request. */
export async function startServers(
  simulation: Simulation,
  hosts: readonly string[],
  onRequest: (request: string) => void = () => undefined,
): Promise<{ stop(): Promise<void> }> {
  const storage = new MemoryStorage(simulation.host(hosts[0] ?? ""));
  const servers: ApiServer[] = [];
  for (const host of hosts) {
    const server = new ApiServer({
      ...simulation.host(host),
      storage,
      name: host,
      gitVersion: "v1.33.1",
      authentication: { tokens },
      authorization: "RBAC",
      observers: [
        { finished: ({ request }) => onRequest(`${host} ${request.method} ${request.target}`) },
      ],
    });
    await server.start({ host, port: 6443 });
    servers.push(server);
  }
  return {
    stop: async () => {
      for (const server of servers) await server.stop();
    },
  };
}
