// Shops in two business clusters, copied by `lockstep sync` as a process to an access cluster, whose
// stock ingress and Lockstep, both with real nginx, serve the Ingresses of the other two. The clusters
// are embedded ones or real ones.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { type KubeRequest, parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import type { ClusterAccess } from "../src/kube/credentials/credentials.ts";
import { endpointSliceKind } from "../src/kube/kinds/endpoint-slice.ts";
import { isRecord, listAt } from "../src/kube/kinds/fields.ts";
import type { KubeconfigContext } from "../src/lab/kubeconfig.ts";
import { LivePlane } from "../src/lab/stock/live/live-plane.ts";
import { StockController } from "../src/lab/stock/stock-controller.ts";
import { Observer } from "../src/observe/observer.ts";
import type { Journey } from "../src/timeline/journey.ts";
import { IngressProcess } from "./ingress-process.ts";
import { textOf } from "./proxy-world.ts";
import { ShopsWorld } from "./shops-world.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const deployment = "/apis/apps/v1/namespaces/default/deployments/shop-1";
const service = "/api/v1/namespaces/default/services/shop-1";

/** The shops' own Ingress is for the stock ingress, the other one for Lockstep. */
const config = (one: string, two: string, edge: string): string => `
sources: [${one}, ${two}]
target: ${edge}
namespaces: [default]
ingresses:
  classes: { lockstep: stock, own: lockstep }
  hosts: [{ from: "*.example", to: "*.shop.test" }]
`;
const stockHost = "shop-1.shop.test";
const ownHost = "own.shop.test";

/** Two business clusters, each with pods, and the access cluster; the names are those of contexts. */
export interface ThreeClusters {
  readonly accesses: readonly [ClusterAccess, ClusterAccess, ClusterAccess];
  readonly contexts: readonly KubeconfigContext[];
}

/**
 * Business clusters deploy, scale, roll and delete; the access cluster and its ingresses follow. Resolves
 * with what the ingresses answer when everything is deleted.
 */
export async function followShops(clusters: ThreeClusters): Promise<readonly number[]> {
  const { one, two, edge, stop } = await openShops(clusters);
  try {
    await createOwnIngress(one);
    const over: Journey[] = [];
    const observer = observe([one, two], edge, (journey) => over.push(journey));
    one.atStop(() => observer.stop());
    const sync = await startSync(one, config(one.name, two.name, edge.name));
    one.atStop(() => sync.stop());
    const inStep = () => {
      sync.check();
      return isInStep([one, two], edge);
    };
    await one.until("the first copies are there", inStep);
    observer.start();
    await observer.waitForSync(AbortSignal.timeout(60_000));

    const stock = await startStock(one, edge);
    const lockstep = await IngressProcess.start(one.world, "lockstep", ["--context", edge.name]);
    const proxies = [
      { address: stock, host: stockHost },
      { address: lockstep.address, host: ownHost },
    ];
    const serve = () => serveExactly(one, proxies, [one, two]);
    await one.until("both ingresses reach the pods of both clusters", serve);

    await one.call("PATCH", deployment, { spec: { replicas: 4 } });
    await one.until("the new pods are copied", async () => {
      const ready = (await one.pods()).filter(({ isReady }) => isReady);
      return ready.length === 4 && (await inStep());
    });
    await two.world.roll("2");
    await two.world.released("2");
    await one.until("the rolled pods are copied", inStep);
    await one.until("both ingresses serve the pods of now", serve);

    await one.call("DELETE", service);
    await one.call("DELETE", deployment);
    await one.until("only the second cluster is copied", () => isInStep([two], edge));
    await one.until("both ingresses serve the second cluster", () =>
      serveExactly(one, proxies, [two]),
    );
    // The scaling has two additions, the release two additions and two removals.
    for (const [direction, count] of [
      ["join", 4],
      ["leave", 2],
    ] as const) {
      await one.until(`${count} journeys of ${direction} have every hop`, () => {
        const complete = over.filter((one) => one.direction === direction && isComplete(one));
        return complete.length >= count;
      });
    }

    await two.call("DELETE", service);
    await one.until("nothing is left of the copies", async () => {
      const { items } = Object(await edge.call("GET", ingresses));
      return items.length === 0 && (await addressesIn(edge)).size === 0;
    });
    const statuses = async () =>
      (await Promise.all(proxies.map((proxy) => ask(one, proxy)))).map(({ status }) => status);
    await one.until("no ingress has a route of the hosts", async () =>
      (await statuses()).every((status) => status === 404),
    );
    return await statuses();
  } finally {
    await stop();
  }
}

interface Proxy {
  readonly address: string;
  readonly host: string;
}

/** One cluster with the requests of its administrator. */
class Admin {
  readonly world: ShopsWorld;
  readonly client: HttpKubeClient;
  readonly name: string;

  constructor(name: string, world: ShopsWorld, client: HttpKubeClient) {
    this.name = name;
    this.world = world;
    this.client = client;
  }

  atStop(undo: () => Promise<void>): void {
    this.world.atStop(undo);
  }

  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    return this.world.until(what, holds);
  }

  pods() {
    return this.world.pods();
  }

  call(method: KubeRequest["method"], path: string, body?: object): Promise<unknown> {
    return call(this.client, method, path, body);
  }
}

async function call(
  client: HttpKubeClient,
  method: KubeRequest["method"],
  path: string,
  body?: object,
): Promise<unknown> {
  const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const request = { verb: "get", method, path, contentType, deadlineMs: 30_000 } as const;
  return parseJson(await client.request(body === undefined ? request : { ...request, body }));
}

