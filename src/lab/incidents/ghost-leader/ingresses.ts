// The two ingresses of `ghost-leader`: their Deployments, the lock with its past, the Ingresses whose
// status is watched, and the programs in their pods. A stock pod runs a whole stock controller. A Lockstep
// pod runs the part of Lockstep that leads and writes status.

import { Registry } from "prom-client";
import { Klog } from "../../../components/klog.ts";
import { loadBalancerAddress } from "../../../decide/status/load-balancer-address.ts";
import { toTime, type WallMs } from "../../../environment/clock.ts";
import { Leadership } from "../../../ingress/leadership.ts";
import { type KubeClient, parseJson } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../../kube/credentials/credentials.ts";
import { listAt } from "../../../kube/kinds/fields.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import { type Pod, podKind } from "../../../kube/kinds/pod.ts";
import type { GhostReport } from "../../../kube/leader/ghost-check.ts";
import { podIdentity } from "../../../kube/leader/leader-identity.ts";
import type { ElectionTimes } from "../../../kube/leader/leader-rules.ts";
import type { LockReference } from "../../../kube/leader/lease-record.ts";
import type { RoutedWitness } from "../../../observe/routed-witness.ts";
import { IngressSource } from "../../../sources/ingress-source.ts";
import { shopEndpoints } from "../../comparison/stock-replica.ts";
import type { ComponentLogs } from "../../controllers/klog/component-logs.ts";
import { readLockObject, writeLockObject } from "../../leader/lock-object.ts";
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

/** One of the two ingresses. */
export interface IngressApp {
  readonly namespace: string;
  readonly name: string;
  readonly className: string;
}

export const stockApp: IngressApp = {
  namespace: "ingress-nginx",
  name: "nginx-ingress-controller",
  className: "nginx",
};

export const lockstepApp: IngressApp = {
  namespace: "lockstep",
  name: "lockstep-ingress",
  className: "lockstep",
};

/** The release of the ingress; it also makes the pods' hashes differ. */
export const releaseLabel = "release";

const requestDeadlineMs = 30_000;

export async function createNamespace(client: KubeClient, name: string): Promise<void> {
  const metadata = { name };
  await send(client, "POST", "/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata,
  });
}

export async function createApp(
  client: KubeClient,
  { namespace, name }: IngressApp,
  options: { readonly replicas: number; readonly release: string },
): Promise<void> {
  const { replicas, release } = options;
  await send(client, "POST", `/apis/apps/v1/namespaces/${namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name, [releaseLabel]: release } },
        spec: { containers: [{ name: "controller", image: name }] },
      },
    },
  });
}

/** The service behind the Ingresses. */
export async function createBackend(client: KubeClient): Promise<void> {
  const labels = { app: "shop" };
  const ports = [{ containerPort: 8080 }];
  await send(client, "POST", "/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop" },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "shop", image: "shop", ports }] },
      },
    },
  });
  await send(client, "POST", "/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "shop" },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  });
}

/** A new release: the Deployment replaces every pod, and the new ones have another hash. */
export async function releaseApp(
  client: KubeClient,
  { namespace, name }: IngressApp,
  release: string,
): Promise<void> {
  const body = { spec: { template: { metadata: { labels: { [releaseLabel]: release } } } } };
  await send(client, "PATCH", `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`, body);
}

export async function createIngresses(
  client: KubeClient,
  className: string,
  count: number,
): Promise<void> {
  const service = { name: "shop", port: { number: 80 } };
  const paths = [{ path: "/", pathType: "Prefix", backend: { service } }];
  for (let number = 1; number <= count; number += 1) {
    await send(client, "POST", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: `${className}-${number}` },
      spec: {
        ingressClassName: className,
        rules: [{ host: ingressHost(className, number), http: { paths } }],
      },
    });
  }
}

export function ingressHost(className: string, number: number): string {
  return `${number}.${className}.example`;
}

/** A lock that has changed its holder so often; its holder is a pod that ended long ago. */
export async function createPastLock(
  client: KubeClient,
  lock: LockReference,
  past: { readonly transitions: number; readonly leaseDurationMs: number; readonly at: WallMs },
): Promise<void> {
  const { transitions, leaseDurationMs } = past;
  const time = toTime(past.at);
  const record = {
    holder: `${stockApp.name}-2f6nf`,
    leaseDurationMs,
    acquireTime: time,
    renewTime: time,
    transitions,
  };
  await writeLockObject(client, lock, undefined, record, { deadlineMs: requestDeadlineMs });
}

/** Like `kubectl edit`: changes the holder in the record and nothing else. */
export async function editLock(
  client: KubeClient,
  lock: LockReference,
  holder: string,
): Promise<void> {
  const limits = { deadlineMs: requestDeadlineMs };
  const current = await readLockObject(client, lock, limits);
  if (current === undefined) throw new Error(`there is no lock ${lock.namespace}/${lock.name}`);
  await writeLockObject(client, lock, current, { ...current.record, holder }, limits);
}

/** Pods of any namespace by a field, as `kubectl get pods -A --field-selector` does. */
export async function podsBy(client: KubeClient, field: string): Promise<readonly Pod[]> {
  const path = `/api/v1/pods?fieldSelector=${encodeURIComponent(field)}`;
  const list = objectRecord(await send(client, "GET", path));
  return listAt(list, "items").map((item) => podKind.project(item));
}

/** `kubectl delete pod`. */
export async function deletePod(
  client: KubeClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<void> {
  await send(client, "DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`, {});
}

const verbs = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
} as const;

async function send(
  client: KubeClient,
  method: keyof typeof verbs,
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await client.request({
    verb: verbs[method],
    method,
    path,
    ...(body !== undefined && { body }),
    ...(method === "PATCH" && { contentType: "application/merge-patch+json" }),
    deadlineMs: requestDeadlineMs,
  });
  return parseJson(answer);
}

export interface StockReplica extends Container {
  readonly leader: StockLeader | undefined;
  readonly klog: Klog;
  /** `host:port` of its proxy. */
  readonly address: string;
}

export interface LockstepReplica extends Container {
  readonly identity: string;
}

export interface ReplicaParts {
  readonly stage: Stage;
  readonly access: ClusterAccess;
  readonly logs: Pick<ComponentLogs, "set">;
  /** Receives the reports of a replica. */
  readonly witnessOf: (replica: string) => RoutedWitness;
  /** Records when its proxy really started to route to an address. */
  readonly hops: Pick<HopLedger, "routed">;
}

/** The lock that Lockstep's own replicas compete for. */
export const lockstepLock = {
  kind: "Lease",
  namespace: lockstepApp.namespace,
  name: "lockstep-ingress-lockstep",
} as const;

/** Each release of Lockstep publishes another address, so that a test can distinguish them. */
export function publishedBy(release: string): string {
  return `192.0.2.${release}`;
}

export async function startStockReplica(
  { stage, access, logs, witnessOf, hops }: ReplicaParts,
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
    const endpoints = shopEndpoints(backends);
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
  { stage, access }: ReplicaParts,
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
