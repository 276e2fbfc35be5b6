// What runs in the story's clusters: one shop in two business clusters, its Ingress in the access
// cluster, and a crowd of other services that keeps one controller busy. Plain Kubernetes objects.
import type { KubeClient } from "../../kube/client/client.ts";

export const shopHost = "shop.example";
export const shopService = "default/shop";
export const ingressClass = "lockstep";

/** In each business cluster. */
export const shopReplicas = 4;

const containerPort = 8080;

/**
 * Services without pods. A 1.7 controller looks at every service each 30 s and pays two requests
 * for each of these, so at 20 requests a second more than 300 keep it busy for ever.
 */
export const crowdSize = 330;

const requestDeadlineMs = 10_000;

/** So many objects are created at a time. */
const createsAtOnce = 16;

export async function createShop(client: KubeClient): Promise<void> {
  await create(client, "/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop" },
    spec: {
      replicas: shopReplicas,
      selector: { matchLabels: { app: "shop" } },
      strategy: { rollingUpdate: { maxSurge: "50%", maxUnavailable: 0 } },
      template: {
        metadata: { labels: { app: "shop" } },
        spec: {
          terminationGracePeriodSeconds: 5,
          containers: [{ name: "shop", image: "shop", ports: [{ containerPort }] }],
        },
      },
    },
  });
  await create(client, "/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "shop" },
    spec: { selector: { app: "shop" }, ports: [{ port: 80, targetPort: containerPort }] },
  });
}

export async function createIngress(client: KubeClient): Promise<void> {
  await create(client, "/apis/networking.k8s.io/v1/ingressclasses", {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: ingressClass },
    spec: { controller: "lockstep.dev/ingress" },
  });
  const backend = { service: { name: "shop", port: { number: 80 } } };
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

export async function createCrowd(client: KubeClient): Promise<void> {
  const service = (number: number) =>
    create(client, "/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `other-${number}`, labels: { "lockstep.dev/sync": "false" } },
      spec: { selector: { app: `other-${number}` }, ports: [{ port: 80 }] },
    });
  for (let first = 1; first <= crowdSize; first += createsAtOnce) {
    const count = Math.min(createsAtOnce, crowdSize - first + 1);
    await Promise.all(Array.from({ length: count }, (_, index) => service(first + index)));
  }
}

/** A release: every pod is replaced, because the template is another. */
export async function rollShop(client: KubeClient, release: string): Promise<void> {
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: "/apis/apps/v1/namespaces/default/deployments/shop",
    contentType: "application/merge-patch+json",
    body: { spec: { template: { metadata: { annotations: { release } } } } },
    deadlineMs: requestDeadlineMs,
  });
}

async function create(client: KubeClient, path: string, body: object): Promise<void> {
  const limits = { deadlineMs: requestDeadlineMs };
  await client.request({ verb: "create", method: "POST", path, body, ...limits });
}
