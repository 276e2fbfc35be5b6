import { describe, expect, test } from "vitest";
import {
  type ClusterOptions,
  inObserverWorld,
  type ObserverWorld,
  observerHost,
  summary,
} from "../../tests/observer/observer-world.ts";
import { monotonicAfter } from "../environment/clock.ts";

const slices = ["discovery.k8s.io"];

/** A pod of `web` joins in both namespaces and is published in `shop`. */
async function changeBoth(world: ObserverWorld, cluster: string): Promise<void> {
  await world.addPod(cluster, "web-1", "10.0.0.1");
  await world.addPod(cluster, "web-1", "10.0.0.2", "other");
  await world.publish(cluster, "web", ["10.0.0.1"]);
  await world.simulation.sleep(5_000);
}

async function services(
  world: ObserverWorld,
  cluster: string,
  options: ClusterOptions = {},
): Promise<void> {
  await world.startCluster(cluster, options);
  for (const namespace of ["shop", "other"]) await world.addService(cluster, "web", namespace);
}

describe("what is observed is bounded:", () => {
  test("by namespaces, each watched by itself, so that rights in them are enough", () =>
    inObserverWorld(async (world) => {
      await services(world, "east", { hasRules: true });
      await world.allow("east", ["services", "pods", "endpointslices"], { namespace: "shop" });
      const options = { clusters: ["east"], user: "reader", namespaces: ["shop"] } as const;
      const { observer, over } = world.watch(options);
      observer.start();
      await observer.waitForSync();
      await changeBoth(world, "east");
      const hops = "pod east shown, published east shown";
      expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${hops}`]);
      const asked = world.seen("east");
      expect(new Set(asked.map(({ what }) => what))).toEqual(
        new Set([
          "GET /apis/discovery.k8s.io/v1",
          "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
          "GET /api/v1/namespaces/shop/services",
          "GET /api/v1/namespaces/shop/pods",
          "GET /apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
        ]),
      );
      expect(asked.filter(({ code }) => code >= 400)).toEqual([]);
      expect(observer.clusters()[0]?.lost).toEqual([]);
    }));

  test("by services, whose namespaces are then the only ones watched", () =>
    inObserverWorld(async (world) => {
      await services(world, "east");
      await world.addService("east", "api");
      const { observer, over } = world.watch({ clusters: ["east"], services: ["shop/web"] });
      observer.start();
      await observer.waitForSync();
      await world.addPod("east", "api-1", "10.0.0.9");
      await changeBoth(world, "east");
      expect(over.map(({ endpoint }) => endpoint.service)).toEqual(["shop/web"]);
      expect(observer.journeys.pending()).toEqual([]);
      const watched = observer.clusters().flatMap(({ watches }) => watches);
      expect(watched.map(({ resource, namespace }) => `${resource} ${namespace}`)).toEqual([
        "services shop",
        "pods shop",
        "endpointslices shop",
      ]);
    }));

  test("also of what proxies tell, who know of everything", () =>
    inObserverWorld(async (world) => {
      await services(world, "east");
      const { observer, over } = world.watch({ clusters: ["east"], namespaces: ["shop"] });
      observer.start();
      await observer.waitForSync();
      const replica = observer.replica("edge-0");
      const { clock } = world.simulation.host(observerHost);
      replica.began(new Map(), clock.monotonicMs());
      await changeBoth(world, "east");
      for (const service of ["shop/web", "other/web"]) {
        const endpoints = [{ address: "10.0.0.1", port: 8080 }];
        replica.routed(service, endpoints, monotonicAfter(clock.monotonicMs(), 0));
      }
      await world.simulation.sleep(5_000);
      expect(over.map(({ endpoint }) => endpoint.service)).toEqual(["shop/web"]);
      expect(observer.journeys.pending()).toEqual([]);
    }));
});

describe("what counts as published", () => {
  test("are Endpoints where the server has no slices", () =>
    inObserverWorld(async (world) => {
      await world.startCluster("old", { without: slices });
      await world.addService("old", "web");
      const { observer, over } = world.watch({ clusters: ["old"], accessClusters: ["old"] });
      observer.start();
      await observer.waitForSync();
      await world.addPod("old", "web-1", "10.0.0.1");
      await world.call("old", "POST", "/api/v1/namespaces/shop/endpoints", {
        metadata: { name: "web" },
        subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ name: "http", port: 8080 }] }],
      });
      await world.simulation.sleep(5_000);
      const hops = "pod old shown, published old shown";
      expect(summary(over)).toEqual([`old: shop/web 10.0.0.1 join, complete: ${hops}`]);
      expect(observer.clusters()[0]?.lost.map(({ sentence }) => sentence)).toEqual([
        "old has no EndpointSlices (Kubernetes 1.21 or later has them), so synced times are unknown",
      ]);
      const [preview] = await observer.preview(new AbortController().signal);
      expect(preview?.kinds.map(({ resource }) => resource)).toEqual([
        "services",
        "pods",
        "endpoints",
        "nodes",
      ]);
    }));

  test("are Endpoints where that is asked for, whatever the slices say", () =>
    inObserverWorld(async (world) => {
      await services(world, "east");
      const { observer, over } = world.watch({ clusters: ["east"], form: "endpoints" });
      observer.start();
      await observer.waitForSync();
      await changeBoth(world, "east");
      expect(summary(over)).toEqual([]);
      expect(observer.journeys.pending()).toHaveLength(2);
    }));
});

describe("copies in an access cluster are seen at synced:", () => {
  const imported = {
    "multicluster.kubernetes.io/service-name": "web",
    "multicluster.kubernetes.io/source-cluster": "east",
    "endpointslice.kubernetes.io/managed-by": "somebody.example",
  };
  const synced = {
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "lockstep.dev",
    "lockstep.dev/source-cluster": "east",
  };

  test.each([
    ["lockstep sync", synced],
    ["the multi-cluster services API", imported],
  ])("by the labels of %s", (_, labels) =>
    inObserverWorld(async (world) => {
      await services(world, "east");
      await world.startCluster("edge");
      await world.publish("edge", "web", [], labels);
      const { observer, over } = world.watch({ clusters: ["east"], accessClusters: ["edge"] });
      observer.start();
      await observer.waitForSync();
      await changeBoth(world, "east");
      await world.publish("edge", "web", ["10.0.0.1"]);
      await world.simulation.sleep(5_000);
      const hops = "pod east shown, published east shown, synced edge shown";
      expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${hops}`]);
    }),
  );

  test("where pods run as well, by the same watch, and are not taken for its own", () =>
    inObserverWorld(async (world) => {
      await services(world, "east");
      await services(world, "edge");
      await world.publish("edge", "copied", [], synced);
      const both = ["east", "edge"];
      const { observer, over } = world.watch({ clusters: both, accessClusters: both });
      observer.start();
      await observer.waitForSync();
      await changeBoth(world, "east");
      await world.publish("edge", "copied", ["10.0.0.1"]);
      await world.simulation.sleep(5_000);
      const hops = "pod east shown, published east shown, synced edge shown";
      expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${hops}`]);
      const watches = observer.clusters().map((status) => status.watches.length);
      expect(watches).toEqual([4, 4]);
    }));

  test("also when the copier calls the cluster by another name", () =>
    inObserverWorld(async (world) => {
      await services(world, "east");
      await world.startCluster("edge");
      await world.publish("edge", "web", [], { ...synced, "lockstep.dev/source-cluster": "eu" });
      const { observer, over } = world.watch({ clusters: ["east"], accessClusters: ["edge"] });
      observer.start();
      await observer.waitForSync();
      await changeBoth(world, "east");
      await world.publish("edge", "web", ["10.0.0.1"]);
      await world.simulation.sleep(5_000);
      const hops = "pod east shown, published east shown, synced edge shown";
      expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${hops}`]);
    }));

  test("and are unknown where they list one address for all, as a gateway's", () =>
    inObserverWorld(async (world) => {
      await services(world, "east");
      await world.startCluster("edge");
      await world.publish("edge", "web", ["10.96.0.9"], imported);
      const { observer, over, events } = world.watch({
        clusters: ["east"],
        accessClusters: ["edge"],
      });
      observer.start();
      await observer.waitForSync();
      await world.simulation.sleep(15_000);
      await changeBoth(world, "east");
      await world.simulation.sleep(45_000);
      const hops = "pod east shown, published east shown";
      expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${hops}`]);
      expect(
        events.filter(({ type }) => type === "stuck").map(({ journey }) => journey.endpoint),
      ).toMatchObject([{ service: "other/web" }]);
    }));
});
