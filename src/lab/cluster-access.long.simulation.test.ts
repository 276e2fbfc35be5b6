import { describe, expect, it } from "vitest";
import type { RequestObserver } from "../apiserver/http/request-record.ts";
import { listAt, objectsAt, textAt, textMapAt, textsAt } from "../apiserver/kinds/fields.ts";
import type { Environment } from "../environment/environment.ts";
import { parseJson } from "../kube/client/client.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { isThorough } from "../simulation/seeds.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { Ledger } from "./kubelet/ledger.ts";

interface GuardedWorld {
  readonly simulation: Simulation;
  readonly cluster: Cluster;
  readonly user: Environment;
  readonly get: (path: string) => Promise<unknown>;
  readonly post: (path: string, body: object) => Promise<unknown>;
  /** Requests that the servers refused because of the user. */
  readonly refusals: readonly string[];
}

function inGuardedCluster(run: (world: GuardedWorld) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const user = simulation.host("user");
    const refusals: string[] = [];
    const observer: RequestObserver = {
      finished: (_, { code, failure }) => {
        const { message = "" } = failure ?? {};
        if (code === 401 || (code === 403 && message.includes("cannot"))) refusals.push(message);
      },
    };
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443],
      accessControl: true,
      nodes: 2,
      podNetwork: "10.7",
      ledger: new Ledger({ clock: user.clock }),
      flags: { "leader-elect": true },
      observers: [observer],
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    await run({
      simulation,
      cluster,
      user,
      refusals,
      get: async (path) => parseJson(await client.request({ verb: "get", method: "GET", path })),
      post: async (path, body) =>
        parseJson(await client.request({ verb: "create", method: "POST", path, body })),
    });
    await cluster.stop();
  });
}

describe("a cluster with controlled access", () => {
  it("gives its components the rights they need: a deployment is rolled out, moved and removed", () =>
    inGuardedCluster(async ({ simulation, cluster, get, post, refusals }) => {
      await post("/api/v1/namespaces", { metadata: { name: "shop" } });
      await post("/api/v1/namespaces/shop/services", {
        metadata: { name: "web" },
        spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
      });
      await post("/apis/apps/v1/namespaces/shop/deployments", {
        metadata: { name: "web" },
        spec: {
          replicas: 3,
          selector: { matchLabels: { app: "web" } },
          template: {
            metadata: { labels: { app: "web" } },
            spec: { containers: [{ name: "web", image: "web" }] },
          },
        },
      });
      await simulation.sleep(20_000);
      const endpoints = await get("/api/v1/namespaces/shop/endpoints/web");
      expect(listAt(objectsAt(endpoints, "subsets")[0], "addresses").length).toBe(3);
      if (isThorough(process.env)) {
        await cluster.removeFromCluster("blue-node-1");
        await simulation.sleep(400_000);
      }
      const client = new HttpKubeClient({
        ...simulation.host("user"),
        cluster: cluster.access,
        userAgent: "user",
      });
      await client.request({ verb: "delete", method: "DELETE", path: "/api/v1/namespaces/shop" });
      await simulation.sleep(isThorough(process.env) ? 60_000 : 35_000);
      const namespaces = objectsAt(await get("/api/v1/namespaces"), "items");
      expect(namespaces.map((one) => textAt(one, "metadata", "name"))).toEqual([
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
      ]);
      // The machine that was taken out goes on asking, and is not known any more.
      expect(refusals.filter((message) => message !== "Unauthorized")).toEqual([]);
    }));

  it("has an account and the authority's certificate in every namespace, and puts them back", () =>
    inGuardedCluster(async ({ simulation, cluster, get, post }) => {
      await post("/api/v1/namespaces", { metadata: { name: "shop" } });
      await simulation.sleep(2_000);
      const names = async (): Promise<readonly string[]> =>
        objectsAt(await get("/api/v1/serviceaccounts"), "items").map(
          (one) => `${textAt(one, "metadata", "namespace")}/${textAt(one, "metadata", "name")}`,
        );
      const all = ["default", "kube-node-lease", "kube-public", "kube-system", "shop"];
      expect(await names()).toEqual(all.map((namespace) => `${namespace}/default`));
      const client = new HttpKubeClient({
        ...simulation.host("user"),
        cluster: cluster.access,
        userAgent: "user",
      });
      const path = "/api/v1/namespaces/shop/serviceaccounts/default";
      await client.request({ verb: "delete", method: "DELETE", path });
      await simulation.sleep(2_000);
      expect(await names()).toEqual(all.map((namespace) => `${namespace}/default`));
    }));

  it("fills a Secret that asks for a token, which is good until its account goes", () =>
    inGuardedCluster(async ({ simulation, cluster, user, get, post }) => {
      await post("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "robot" } });
      await post("/api/v1/namespaces/default/secrets", {
        metadata: {
          name: "robot-token",
          annotations: { "kubernetes.io/service-account.name": "robot" },
        },
        type: "kubernetes.io/service-account-token",
      });
      await simulation.sleep(2_000);
      const secret = await get("/api/v1/namespaces/default/secrets/robot-token");
      const data = textMapAt(secret, "data");
      expect(Object.keys(data)).toEqual(["namespace", "token"]);
      const token = Buffer.from(data["token"] ?? "", "base64").toString("utf8");
      const status = async (): Promise<number> => {
        const { url = "" } = cluster.servers[0] ?? {};
        const headers = { authorization: `Bearer ${token}` };
        return (await user.network.request({ method: "GET", url: `${url}/apis`, headers })).status;
      };
      expect(await status()).toBe(200);
      const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
      const path = "/api/v1/namespaces/default/serviceaccounts/robot";
      await client.request({ verb: "delete", method: "DELETE", path });
      await simulation.sleep(2_000);
      expect(await status()).toBe(401);
      const left = objectsAt(await get("/api/v1/namespaces/default/secrets"), "items");
      expect(left).toEqual([]);
    }));

  it("sums up the roles for people, also from roles that come later", () =>
    inGuardedCluster(async ({ simulation, get, post }) => {
      await simulation.sleep(2_000);
      const resources = async (name: string): Promise<readonly string[]> => {
        const role = await get(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`);
        return objectsAt(role, "rules").flatMap((rule) => textsAt(rule, "resources"));
      };
      expect(await resources("view")).toContain("endpointslices");
      expect(await resources("view")).not.toContain("secrets");
      expect(await resources("admin")).toContain("secrets");
      await post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
        metadata: {
          name: "see-shops",
          labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" },
        },
        rules: [{ apiGroups: ["example.com"], resources: ["shops"], verbs: ["get"] }],
      });
      await simulation.sleep(2_000);
      for (const name of ["view", "edit", "admin"]) {
        expect(await resources(name)).toContain("shops");
      }
    }));
});
