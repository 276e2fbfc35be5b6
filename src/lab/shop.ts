// What runs in the clusters of incidents and of the story: one shop that is released under traffic,
// its Ingress, and a crowd of other services that gives the controllers their work. Plain Kubernetes
// objects, created as anybody would.
import { type KubeClient, parseJson } from "../kube/client/client.ts";
import { listAt, type RawRecord } from "../kube/kinds/fields.ts";
import { objectRecord } from "../kube/kinds/metadata.ts";
import { behaviourPrefix } from "./kubelet/pod-behaviour.ts";

export const shopHost = "shop.example";
export const shopService = "default/shop";
export const shopPort = 80;
export const shopReplicas = 4;
export const ingressClass = "lockstep";

const containerPort = 8080;
const servicesPath = "/api/v1/namespaces/default/services";

/** The crowd's services, its pod and its label are named so. */
const crowd = "other";
const crowdAddress = "10.200.0.1";

/** So many objects are created at a time. */
const createsAtOnce = 16;

const requestDeadlineMs = 30_000;

export interface ShopOptions {
  /** Until a new pod is ready: `2s`; at once unless given. */
  readonly readyAfter?: string;
  /** Kubernetes' own defaults unless given. */
  readonly strategy?: object;
  readonly terminationGracePeriodSeconds?: number;
}

/** A Deployment and its Service. */
export async function createShop(client: KubeClient, options: ShopOptions = {}): Promise<void> {
  const { readyAfter, strategy, terminationGracePeriodSeconds } = options;
  const readinessProbe = { httpGet: { path: "/", port: containerPort }, periodSeconds: 1 };
  await create(client, "/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop" },
    spec: {
      replicas: shopReplicas,
      selector: { matchLabels: { app: "shop" } },
      strategy,
      template: {
        metadata: {
          labels: { app: "shop" },
          ...(readyAfter !== undefined && {
            annotations: { [`${behaviourPrefix}ready-after`]: readyAfter },
          }),
        },
        spec: {
          terminationGracePeriodSeconds,
          containers: [{ name: "shop", image: "shop", ports: [{ containerPort }], readinessProbe }],
        },
      },
    },
  });
  await create(client, servicesPath, serviceObject("shop", "shop"));
}

export async function createShopIngress(client: KubeClient): Promise<void> {
  await create(client, "/apis/networking.k8s.io/v1/ingressclasses", {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: ingressClass },
    spec: { controller: "lockstep.dev/ingress" },
  });
  const backend = { service: { name: "shop", port: { number: shopPort } } };
  await create(client, "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "shop" },
    spec: {
      ingressClassName: ingressClass,
      rules: [{ host: shopHost, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
    },
  });
}

/** `shared`: all have the same ready pod, whose status is posted once; `none`: they have no pods. */
export async function createCrowd(
  client: KubeClient,
  services: number,
  pods: "shared" | "none",
): Promise<void> {
  if (pods === "shared") await createCrowdPod(client);
  for (let first = 1; first <= services; first += createsAtOnce) {
    const count = Math.min(createsAtOnce, services - first + 1);
    const objects = Array.from({ length: count }, (_, index) =>
      serviceObject(`${crowd}-${first + index}`, crowd, { "lockstep.dev/sync": "false" }),
    );
    await Promise.all(objects.map((object) => create(client, servicesPath, object)));
  }
}

/** A release: every pod is replaced, because the template is another. */
export async function releaseShop(client: KubeClient, release: string): Promise<void> {
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: "/apis/apps/v1/namespaces/default/deployments/shop",
    contentType: "application/merge-patch+json",
    body: { spec: { template: { metadata: { annotations: { release } } } } },
    deadlineMs: requestDeadlineMs,
  });
}

/** How many services have an address published as Endpoints. */
export async function publishedServices(client: KubeClient): Promise<number> {
  const path = "/api/v1/namespaces/default/endpoints";
  const limits = { deadlineMs: requestDeadlineMs };
  const answer = await client.request({ verb: "list", method: "GET", path, ...limits });
  const items = listAt(objectRecord(parseJson(answer)), "items").map(objectRecord);
  return items.filter((endpoints) => listAt(endpoints, "subsets").length > 0).length;
}

async function createCrowdPod(client: KubeClient): Promise<void> {
  const pods = "/api/v1/namespaces/default/pods";
  const pod = await create(client, pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: crowd, labels: { app: crowd } },
    spec: { nodeName: "elsewhere", containers: [{ name: crowd, image: crowd }] },
  });
  const conditions = [{ type: "Ready", status: "True" }];
  await client.request({
    verb: "update",
    method: "PUT",
    path: `${pods}/${crowd}/status`,
    body: { ...pod, status: { phase: "Running", podIP: crowdAddress, conditions } },
    deadlineMs: requestDeadlineMs,
  });
}

function serviceObject(name: string, app: string, labels = {}): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels },
    spec: { selector: { app }, ports: [{ port: shopPort, targetPort: containerPort }] },
  };
}

async function create(client: KubeClient, path: string, body: object): Promise<RawRecord> {
  const limits = { deadlineMs: requestDeadlineMs };
  return objectRecord(
    parseJson(await client.request({ verb: "create", method: "POST", path, body, ...limits })),
  );
}
