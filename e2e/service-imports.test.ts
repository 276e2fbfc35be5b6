// Two business clusters behind one HTTPRoute of an access cluster, by a ServiceImport, through the lab,
// `lockstep ingress` and nginx as users run them.
import { webcrypto } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import type { ClusterAccess } from "../src/kube/credentials/credentials.ts";
import { isRecord, listAt, recordAt } from "../src/kube/kinds/fields.ts";
import { definitionsPath, gatewayDefinitions } from "../src/lab/gateway-definitions.ts";
import { type Lab, startLab } from "../src/lab/lab.ts";
import { exportDefinition, importDefinition } from "../tests/syncing/multicluster-definitions.ts";
import { IngressProcess } from "./ingress-process.ts";
import { textOf, withoutNginx } from "./proxy-world.ts";
import { type ShopPod, ShopsWorld } from "./shops-world.ts";

const api = "/apis/gateway.networking.k8s.io";
const multicluster = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/default";
const routes = `${api}/v1/namespaces/team/httproutes`;
const host = "shop.team.example";
const importKind = { group: "multicluster.x-k8s.io", kind: "ServiceImport" };

const environment = nodeEnvironment({ log: { write: () => undefined } });

class Admin {
  readonly access: ClusterAccess;
  readonly #client: HttpKubeClient;

  constructor(access: ClusterAccess) {
    this.access = access;
    this.#client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "e2e" });
  }

  async create(path: string, body: object): Promise<void> {
    await this.#client.request({ verb: "create", method: "POST", path, body });
  }

  async remove(path: string): Promise<void> {
    await this.#client.request({ verb: "delete", method: "DELETE", path });
  }

  async get(path: string): Promise<unknown> {
    return parseJson(await this.#client.request({ verb: "get", method: "GET", path }));
  }

  async isServed(path: string): Promise<boolean> {
    try {
      await this.get(path);
      return true;
    } catch {
      return false;
    }
  }
}

class ShopAdmin extends Admin {
  readonly world: ShopsWorld;

  constructor(world: ShopsWorld) {
    super(world.access);
    this.world = world;
  }

  exportShop(): Promise<void> {
    return this.create(`${multicluster}/serviceexports`, {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceExport",
      metadata: { name: "shop-1" },
    });
  }

