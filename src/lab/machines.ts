// The machines of a cluster: nodes that run pods, each with its own credentials, and nodes of the
// control plane, which only send heartbeats. Nothing outlives `run`.
import { setMaxListeners } from "node:events";
import type { User } from "../apiserver/http/authentication.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../kube/credentials/credentials.ts";
import { objectPath } from "../kube/kinds/kind.ts";
import { nodeKind } from "../kube/kinds/node.ts";
import type { ClusterOptions } from "./cluster.ts";
import { nodeNameOf } from "./control-plane.ts";
import { Kubelet } from "./kubelet/kubelet.ts";
import type { KubeletRules } from "./kubelet/kubelet-rules.ts";
import { NodeHeartbeat } from "./kubelet/node-heartbeat.ts";
import { PodAddresses } from "./kubelet/pod-addresses.ts";
import type { PodLogBook } from "./kubelet/pod-log-book.ts";
import type { Profile } from "./versions/profile.ts";
import { userAgentOf } from "./versions/profiles.ts";

export interface MachinesOptions {
  readonly cluster: ClusterOptions;
  readonly profile: Profile;
  /** With every right. */
  readonly access: ClusterAccess;
  /** Users of the API servers by token. Kubelets are added, and removed with their machine. */
  readonly tokens: Map<string, User>;
  readonly logs: PodLogBook;
}

/** Keeps pods that do not ask for it away from the machine. */
const controlPlaneTaint = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };

const requestDeadlineMs = 30_000;

export class Machines {
  readonly kubelets: readonly Kubelet[];
  readonly #options: MachinesOptions;
  readonly #rules: KubeletRules;
  /** By node. */
  readonly #tokens = new Map<string, string>();

  constructor(options: MachinesOptions) {
    this.#options = options;
    const { gitVersion, nodes } = options.profile;
    const { leases, otherConditions, stableLabels, containersReady, postsEnd } = nodes;
    const version = `${gitVersion}+lockstep`;
    this.#rules = { version, leases, otherConditions, stableLabels, containersReady, postsEnd };
    this.kubelets = this.#makeKubelets();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { ports, controllerManagers = 1 } = this.#options.cluster;
    // Each machine listens to it, and a cluster may have many; Node takes more than ten for a leak.
    setMaxListeners(0, signal);
    const controlPlanes = Array.from(
      { length: Math.max(ports.length, controllerManagers) },
      (_, machine) => this.#runControlPlaneNode(machine, signal),
    );
    const nodes = this.kubelets.map((kubelet) => kubelet.run(signal));
    await Promise.all([...controlPlanes, ...nodes]);
  }

  /**
   * Removes a machine from the cluster without stopping it: its credentials are revoked and its Node is
   * deleted. Its kubelet and its containers continue to run.
   */
  async removeFromCluster(node: string): Promise<void> {
    const { cluster, access, tokens } = this.#options;
    const token = this.#tokens.get(node);
    if (token === undefined) throw new Error(`the cluster ${access.name} has no node ${node}`);
    tokens.delete(token);
    await this.kubelets.find((kubelet) => kubelet.node === node)?.loseCredentials();
    const environment = cluster.environmentOf(cluster.name);
    const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "lockstep" });
    await client.request({
      verb: "delete",
      method: "DELETE",
      path: objectPath(nodeKind, { namespace: "", name: node }),
      deadlineMs: requestDeadlineMs,
    });
  }

  #makeKubelets(): readonly Kubelet[] {
    const { cluster, logs } = this.#options;
    const { name, environmentOf, podNetwork, reuseAddressAfterMs, ledger } = cluster;
    const { clock } = environmentOf(name);
    const addresses = new PodAddresses({
      clock,
      network: podNetwork,
      ...(reuseAddressAfterMs === undefined ? {} : { reuseAfterMs: reuseAddressAfterMs }),
    });
    return Array.from({ length: cluster.nodes }, (_, index) => {
      const node = nodeNamed(name, index);
      const parts = { cluster: name, node, addresses, ledger, logs };
      const { heartbeatGaps: gaps } = cluster;
      return new Kubelet({
        ...environmentOf(node),
        ...parts,
        client: this.#clientOf(node, environmentOf(node)),
        rules: this.#rules,
        ...(gaps === undefined ? {} : { gaps }),
      });
    });
  }

  /** The components write their own pods, but the node those name must be there. */
  async #runControlPlaneNode(machine: number, signal: AbortSignal): Promise<void> {
    const { name: cluster, environmentOf, hostOf, heartbeatGaps } = this.#options.cluster;
    const name = nodeNameOf(machine);
    const part = `${cluster}-${name}`;
    const environment = environmentOf(part);
    const heartbeat = new NodeHeartbeat({
      ...environment,
      client: this.#clientOf(name, environment),
      ...(heartbeatGaps === undefined ? {} : { gaps: heartbeatGaps }),
      node: {
        name,
        address: hostOf(part),
        rules: this.#rules,
        taints: [controlPlaneTaint],
      },
    });
    try {
      await heartbeat.register(signal);
      await heartbeat.run(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #clientOf(
    node: string,
    environment: ReturnType<ClusterOptions["environmentOf"]>,
  ): HttpKubeClient {
    const { cluster, access, tokens, profile } = this.#options;
    const { random } = cluster.environmentOf(cluster.name);
    const user = nodeUser(node);
    const token = cluster.nodeToken?.(user.name) ?? random.uuid();
    this.#tokens.set(node, token);
    tokens.set(token, user);
    const { tls } = cluster;
    return new HttpKubeClient({
      ...environment,
      cluster: fixedAccess({
        name: access.name,
        server: access.server,
        token,
        tls: tls === undefined ? {} : { ca: tls.ca },
      }),
      userAgent: userAgentOf("kubelet", profile),
    });
  }
}

/** The user of a kubelet at the API servers. */
export function nodeUser(node: string): User {
  return { name: `system:node:${node}`, groups: ["system:nodes"] };
}

/** The names of all machines: nodes, and those of the control plane. */
export function machineNames(options: ClusterOptions): readonly string[] {
  const { name, nodes, ports, controllerManagers = 1 } = options;
  return [
    ...Array.from({ length: nodes }, (_, index) => nodeNamed(name, index)),
    ...Array.from({ length: Math.max(ports.length, controllerManagers) }, (_, at) =>
      nodeNameOf(at),
    ),
  ];
}

function nodeNamed(cluster: string, index: number): string {
  return `${cluster}-node-${index + 1}`;
}
