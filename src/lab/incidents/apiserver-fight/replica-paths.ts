// The replicas of both sides reach the API servers through the service `kubernetes`, each by the
// kube-proxy of its own machine; and somebody watches what that service lists.
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../../../kube/credentials/credentials.ts";
import type { Cluster } from "../../cluster.ts";
import { replicaNames } from "../../comparison/side.ts";
import { type ProxyMode, ServicePath } from "../../service-path/service-path.ts";
import type { Stage } from "../stage.ts";
import { type Listed, ListedServers } from "./listed-servers.ts";

export interface ReplicaPathsOptions {
  readonly stage: Stage;
  readonly cluster: Cluster;
  readonly mode: ProxyMode;
  /** How long a connection that was cut off stays silent. */
  readonly silence: { readonly minMs: number; readonly maxMs: number };
}

/** Where a replica's machine has the service. */
const servicePort = 8443;

const lookEveryMs = 10;

export class ReplicaPaths {
  readonly #options: ReplicaPathsOptions;
  readonly #listed: ListedServers;
  readonly #paths = new Map<string, ServicePath>();

  private constructor(options: ReplicaPathsOptions) {
    const { stage, cluster } = options;
    this.#options = options;
    const observer = stage.environmentOf("observer");
    this.#listed = new ListedServers({
      ...observer,
      client: clientOf(stage, cluster, "observer"),
      cluster: cluster.name,
      now: () => stage.now(),
    });
  }

  /** Resolves when every replica has its path. */
  static async start(options: ReplicaPathsOptions): Promise<ReplicaPaths> {
    const paths = new ReplicaPaths(options);
    await paths.#listed.start();
    for (const replica of [...replicaNames("stock"), ...replicaNames("lockstep")]) {
      await paths.#startPath(replica);
    }
    return paths;
  }

  get history(): readonly Listed[] {
    return this.#listed.history;
  }

  /** Connections that fell silent so far. */
  get cutOff(): number {
    return [...this.#paths.values()].reduce((sum, path) => sum + path.cutOff, 0);
  }

  accessOf(replica: string): ClusterAccess {
    const { cluster } = this.#options;
    const path = this.#paths.get(replica);
    if (path === undefined) return cluster.access;
    const { token = "" } = cluster.servers[0] ?? {};
    return fixedAccess({ name: cluster.name, server: path.url, token });
  }

  /** Resolves as the server has just been put on the list. */
  async untilListed(address: string): Promise<void> {
    const isListed = () => this.history.at(-1)?.addresses.includes(address) === true;
    while (isListed()) await this.#options.stage.sleep(lookEveryMs);
    while (!isListed()) await this.#options.stage.sleep(lookEveryMs);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#listed.stop();
    await Promise.all([...this.#paths.values()].map((path) => path.stop()));
  }

  async #startPath(replica: string): Promise<void> {
    const { stage, cluster, mode, silence } = this.#options;
    const path = new ServicePath({
      ...stage.environmentOf(replica),
      client: clientOf(stage, cluster, replica),
      cluster: cluster.name,
      mode,
      silence,
      host: stage.hostOf(replica),
      port: servicePort,
    });
    await path.start();
    this.#paths.set(replica, path);
  }
}

/** kube-proxy has a kubeconfig of its own, which leads to a server and not to the service. */
function clientOf(stage: Stage, cluster: Cluster, machine: string): HttpKubeClient {
  const environment = stage.environmentOf(machine);
  return new HttpKubeClient({ ...environment, cluster: cluster.access, userAgent: "kube-proxy" });
}