  /** Those that should serve. */
  async pods(): Promise<readonly ShopPod[]> {
    return (await this.world.pods()).filter(({ isReady, isLeaving }) => isReady && !isLeaving);
  }
}

describe.skipIf(withoutNginx !== false)("a route to a ServiceImport", () => {
  let lab: Lab;
  let edge: Admin;
  let one: ShopAdmin;
  let two: ShopAdmin;
  let ingress: IngressProcess;

  const ask = async () => {
    const request = { method: "GET", url: `http://${ingress.address}/`, headers: { host } };
    const { status, body } = await environment.network.request(request);
    return { status, uid: /"uid":"([^"]+)"/.exec(await textOf(body))?.[1] ?? "" };
  };

  /** Whether requests reach all pods of these clusters, and no others. */
  const serve = async (clusters: readonly ShopAdmin[]): Promise<boolean> => {
    const pods = (await Promise.all(clusters.map((each) => each.pods()))).flat();
    const left = new Set(pods.map(({ uid }) => uid));
    for (let count = 10 * pods.length; count > 0 && left.size > 0; count -= 1) {
      const { status, uid } = await ask();
      if (status !== 200 || !pods.some((pod) => pod.uid === uid)) return false;
      left.delete(uid);
    }
    return pods.length > 0 && left.size === 0;
  };

  const resolvedRefs = async (): Promise<string> => {
    const found = await edge.get(`${routes}/shop`);
    const [parent] = isRecord(found) ? listAt(recordAt(found, "status"), "parents") : [];
    const conditions = isRecord(parent) ? listAt(parent, "conditions").filter(isRecord) : [];
    const { status, reason } = conditions.find(({ type }) => type === "ResolvedRefs") ?? {};
    return `${String(status)} ${String(reason)}`;
  };

  beforeAll(async () => {
    const size = { clusters: 3, apiservers: 1, nodes: 1, host: "127.0.0.1", firstPort: 0 };
    lab = await startLab({ environment, crypto: webcrypto, ...size });
    const withShop = async (access: ClusterAccess) => {
      const cluster = { access, contexts: lab.contexts, stop: async () => undefined };
      return new ShopAdmin(await ShopsWorld.startIn(cluster, { shops: 1, replicas: 2 }));
    };
    const [first, second, third] = lab.clusters.map(({ access }) => access);
    if (!first || !second || !third) throw new Error("the lab has too few clusters");
    [one, two] = await Promise.all([withShop(first), withShop(second)]);
    edge = new Admin(third);
    for (const each of [...gatewayDefinitions(), importDefinition]) {
      await edge.create(definitionsPath, each);
    }
    for (const each of [one, two]) {
      await each.create(definitionsPath, exportDefinition);
      await each.world.until("the kinds are there", () =>
        each.isServed(`${multicluster}/serviceexports`),
      );
    }
    await one.world.until("the kinds of routes are there", async () => {
      const paths = [routes, `${multicluster}/serviceimports`];
      return (await Promise.all(paths.map((path) => edge.isServed(path)))).every(
        (isServed) => isServed,
      );
    });
    ingress = await IngressProcess.start(one.world, "replica", [
      "--context",
      one.access.name,
      "--context",
      two.access.name,
      "--access-context",
      edge.access.name,
      "--publish-address",
      "127.0.0.1",
    ]);
    await edge.create("/api/v1/namespaces", { metadata: { name: "team" } });
    await edge.create(`${api}/v1/gatewayclasses`, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: "lockstep" },
      spec: { controllerName: "lockstep.dev/gateway" },
    });
    const port = Number(ingress.address.split(":")[1]);
    await edge.create(`${api}/v1/namespaces/team/gateways`, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "edge" },
      spec: { gatewayClassName: "lockstep", listeners: [{ name: "http", port, protocol: "HTTP" }] },
    });
    await edge.create(`${multicluster}/serviceimports`, {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceImport",
      metadata: { name: "shop-1" },
      // The Services have port 80, without a name too.
      spec: { type: "ClusterSetIP", ports: [{ port: 8080, protocol: "TCP" }] },
    });
    await two.exportShop();
    const backend = { ...importKind, namespace: "default", name: "shop-1", port: 8080 };
    await edge.create(routes, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "shop" },
      spec: {
        parentRefs: [{ name: "edge" }],
        hostnames: [host],
        rules: [{ backendRefs: [backend] }],
      },
    });
  });

  afterAll(async () => {
    await two?.world.stop();
    await one?.world.stop();
    await lab?.stop();
  });

  it("follows the pods of the clusters that export the service, where a grant allows it", async () => {
    await one.world.until("the route is refused", async () => (await ask()).status === 500);
    await one.world.until("its status says why", async () => {
      return (await resolvedRefs()) === "False RefNotPermitted";
    });
    await edge.create(`${api}/v1beta1/namespaces/default/referencegrants`, {
      apiVersion: "gateway.networking.k8s.io/v1beta1",
      kind: "ReferenceGrant",
      metadata: { name: "team" },
      spec: {
        from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "team" }],
        to: [importKind],
      },
    });
    await one.world.until("the exporting cluster serves", () => serve([two]));
    await one.world.until("its status has no problem", async () => {
      return (await resolvedRefs()) === "True ResolvedRefs";
    });
    await one.exportShop();
    await one.world.until("both clusters serve", () => serve([one, two]));
    const before = new Set((await two.pods()).map(({ uid }) => uid));
    await two.world.roll("2");
    const after = await two.world.released("2");
    expect(after.filter(({ uid }) => before.has(uid))).toEqual([]);
    await one.world.until("the new pods serve", () => serve([one, two]));
    await two.remove(`${multicluster}/serviceexports/shop-1`);
    await one.world.until("the other cluster serves alone", () => serve([one]));
  });
});
