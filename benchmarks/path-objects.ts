// The cluster of the benchmark as plain Kubernetes objects: services with pods that no kubelet runs,
// so that their Ready condition is whatever the benchmark writes, and an Ingress for each service.
import { type Clock, toTime } from "../src/environment/clock.ts";
import type { KubeClient, KubeRequest } from "../src/kube/client/client.ts";

export const servicesCount = 20;
export const podsCount = 200;
export const ingressClass = "lockstep";

const namespace = "default";
const node = "node-1";
const containerPort = 8080;
const requestDeadlineMs = 10_000;

/** So many objects are created at a time. */
const createsAtOnce = 16;

/** Nobody connects to it. */
export function addressOf(pod: number): string {
  return `10.64.0.${pod + 1}`;
}

/** Everything, with no pod ready. */
export async function createObjects(client: KubeClient, clock: Clock): Promise<void> {
  await create(client, "/api/v1/nodes", { kind: "Node", metadata: { name: node } });
  await create(client, "/apis/networking.k8s.io/v1/ingressclasses", {
    kind: "IngressClass",
    metadata: { name: ingressClass },
    spec: { controller: "lockstep.dev/ingress" },
  });
  await inParallel(servicesCount, (service) => createService(client, service));
  await inParallel(podsCount, async (pod) => {
    await createPod(client, pod);
    await writeReady(client, clock, { pod, ready: false });
  });
}

/** What a kubelet writes when a probe changes its mind. */
export async function writeReady(
  client: KubeClient,
  clock: Clock,
  { pod, ready }: { readonly pod: number; readonly ready: boolean },
): Promise<void> {
  const status = ready ? "True" : "False";
  const lastTransitionTime = toTime(clock.wallMs());
  const address = addressOf(pod);
  const conditions = ["Ready", "ContainersReady"].map((type) => ({
    type,
    status,
    lastTransitionTime,
  }));
  await send(client, {
    verb: "patch",
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}/pods/${podName(pod)}/status`,
    contentType: "application/merge-patch+json",
    body: { status: { phase: "Running", podIP: address, podIPs: [{ ip: address }], conditions } },
  });
}

async function createService(client: KubeClient, service: number): Promise<void> {
  const name = serviceName(service);
  await create(client, `/api/v1/namespaces/${namespace}/services`, {
    kind: "Service",
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: containerPort }] },
  });
  const backend = { service: { name, port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  await create(client, `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
    kind: "Ingress",
    metadata: { name },
    spec: { ingressClassName: ingressClass, rules: [{ host: `${name}.example`, http }] },
  });
}

/** Neighbours belong to different services, so that changes are spread over all of them. */
async function createPod(client: KubeClient, pod: number): Promise<void> {
  await create(client, `/api/v1/namespaces/${namespace}/pods`, {
    kind: "Pod",
    metadata: { name: podName(pod), labels: { app: serviceName(pod % servicesCount) } },
    spec: {
      nodeName: node,
      containers: [{ name: "web", image: "web", ports: [{ containerPort }] }],
    },
  });
}

/** The path says of which version the object is. */
async function create(client: KubeClient, path: string, object: object): Promise<void> {
  const [, root, group, version] = path.split("/");
  const apiVersion = root === "api" ? group : `${group}/${version}`;
  await send(client, { verb: "create", method: "POST", path, body: { apiVersion, ...object } });
}

async function send(client: KubeClient, request: KubeRequest): Promise<void> {
  await client.request({ ...request, deadlineMs: requestDeadlineMs });
}

async function inParallel(count: number, work: (number: number) => Promise<void>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, number) => number)[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: createsAtOnce }, async () => {
      for (const number of numbers) await work(number);
    }),
  );
}

function serviceName(service: number): string {
  return `service-${service}`;
}

function podName(pod: number): string {
  return `web-${pod}`;
}
