// Routes to ServiceImports: their endpoints in the clusters that export the service, and the slices of a
// controller of the Multi-Cluster Services API where no watched cluster does.
import { expect, test } from "vitest";
import { rememberedWithinMs } from "../../src/ingress/ingress-loop.ts";
import { definitionsPath, gatewayDefinitions } from "../../src/lab/gateway-definitions.ts";
import { lookAgainMs } from "../../src/sources/multicluster-api.ts";
import { exportDefinition, importDefinition } from "../syncing/multicluster-definitions.ts";
import { type IngressWorld, inIngressWorld, type WorldCluster } from "./ingress-world.ts";

const api = "/apis/gateway.networking.k8s.io/v1";
const apiVersion = "gateway.networking.k8s.io/v1";
const multicluster = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/default";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const imported = "default/web:8080.import";
const ports = { http: new Map([[80, 80]]), https: new Map<number, number>() };

/** Until the server serves new kinds. */
const servedMs = 5_000;
const aMomentMs = 500;

/** The Services have port 80 and the ServiceImport 8080: they belong together by name. */
const importedPorts = [{ name: "http", port: 8080, protocol: "TCP" }];

const importOf = (name: string) => ({
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceImport",
  metadata: { name },
  spec: { type: "ClusterSetIP", ports: importedPorts },
});

async function exportWeb(cluster: WorldCluster): Promise<void> {
  await cluster.create(`${multicluster}/serviceexports`, {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { name: "web" },
  });
}

async function unexportWeb(cluster: WorldCluster): Promise<void> {
  await cluster.remove(`${multicluster}/serviceexports/web`);
}

