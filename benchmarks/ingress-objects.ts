// The cluster of the benchmark as plain Kubernetes objects: services with pods that no kubelet runs,
// so that their Ready condition is whatever the benchmark writes, and an Ingress for each service.
import { type Clock, toTime, type WallMs } from "../src/environment/clock.ts";
import type { KubeClient } from "../src/kube/client/client.ts";

export interface ClusterSize {
  readonly services: number;
  /** A multiple of the services. */
  readonly pods: number;
  /** Of several clusters of one size: no two have a namespace or an address in common. */
  readonly number?: number;
  /** Each service has an Ingress of each of these classes too. */
  readonly otherClasses?: readonly string[];
}

export const ingressClass = "lockstep";

/** Real clusters have them in teams; no namespace is so large that looking through it takes long. */
const servicesInNamespace = 100;

/** All pods are on it. */
export const node = "node-1";
const containerPort = 8080;
/** A lag counts from the answer, so that a busy machine only makes a run longer. */
const requestDeadlineMs = 600_000;

/** No client connects to it. */
export function addressOf({ pods, number: cluster = 0 }: ClusterSize, pod: number): string {
  const number = cluster * pods + pod + 1;
  return `10.${64 + Math.floor(number / 65_536)}.${Math.floor(number / 256) % 256}.${number % 256}`;
}

/** Everything, with the second half of the pods ready, as it stands in storage at the start. */
export function* clusterObjects(size: ClusterSize, at: WallMs): Generator<object, void, void> {
  yield { apiVersion: "v1", kind: "Node", metadata: { name: node } };
  yield {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: ingressClass },
    spec: { controller: "lockstep.dev/ingress" },
  };
  for (let service = 0; service < size.services; service += servicesInNamespace) {
    yield { apiVersion: "v1", kind: "Namespace", metadata: { name: namespaceOf(size, service) } };
  }
  for (let service = 0; service < size.services; service += 1) yield* serviceObjects(size, service);
  for (let pod = 0; pod < size.pods; pod += 1) yield podObject(size, pod, at);
}

/** A kubelet's write when the result of a probe changes. */
export async function writeReady(
  client: KubeClient,
  clock: Clock,
  {
    size,
    pod,
    ready,
  }: { readonly size: ClusterSize; readonly pod: number; readonly ready: boolean },
): Promise<void> {
  const namespace = namespaceOf(size, pod % size.services);
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}/pods/${podName(pod)}/status`,
    contentType: "application/merge-patch+json",
    body: { status: { conditions: conditions(ready, clock.wallMs()) } },
    deadlineMs: requestDeadlineMs,
  });
}

function* serviceObjects(size: ClusterSize, service: number): Generator<object, void, void> {
  const name = serviceName(service);
  const metadata = { name, namespace: namespaceOf(size, service) };
  yield {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: containerPort }] },
  };
  const backend = { service: { name, port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  const rules = [{ host: hostOf(service), http }];
  yield {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata,
    spec: { ingressClassName: ingressClass, rules },
  };
  for (const className of size.otherClasses ?? []) {
    yield {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { ...metadata, name: `${name}-${className}` },
      spec: { ingressClassName: className, rules },
    };
  }
}

export function hostOf(service: number): string {
  return `${serviceName(service)}.example`;
}

/** Neighbours belong to different services, so that changes are spread over all of them. */
function podObject(size: ClusterSize, pod: number, at: WallMs): object {
  const service = pod % size.services;
  const address = addressOf(size, pod);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: podName(pod),
      namespace: namespaceOf(size, service),
      labels: { app: serviceName(service) },
    },
    spec: {
      nodeName: node,
      containers: [{ name: "web", image: "web", ports: [{ containerPort }] }],
    },
    status: {
      phase: "Running",
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: conditions(pod >= size.pods / 2, at),
    },
  };
}

function conditions(ready: boolean, at: WallMs): readonly object[] {
  const status = ready ? "True" : "False";
  const lastTransitionTime = toTime(at);
  return ["Ready", "ContainersReady"].map((type) => ({ type, status, lastTransitionTime }));
}

function namespaceOf({ services, number = 0 }: ClusterSize, service: number): string {
  const before = number * Math.ceil(services / servicesInNamespace);
  return `team-${before + Math.floor(service / servicesInNamespace)}`;
}

function serviceName(service: number): string {
  return `service-${service}`;
}

function podName(pod: number): string {
  return `web-${pod}`;
}
