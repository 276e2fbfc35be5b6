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

/** So many objects are created at a time. */
const createsAtOnce = 16;

const requestDeadlineMs = 30_000;

export interface ShopOptions {
  /** `shopReplicas` unless given. */
  readonly replicas?: number;
  /** Until a new pod is ready: `2s`; at once unless given. */
  readonly readyAfter?: string;
  /** When a pod's readiness is looked at first, and how often; at once, each second unless given. */
  readonly probe?: { readonly initialDelaySeconds: number; readonly periodSeconds: number };
  /** Kubernetes' own defaults unless given. */
  readonly strategy?: object;
  readonly terminationGracePeriodSeconds?: number;
}

/** A Deployment and its Service. */
export async function createShop(client: KubeClient, options: ShopOptions = {}): Promise<void> {
  const { readyAfter, strategy, terminationGracePeriodSeconds, probe } = options;
  const { replicas = shopReplicas } = options;
  const httpGet = { path: "/", port: containerPort };
  const readinessProbe = { httpGet, periodSeconds: 1, ...probe };
  await create(client, "/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop" },
    spec: {
      replicas,
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

/** Services without pods. */
export async function createCrowd(client: KubeClient, services: number): Promise<void> {
  const objects = crowdServices(services);
  for (let first = 0; first < services; first += createsAtOnce) {
    const some = objects.slice(first, first + createsAtOnce);
    await Promise.all(some.map((object) => create(client, servicesPath, object)));
  }
}

/** The services of the crowd, for a cluster that has them before it starts. */
export function crowdServices(services: number): readonly object[] {
  return Array.from({ length: services }, (_, index) =>
    serviceObject(`${crowd}-${index + 1}`, crowd, { "lockstep.dev/sync": "false" }),
  );
}

/** The pod that all services of the crowd share; some node of the cluster runs it. */
export async function createCrowdPod(client: KubeClient): Promise<void> {
  await create(client, "/api/v1/namespaces/default/pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: crowd, labels: { app: crowd } },
    spec: { containers: [{ name: crowd, image: crowd, ports: [{ containerPort }] }] },
  });
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