type Edge = Pick<Admin, "call" | "client" | "name">;

async function openShops({ accesses, contexts }: ThreeClusters) {
  const environment = nodeEnvironment({ log: { write: () => undefined } });
  const worlds: ShopsWorld[] = [];
  const stop = async () => {
    for (const world of worlds) await world.stop();
  };
  const clientOf = (access: ClusterAccess) =>
    new HttpKubeClient({ ...environment, cluster: access, userAgent: "e2e" });
  const admin = async (access: ClusterAccess) => {
    const host = { access, contexts, stop: async () => undefined };
    const world = await ShopsWorld.startIn(host, { shops: 1, replicas: 2 });
    worlds.push(world);
    return new Admin(access.name, world, clientOf(access));
  };
  const [first, second, third] = accesses;
  try {
    const one = await admin(first);
    const two = await admin(second);
    const client = clientOf(third);
    const edge: Edge = {
      name: third.name,
      client,
      call: (method, path, body) => call(client, method, path, body),
    };
    return { one, two, edge, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createOwnIngress(one: Admin): Promise<void> {
  const backend = { service: { name: "shop-1", port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  const spec = { ingressClassName: "own", rules: [{ host: "own.example", http }] };
  await one.call("POST", ingresses, { metadata: { name: "own" }, spec });
}

interface Sync {
  check(): void;
  stop(): Promise<void>;
}

/** As a user starts it. */
async function startSync({ world }: Admin, text: string): Promise<Sync> {
  const file = `${world.folder}/sync.yaml`;
  await world.environment.files.write(file, text);
  const clusters = ["--config", file, "--kubeconfig", await world.kubeconfigFile()];
  const child = spawn(process.execPath, ["bin/lockstep.mjs", "sync", ...clusters], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
  });
  return {
    /** Fails when it has ended, which no wait would mend. */
    check: () => {
      if (child.exitCode !== null) throw new Error(`sync ended: ${said}`);
    },
    stop: async () => {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGINT");
      await exited;
    },
  };
}

function observe(
  sources: readonly Admin[],
  edge: Edge,
  onOver: (journey: Journey) => void,
): Observer {
  const { environment } = sources[0]?.world ?? {};
  if (environment === undefined) throw new Error("there is no source");
  return new Observer({
    ...environment,
    clusters: sources.map(({ name, client }) => ({
      cluster: name,
      client,
      form: "endpointslices",
    })),
    accessClusters: [{ cluster: edge.name, client: edge.client }],
    onEvent: ({ type, journey }) => {
      if (type === "over") onOver(journey);
    },
  });
}

/** The address of an nginx with the configuration of the stock ingress. */
async function startStock({ world }: Admin, { client, name }: Edge): Promise<string> {
  const { environment, folder } = world;
  const plane = new LivePlane({
    ...environment,
    prefix: `${folder}/stock`,
    host: "127.0.0.1",
    port: 0,
  });
  const controller = new StockController({
    ...environment,
    client,
    cluster: name,
    published: "endpointslices",
    ingressClass: "stock",
    plane,
  });
  world.atStop(() => controller.stop());
  await controller.start();
  return plane.address;
}

/** Whether each proxy, asked again and again, is answered by all pods of these clusters alone. */
async function serveExactly(
  { world }: Admin,
  proxies: readonly Proxy[],
  clusters: readonly Admin[],
): Promise<boolean> {
  const pods = (await Promise.all(clusters.map((one) => one.pods()))).flat();
  const expected = new Set(pods.filter(({ isLeaving }) => !isLeaving).map(({ uid }) => uid));
  for (const proxy of proxies) {
    const found = new Set<string>();
    for (
      let request = 0;
      request < 10 * expected.size && found.size < expected.size;
      request += 1
    ) {
      const { status, uid } = await ask({ world }, proxy);
      if (status !== 200 || !expected.has(uid)) return false;
      found.add(uid);
    }
    if (found.size < expected.size) return false;
  }
  return true;
}

async function ask({ world }: Pick<Admin, "world">, { address, host }: Proxy) {
  const { network } = world.environment;
  const request = { method: "GET", url: `http://${address}/`, headers: { host } };
  const { status, body } = await network.request(request);
  const uid = /"uid":"([^"]+)"/.exec(await textOf(body))?.[1] ?? "";
  return { status, uid };
}

/** Whether the access cluster lists exactly the ready pods of these clusters. */
async function isInStep(clusters: readonly Admin[], edge: Edge): Promise<boolean> {
  const pods = (await Promise.all(clusters.map((one) => one.pods()))).flat();
  const ready = pods.filter(({ isReady, isLeaving }) => isReady && !isLeaving);
  const copied = await addressesIn(edge);
  return copied.size === ready.length && ready.every(({ address }) => copied.has(address));
}

async function addressesIn(edge: Edge): Promise<ReadonlySet<string>> {
  const list = await edge.call("GET", slices);
  const items = isRecord(list) ? listAt(list, "items") : [];
  return new Set(
    items
      .map((raw) => endpointSliceKind.project(raw))
      .filter(({ metadata }) => metadata.labels["lockstep.dev/source-cluster"] !== undefined)
      .flatMap(({ endpoints }) => endpoints.filter(({ ready }) => ready === true))
      .flatMap(({ addresses }) => addresses),
  );
}

function isComplete({ outcome, hops }: Journey): boolean {
  const shown = hops.filter(({ state }) => state.type === "shown").map(({ hop }) => hop);
  return outcome === "complete" && shown.join(" ") === "pod published synced";
}
