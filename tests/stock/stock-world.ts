// A cluster with one API server, a stock controller on the modelled nginx, and pods that are
// simulated servers, all in virtual time.

import type { Environment } from "../../src/environment/environment.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import type { Published } from "../../src/lab/stock/stock-backends.ts";
import type { StockServer } from "../../src/lab/stock/stock-configuration.ts";
import { StockController } from "../../src/lab/stock/stock-controller.ts";
import type { StockPlane } from "../../src/lab/stock/stock-plane.ts";
import { VirtualPlane } from "../../src/lab/stock/virtual/virtual-plane.ts";
import { type ApiWorld, inApiWorld } from "../apiserver/api-world.ts";

export interface StockWorld extends ApiWorld {
  readonly controller: StockController;
  /** The events at the proxy, with the virtual time. */
  readonly events: readonly StockEvent[];
  /** Publishes these addresses, port 8080, for the service `web`. */
  readonly publish: (...addresses: readonly string[]) => Promise<void>;
  readonly createIngress: (name: string, host: string, path?: string) => Promise<void>;
  /** A pod's server on this address. */
  readonly startPod: (address: string, uid: string) => Promise<{ stop(): Promise<void> }>;
  /** A GET through the proxy: its status, who answered, and which peers were tried. */
  readonly get: (host: string, path: string) => Promise<StockAnswer>;
}

export interface StockEvent {
  readonly what: "reload" | "push" | "routed";
  readonly atMs: number;
  /** Of the service `web`; empty for a reload. */
  readonly addresses: readonly string[];
}

export interface StockAnswer {
  readonly status: number;
  readonly body: string;
  readonly upstreams: string | undefined;
}

export interface StockWorldOptions {
  readonly seed?: number;
  readonly published?: Published["form"];
  readonly refuse?: (servers: readonly StockServer[]) => string | undefined;
}

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const endpoints = "/api/v1/namespaces/default/endpoints";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

export async function inStockWorld(
  run: (world: StockWorld) => Promise<void>,
  options: StockWorldOptions = {},
): Promise<void> {
  const inWorld = async (api: ApiWorld): Promise<void> => {
    await api.call("POST", "/api/v1/namespaces/default/services", {
      metadata: { name: "web" },
      spec: { clusterIP: "None", ports: [{ port: 80, targetPort: 8080 }] },
    });
    const events: StockEvent[] = [];
    const controller = stockController(api, events, options);
    await controller.start();
    await run({
      ...api,
      controller,
      events,
      publish: (...addresses) => publish(api, options.published ?? "endpointslices", addresses),
      createIngress: async (name, host, path = "/") => {
        await api.call("POST", ingresses, ingress(name, host, path));
      },
      startPod: (address, uid) => startPod(api.simulation.host("node"), address, uid),
      get: (host, path) => get(api.client, host, path),
    });
    await controller.stop();
  };
  await inApiWorld(inWorld, {}, options.seed);
}

export function ingress(name: string, host: string, path: string): object {
  const service = { name: "web", port: { number: 80 } };
  const paths = [{ path, pathType: "Prefix", backend: { service } }];
  return { metadata: { name }, spec: { rules: [{ host, http: { paths } }] } };
}

function stockController(
  { simulation }: ApiWorld,
  events: StockEvent[],
  { published = "endpointslices", refuse }: StockWorldOptions,
): StockController {
  const environment = simulation.host("ingress");
  const access = { name: "c1", server: "https://server:6443", token: "admin-token" };
  const cluster = fixedAccess(access);
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "stock" });
  const note = (what: StockEvent["what"], addresses: readonly string[]): void => {
    events.push({ what, atMs: simulation.now(), addresses });
  };
  const plane = new VirtualPlane({
    ...environment,
    host: "ingress",
    port: 80,
    onRouted: ([web]) => note("routed", web?.endpoints.map(({ address }) => address) ?? []),
    ...(refuse === undefined ? {} : { refuse }),
  });
  const noted: StockPlane = {
    address: plane.address,
    start: () => plane.start(),
    stop: () => plane.stop(),
    reload: async (servers, signal) => {
      await plane.reload(servers, signal);
      note("reload", []);
    },
    push: async (backends, signal) => {
      await plane.push(backends);
      signal.throwIfAborted();
      note("push", backends[0]?.endpoints.map(({ address }) => address) ?? []);
    },
  };
  return new StockController({ ...environment, client, cluster: "c1", published, plane: noted });
}

async function publish(
  { call }: ApiWorld,
  form: Published["form"],
  addresses: readonly string[],
): Promise<void> {
  const [path, object] =
    form === "endpointslices" ? [slices, slice(addresses)] : [endpoints, subsets(addresses)];
  const { status } = await call("POST", path, object);
  if (status === 409) await call("PUT", `${path}/web`, object);
}

function slice(addresses: readonly string[]): object {
  return {
    metadata: { name: "web", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: "", port: 8080, protocol: "TCP" }],
  };
}

function subsets(addresses: readonly string[]): object {
  const ready = addresses.map((ip) => ({ ip }));
  const ports = [{ port: 8080, protocol: "TCP" }];
  return {
    metadata: { name: "web" },
    subsets: ready.length === 0 ? [] : [{ addresses: ready, ports }],
  };
}

async function startPod(
  { network }: Environment,
  address: string,
  uid: string,
): Promise<{ stop(): Promise<void> }> {
  const listener = await network.listen({ host: address, port: 8080 }, (exchange) => {
    const body = Buffer.from(JSON.stringify({ uid, address }));
    exchange.respond(200, { "content-type": "application/json" }).end(body);
  });
  return { stop: () => listener.close() };
}

async function get(client: Environment, host: string, path: string): Promise<StockAnswer> {
  const url = `http://ingress:80${path}`;
  const response = await client.network.request({ method: "GET", url, headers: { host } });
  let body = "";
  for await (const chunk of response.body) body += Buffer.from(chunk).toString("utf8");
  return { status: response.status, body, upstreams: response.headers["x-upstream"] };
}
