// A cluster whose control plane is real and whose machines are the lab's: a real kube-apiserver and
// kube-controller-manager, our scheduler, and kubelets with pods that listen on 10.201.0.0/16. The
// API server judges each of them by the rights it really has: system:node, system:kube-scheduler.
import { setMaxListeners } from "node:events";
import type { Environment } from "../../../src/environment/environment.ts";
import { nodeEnvironment } from "../../../src/environment/node/node-environment.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../../src/kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../../../src/kube/credentials/credentials.ts";
import type { KubeconfigContext } from "../../../src/lab/kubeconfig.ts";
import type { HeartbeatGaps } from "../../../src/lab/kubelet/heartbeat-gaps.ts";
import { Kubelet } from "../../../src/lab/kubelet/kubelet.ts";
import { Ledger } from "../../../src/lab/kubelet/ledger.ts";
import { PodAddresses } from "../../../src/lab/kubelet/pod-addresses.ts";
import { PodLogBook } from "../../../src/lab/kubelet/pod-log-book.ts";
import { runScheduler } from "../../../src/lab/scheduler/scheduler.ts";
import {
  type RealControlPlane,
  type RealOptions,
  type RealUser,
  startRealControlPlane,
} from "./real-control-plane.ts";

export interface RealClusterOptions extends RealOptions {
  readonly name: string;
  readonly nodes: number;
  readonly heartbeatGaps?: HeartbeatGaps;
  /** The first two octets of the pods' addresses; 10.201 unless given. */
  readonly podNetwork?: string;
}

export interface RealCluster {
  readonly environment: Environment;
  readonly plane: RealControlPlane;
  readonly access: ClusterAccess;
  readonly contexts: readonly KubeconfigContext[];
  readonly kubelets: readonly Kubelet[];
  readonly ledger: Ledger;
  /** Of all pods. */
  readonly logs: PodLogBook;
  /** As the administrator. */
  readonly client: KubeClient;
  accessAs(user: Pick<RealUser, "token">): ClusterAccess;
  stop(): Promise<void>;
}

/** The controllers that run Deployments, publish their pods, and end deleted objects. */
export const usualControllers = [
  "deployment-controller",
  "replicaset-controller",
  "endpoints-controller",
  "endpointslice-controller",
  "endpointslice-mirroring-controller",
  "node-lifecycle-controller",
  "taint-eviction-controller",
  "garbage-collector-controller",
  "namespace-controller",
  "pod-garbage-collector-controller",
  "serviceaccount-controller",
];

const schedulerUser: RealUser = {
  token: "scheduler-token",
  name: "system:kube-scheduler",
  groups: [],
};

export async function startRealCluster(options: RealClusterOptions): Promise<RealCluster> {
  const environment = nodeEnvironment({ log: { write: () => undefined } });
  const names = Array.from({ length: options.nodes }, (_, at) => `${options.name}-node-${at + 1}`);
  const plane = await startRealControlPlane({
    controllers: usualControllers,
    ...options,
    users: [schedulerUser, ...names.map(nodeUser), ...(options.users ?? [])],
  });
  const accessAs = ({ token }: Pick<RealUser, "token">) =>
    fixedAccess({ name: options.name, server: plane.url, token, tls: { ca: plane.ca } });
  const clientAs = (user: Pick<RealUser, "token">, userAgent: string) =>
    new HttpKubeClient({ ...environment, cluster: accessAs(user), userAgent });
  const ledger = new Ledger(environment);
  const logs = new PodLogBook(environment);
  const addresses = new PodAddresses({ ...environment, network: options.podNetwork ?? "10.201" });
  const { heartbeatGaps: gaps } = options;
  const kubelets = names.map((node) => {
    const client = clientAs(nodeUser(node), "kubelet");
    const own = { client, cluster: options.name, node, addresses, ledger, logs };
    return new Kubelet({ ...environment, ...own, ...(gaps === undefined ? {} : { gaps }) });
  });
  const stopping = new AbortController();
  // Each machine listens to it, and a cluster may have many.
  setMaxListeners(0, stopping.signal);
  const scheduler = clientAs(schedulerUser, "kube-scheduler");
  const running = [
    runScheduler({ ...environment, client: scheduler, cluster: options.name }, stopping.signal),
    ...kubelets.map((kubelet) => kubelet.run(stopping.signal)),
  ];
  return {
    environment,
    plane,
    access: accessAs(plane),
    contexts: [{ name: options.name, server: plane.url, ca: plane.ca, token: plane.token }],
    kubelets,
    ledger,
    logs,
    client: clientAs(plane, "e2e"),
    accessAs,
    stop: async () => {
      stopping.abort(new Error("the test is over"));
      await Promise.all(running);
      await plane.stop();
    },
  };
}

function nodeUser(node: string): RealUser {
  return { token: `token-of-${node}`, name: `system:node:${node}`, groups: ["system:nodes"] };
}
