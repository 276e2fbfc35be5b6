// What runs in the pods of the incident `ghost-leader`: a whole stock controller in each pod of the
// one ingress, and in each pod of the other the part of Lockstep that leads and writes status.
import { Registry } from "prom-client";
import { Klog } from "../../../components/klog.ts";
import { loadBalancerAddress } from "../../../decide/status/load-balancer-address.ts";
import { Leadership } from "../../../ingress/leadership.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../../kube/credentials/credentials.ts";
import type { Pod } from "../../../kube/kinds/pod.ts";
import type { GhostReport } from "../../../kube/leader/ghost-check.ts";
import { podIdentity } from "../../../kube/leader/leader-identity.ts";
import type { ElectionTimes } from "../../../kube/leader/leader-rules.ts";
import type { LockReference } from "../../../kube/leader/lease-record.ts";
import type { RoutedWitness } from "../../../observe/routed-witness.ts";
import { IngressSource } from "../../../sources/ingress-source.ts";
import { stockBackend } from "../../comparison/side.ts";
import type { ComponentLogs } from "../../controllers/klog/component-logs.ts";
import type { HopLedger } from "../../observed/hop-ledger.ts";
import type { Container } from "../../pod-containers.ts";
import { shopService } from "../../shop.ts";
import type { StockBackend } from "../../stock/stock-configuration.ts";
import { StockController } from "../../stock/stock-controller.ts";
import type { StockLeader } from "../../stock/stock-leader.ts";
import { readStockPod } from "../../stock/stock-pod.ts";
import type { StockReleaseName } from "../../stock/stock-release.ts";
import { VirtualPlane } from "../../stock/virtual/virtual-plane.ts";
import type { Stage } from "../stage.ts";
import { lockstepApp, releaseLabel, stockApp } from "./ingresses.ts";

export interface StockReplica extends Container {
  readonly leader: StockLeader | undefined;
  readonly klog: Klog;
  /** `host:port` of its proxy. */
  readonly address: string;
}

export interface LockstepReplica extends Container {
  readonly identity: string;
}

export interface ReplicaWorld {
  readonly stage: Stage;
  readonly access: ClusterAccess;
  readonly logs: Pick<ComponentLogs, "set">;
  /** Where a replica says what it routes to. */
  readonly witnessOf: (replica: string) => RoutedWitness;
  /** Where its proxy notes when it really began to. */
  readonly hops: Pick<HopLedger, "routed">;
}

/** The lock that Lockstep's own replicas compete for. */
export const lockstepLock = {
  kind: "Lease",
  namespace: lockstepApp.namespace,
  name: "lockstep-ingress-lockstep",
} as const;

/** What each release of Lockstep is told to publish: another address, so that one can tell. */
export function publishedBy(release: string): string {
  return `192.0.2.${release}`;
}

export async function startStockReplica(
  { stage, access, logs, witnessOf, hops }: ReplicaWorld,
  pod: Pod,
  options: {
    readonly release: StockReleaseName;
    readonly electionTtlMs: number;
    readonly statusUpdateIntervalMs: number;
  },
): Promise<StockReplica> {
  const { name } = pod.metadata;
  const environment = stage.environmentOf(name);
  const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "stock" });
  const witness = witnessOf(name);
  let hasBegun = false;
  const onRouted = (backends: readonly StockBackend[]): void => {
    const { endpoints = [] } = backends.find((one) => one.name === stockBackend) ?? {};
    const addresses = endpoints.map(({ address }) => address);
    hops.routed(name, addresses);
    const at = environment.clock.monotonicMs();
    if (hasBegun) witness.routed(shopService, endpoints, at);
    else witness.began(new Map([[shopService, endpoints]]), at);
    hasBegun = true;
  };
  const plane = new VirtualPlane({ ...environment, host: stage.hostOf(name), port: 0, onRouted });
  const klog = new Klog(environment);
  logs.set(pod.metadata, klog);
  const controller = new StockController({
    ...environment,
    client,
    cluster: access.name,
    published: "endpoints",
    ingressClass: stockApp.className,
    plane,
    leader: {
      ...options,
      pod: await readStockPod(client, pod.metadata),
      klog,
      ingressClass: stockApp.className,
      // The nodes of the lab have no other addresses.
      publishing: { from: "nodes", addresses: "internal" },
    },
  });
  await controller.start();
  const stop = async (): Promise<void> => {
    await controller.stop();
    witness.stop();
  };
  return { leader: controller.leader, klog, address: plane.address, stop };
}

export function startLockstepReplica(
  { stage, access }: ReplicaWorld,
  pod: Pod,
  options: {
    readonly watchedLock: LockReference;
    readonly deposeGhosts: boolean;
    readonly times: ElectionTimes;
    readonly onGhost: (report: GhostReport) => void;
  },
): LockstepReplica {
  const { namespace, name, uid, labels } = pod.metadata;
  const environment = stage.environmentOf(name);
  const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "lockstep" });
  const asked = new IngressSource({
    ...environment,
    client,
    cluster: access.name,
    onRoutes: () => undefined,
  });
  const identity = podIdentity(name, uid);
  const { watchedLock, deposeGhosts, times, onGhost } = options;
  const leadership = new Leadership({
    ...environment,
    cluster: access,
    asked,
    className: lockstepApp.className,
    metrics: new Registry(),
    publish: {
      addresses: [loadBalancerAddress(publishedBy(labels[releaseLabel] ?? ""))],
      lease: lockstepLock,
      identity,
      podNamespace: namespace,
      deposeGhosts,
      times,
    },
    watchedLocks: [watchedLock],
    onGhost,
  });
  asked.start();
  const stopping = new AbortController();
  const running = leadership.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort(new Error(`${name} is stopping`));
    await running;
    await asked.stop();
  };
  return { identity, stop };
}
