// The objects in the clusters of incidents and of `lockstep up`: the demo application, a shop that is
// released under traffic, with its Ingress; and filler services that give the controllers work.
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

/** The name of the filler pod, its label, and the start of the names of filler services. */
const filler = "other";

/** Creates in parallel. */
const createsAtOnce = 16;

const requestDeadlineMs = 30_000;

export interface ShopOptions {
  /** `shopReplicas` unless given. */
  readonly replicas?: number;
  /** Time until a new pod is ready: `2s`; 0 unless given. */
  readonly readyAfter?: string;
  /** The first readiness probe and the period; at once and each second unless given. */
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

/** Of the class that Lockstep and stock serve, or of one that stock alone serves. */
export async function createShopIngress(
  client: KubeClient,
  { onlyStock = false }: { readonly onlyStock?: boolean } = {},
): Promise<void> {
  const ingressClassName = onlyStock ? "nginx" : ingressClass;
  await create(client, "/apis/networking.k8s.io/v1/ingressclasses", {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: ingressClassName },
    spec: { controller: onlyStock ? "k8s.io/ingress-nginx" : "lockstep.dev/ingress" },
  });
  const backend = { service: { name: "shop", port: { number: shopPort } } };
  await create(client, "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "shop" },
    spec: {
      ingressClassName,
      rules: [{ host: shopHost, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
    },
  });
}

/** A Gateway and an HTTPRoute, which Lockstep serves; see `gateway-definitions.ts`. */
export async function createShopGateway(client: KubeClient): Promise<void> {
  const createOurs = (kind: string, where: string, name: string, spec: object) =>
    create(client, `/apis/gateway.networking.k8s.io/v1/${where}`, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind,
      metadata: { name },
      spec,
    });
  const controllerName = "lockstep.dev/gateway";
  await createOurs("GatewayClass", "gatewayclasses", ingressClass, { controllerName });
  await createOurs("Gateway", "namespaces/default/gateways", "shop", {
    gatewayClassName: ingressClass,
    // Each replica has a port of its own, to which its entry leads.
    listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
  });
  await createOurs("HTTPRoute", "namespaces/default/httproutes", "shop", {
    parentRefs: [{ name: "shop" }],
    hostnames: [shopHost],
    rules: [{ backendRefs: [{ name: "shop", port: shopPort }] }],
  });
}

/** Filler services, without the pod behind them. */
export async function createFiller(client: KubeClient, services: number): Promise<void> {
  const objects = fillerServices(services);
  for (let first = 0; first < services; first += createsAtOnce) {
    const some = objects.slice(first, first + createsAtOnce);
    await Promise.all(some.map((object) => create(client, servicesPath, object)));
  }
}

/** For a cluster that has them before it starts. */
export function fillerServices(services: number): readonly object[] {
  return Array.from({ length: services }, (_, index) =>
    serviceObject(`${filler}-${index + 1}`, filler, { "lockstep.dev/sync": "false" }),
  );
}

/** The one pod behind all filler services. */
export async function createFillerPod(client: KubeClient): Promise<void> {
  await create(client, "/api/v1/namespaces/default/pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: filler, labels: { app: filler } },
    spec: { containers: [{ name: filler, image: filler, ports: [{ containerPort }] }] },
  });
}

/** A release: the template changes, so every pod is replaced. */
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

/** The number of services whose Endpoints have an address. */
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