async function route(east: WorldCluster): Promise<void> {
  await east.create(`${api}/gatewayclasses`, {
    apiVersion,
    kind: "GatewayClass",
    metadata: { name: "lockstep" },
    spec: { controllerName: "lockstep.dev/gateway" },
  });
  await east.create(`${api}/namespaces/default/gateways`, {
    apiVersion,
    kind: "Gateway",
    metadata: { name: "edge" },
    spec: {
      gatewayClassName: "lockstep",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  });
  const backend = {
    group: "multicluster.x-k8s.io",
    kind: "ServiceImport",
    name: "web",
    port: 8080,
  };
  await east.create(`${api}/namespaces/default/httproutes`, {
    apiVersion,
    kind: "HTTPRoute",
    metadata: { name: "web" },
    spec: {
      parentRefs: [{ name: "edge" }],
      hostnames: ["web.example"],
      rules: [{ backendRefs: [backend] }],
    },
  });
}

type Clusters = IngressWorld["clusters"];

/** Both clusters have the service, each with a pod of its own. */
async function webInBoth({ east, west }: Clusters): Promise<void> {
  await east.service("web");
  await east.pod("web-1", "web", "10.0.0.1");
  await west.service("web");
  await west.pod("web-1", "web", "10.8.0.1");
}

async function define({ east, west }: Clusters): Promise<void> {
  for (const one of gatewayDefinitions()) await east.create(definitionsPath, one);
  await east.create(definitionsPath, importDefinition);
  await east.create(definitionsPath, exportDefinition);
  await west.create(definitionsPath, exportDefinition);
}

const prepare: NonNullable<Parameters<typeof inIngressWorld>[1]>["before"] = async (
  clusters,
  simulation,
) => {
  await webInBoth(clusters);
  await define(clusters);
  await simulation.sleep(servedMs);
  await clusters.east.create(`${multicluster}/serviceimports`, importOf("web"));
  await route(clusters.east);
};

const refusal = (loop: IngressWorld["loop"]) =>
  loop.decisions.routes.hosts.get("web.example")?.[0]?.policy?.refuse;

const inEast = "east 10.0.0.1:8080";
const inWest = "west 10.8.0.1:8080";

test("only clusters that export the service count, and their pods are followed", () =>
  inIngressWorld(
    async ({ simulation, loop, clusters: { east, west }, active, nextApplied }) => {
      expect(active(imported)).toEqual([inWest]);
      await exportWeb(east);
      await simulation.sleep(aMomentMs);
      expect(active(imported)).toEqual([inEast, inWest]);
      const applied = nextApplied();
      await west.deletePod("web-1");
      await applied;
      expect(active(imported)).toEqual([inEast]);
      await unexportWeb(east);
      await unexportWeb(west);
      await simulation.sleep(aMomentMs);
      expect([active(imported), refusal(loop)]).toEqual([[], undefined]);
      expect(loop.decisions.truths.get(imported)?.truth.problems).toEqual([
        "no cluster exports the service default/web",
      ]);
    },
    {
      ports,
      before: async (clusters, simulation) => {
        await prepare(clusters, simulation);
        await exportWeb(clusters.west);
      },
    },
  ));

test("without exports in the watched clusters the slices of the ServiceImport count", () =>
  inIngressWorld(
    async ({ simulation, clusters: { east, west }, active, nextApplied }) => {
      expect(active(imported)).toEqual(["east 10.9.0.1:7000", "east 10.9.0.2:7000"]);
      const applied = nextApplied();
      await east.update(`${slices}/derived-far`, { endpoints: [{ addresses: ["10.9.0.2"] }] });
      await applied;
      expect(active(imported)).toEqual(["east 10.9.0.2:7000"]);
      // The same endpoints may be in the slices: then they would count twice, and follow them.
      await exportWeb(west);
      await simulation.sleep(aMomentMs);
      expect(active(imported)).toEqual([inWest]);
    },
    {
      ports,
      before: async (clusters, simulation) => {
        await prepare(clusters, simulation);
        await clusters.east.create(slices, {
          metadata: {
            name: "derived-far",
            labels: {
              "kubernetes.io/service-name": "derived-abc",
              "multicluster.kubernetes.io/service-name": "web",
              "multicluster.kubernetes.io/source-cluster": "far",
            },
          },
          addressType: "IPv4",
          ports: [{ name: "http", port: 7000 }],
          endpoints: ["10.9.0.1", "10.9.0.2"].map((address, at) => ({
            addresses: [address],
            // A pod of the far cluster, which no watch here knows.
            targetRef: { kind: "Pod", namespace: "default", name: `far-${at}`, uid: `far-${at}` },
          })),
        });
      },
    },
  ));

test("a route is refused while the kind or the ServiceImport is missing", () =>
  inIngressWorld(
    async ({ simulation, loop, clusters, active }) => {
      expect(refusal(loop)).toBe(500);
      await clusters.east.create(definitionsPath, importDefinition);
      for (const one of Object.values(clusters)) {
        await one.create(definitionsPath, exportDefinition);
      }
      await simulation.sleep(servedMs);
      await exportWeb(clusters.west);
      await simulation.sleep(lookAgainMs + aMomentMs);
      expect(refusal(loop)).toBe(500);
      await clusters.east.create(`${multicluster}/serviceimports`, importOf("web"));
      await simulation.sleep(aMomentMs);
      expect([refusal(loop), active(imported)]).toEqual([undefined, [inWest]]);
      await clusters.east.remove(`${multicluster}/serviceimports/web`);
      await simulation.sleep(aMomentMs);
      expect(refusal(loop)).toBe(500);
    },
    {
      ports,
      before: async (clusters, simulation) => {
        await webInBoth(clusters);
        for (const one of gatewayDefinitions()) await clusters.east.create(definitionsPath, one);
        await simulation.sleep(servedMs);
        await route(clusters.east);
      },
    },
  ));

test.each([
  ["serviceimports", 500, []],
  ["serviceexports", undefined, []],
])("without permission for %s the others are served", (forbidden, expected, endpoints) =>
  inIngressWorld(
    async ({ loop, active }) => {
      expect([loop.isReady, refusal(loop)]).toEqual([true, expected]);
      expect(active(imported)).toEqual(endpoints);
      expect(active("default/web:80")).toEqual([inEast, inWest]);
    },
    {
      ports,
      forbidden,
      before: async (clusters, simulation) => {
        await prepare(clusters, simulation);
        await exportWeb(clusters.west);
        await clusters.east.ingress("web", "web.test", "web");
      },
    },
  ),
);

test("a port that the ServiceImport does not have leads nowhere, and the report says so", () =>
  inIngressWorld(
    async ({ simulation, loop, clusters: { east }, active }) => {
      const spec = { ports: [{ name: "admin", port: 8080 }] };
      await east.update(`${multicluster}/serviceimports/web`, { spec });
      await simulation.sleep(aMomentMs);
      expect(active(imported)).toEqual([]);
      expect(loop.decisions.truths.get(imported)?.truth.problems).toEqual([
        "the service default/web in west has no port 8080",
      ]);
    },
    {
      ports,
      before: async (clusters, simulation) => {
        await prepare(clusters, simulation);
        await exportWeb(clusters.west);
      },
    },
  ));

test("after a restart, what is remembered serves until it is known what a cluster exports", () =>
  inIngressWorld(
    async ({ simulation, clusters, active }) => {
      await simulation.sleep(rememberedWithinMs + aMomentMs);
      expect(active(imported)).toEqual([inEast, inWest]);
      clusters.west.server.faults.setRules([]);
      // The longest wait of a watch before it tries again, by far.
      await simulation.sleep(2 * lookAgainMs);
      expect(active(imported)).toEqual([inEast]);
    },
    {
      ports,
      remembered: new Map([[imported, [{ cluster: "west", address: "10.8.0.1", port: 8080 }]]]),
      before: async (clusters, simulation) => {
        await prepare(clusters, simulation);
        await exportWeb(clusters.east);
        const match = { userAgent: "lockstep", resource: "serviceexports" };
        clusters.west.server.faults.setRules([{ match, errors: { rate: 1, code: 500 } }]);
      },
    },
  ));
