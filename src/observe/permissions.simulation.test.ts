import { expect, test } from "vitest";
import {
  inObserverWorld,
  type ObserverWorld,
  summary,
} from "../../tests/observer/observer-world.ts";
import { plannedWatches } from "./watch-plan.ts";

const { signal } = new AbortController();

const noPods =
  "Missing permission: list/watch pods in east. Effect: pod times are unknown; timing starts at " +
  "the EndpointSlice, after the endpoint controller";
const noNodes =
  "Missing permission: list/watch nodes in east. Effect: lost nodes are not shown as a cause";

async function readerWith(world: ObserverWorld, resources: readonly string[]): Promise<void> {
  await world.startCluster("east", { hasRules: true });
  await world.allow("east", resources);
  await world.addService("east", "web");
}

async function change(world: ObserverWorld): Promise<void> {
  await world.addPod("east", "web-1", "10.0.0.1");
  await world.publish("east", "web", ["10.0.0.1"]);
  await world.simulation.sleep(5_000);
}

test("without pods and nodes it says what that costs, before and after, and observes the rest", () =>
  inObserverWorld(async (world) => {
    await readerWith(world, ["services", "endpointslices"]);
    const { observer, over } = world.watch({ clusters: ["east"], user: "reader" });
    const [asked] = await observer.permissions(signal);
    expect(asked?.permissions.map(({ resource, verdict }) => `${resource} ${verdict}`)).toEqual([
      "services allowed",
      "pods denied",
      "endpointslices allowed",
      "nodes denied",
    ]);
    expect(asked?.lost.map(({ sentence }) => sentence)).toEqual([noPods, noNodes]);
    expect(asked?.lost.map(({ hop }) => hop)).toEqual(["pod", undefined]);
    observer.start();
    await observer.waitForSync();
    const [status] = observer.clusters();
    expect(status?.state).toEqual({ type: "watching" });
    expect(status?.lost).toEqual(asked?.lost);
    await change(world);
    const known = "published east shown";
    expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${known}`]);
  }));

test("what may be listed and not watched is unknown too, and nothing is stuck there", () =>
  inObserverWorld(async (world) => {
    await readerWith(world, ["services", "endpointslices"]);
    await world.allow("east", ["pods"], { verbs: ["list"] });
    const { observer, events, over } = world.watch({
      clusters: ["east"],
      user: "reader",
      nodes: false,
    });
    const [asked] = await observer.permissions(signal);
    expect(asked?.lost.map(({ sentence }) => sentence)).toEqual([noPods]);
    observer.start();
    await observer.waitForSync();
    await world.simulation.sleep(2_000);
    expect(observer.clusters().flatMap(({ lost }) => lost)).toEqual(asked?.lost);
    await change(world);
    await world.simulation.sleep(60_000);
    const known = "published east shown";
    expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${known}`]);
    expect(events.filter(({ type }) => type === "stuck")).toEqual([]);
  }));

test("Endpoints count as published where slices may not be read", () =>
  inObserverWorld(async (world) => {
    await readerWith(world, ["services", "pods", "endpoints"]);
    const { observer } = world.watch({ clusters: ["east"], user: "reader", nodes: false });
    expect((await observer.permissions(signal)).flatMap(({ lost }) => lost)).toEqual([]);
    observer.start();
    await observer.waitForSync();
    const watched = observer.clusters().flatMap(({ watches }) => watches);
    expect(watched.map(({ resource }) => resource)).toEqual(["services", "pods", "endpoints"]);
  }));

test("a right that is given later is used", () =>
  inObserverWorld(async (world) => {
    await readerWith(world, ["services", "endpointslices"]);
    const { observer, over } = world.watch({ clusters: ["east"], user: "reader", nodes: false });
    observer.start();
    await observer.waitForSync();
    await world.allow("east", ["pods"]);
    await world.simulation.sleep(90_000);
    expect(observer.clusters().flatMap(({ lost }) => lost)).toEqual([]);
    await change(world);
    const hops = "pod east shown, published east shown";
    expect(summary(over)).toEqual([`east: shop/web 10.0.0.1 join, complete: ${hops}`]);
  }));

test("a cluster that lets nothing be read is refused, and says so", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east", { hasRules: true });
    const { observer } = world.watch({ clusters: ["east"], user: "reader", nodes: false });
    const [asked] = await observer.permissions(signal);
    expect(asked?.lost.map(({ resource, hop }) => `${resource} ${hop}`)).toEqual([
      "services pod",
      "pods pod",
      "endpointslices published",
    ]);
    observer.start();
    await world.simulation.sleep(5_000);
    expect(observer.clusters()[0]?.state).toEqual({
      type: "refused",
      detail:
        'services is forbidden: User "reader" cannot list resource "services" in API group "" at ' +
        "the cluster scope",
    });
  }));

test("where access cannot be reviewed, what is refused shows when it is tried", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east", {
      without: ["authorization.k8s.io"],
      hasRules: true,
    });
    await world.allow("east", ["services", "endpointslices"]);
    const { observer } = world.watch({ clusters: ["east"], user: "reader", nodes: false });
    const [asked] = await observer.permissions(signal);
    expect(asked?.permissions.map(({ verdict }) => verdict)).toEqual([
      "unknown",
      "unknown",
      "unknown",
    ]);
    expect(asked).toMatchObject({ lost: [], problem: undefined });
    observer.start();
    await observer.waitForSync();
    const lost = observer.clusters().flatMap((status) => status.lost);
    expect(lost.map(({ sentence }) => sentence)).toEqual([noPods]);
  }));

test("each namespace is asked about only where not all may be read", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east", { hasRules: true });
    await world.allow("east", ["services", "endpointslices"]);
    await world.allow("east", ["pods"], { namespace: "shop" });
    const namespaces = ["shop", "other"];
    const { observer } = world.watch({ clusters: ["east"], user: "reader", namespaces });
    const [asked] = await observer.permissions(signal);
    const verdicts = asked?.permissions.map(
      ({ resource, namespace, verdict }) => `${resource} ${namespace} ${verdict}`,
    );
    expect(verdicts).toEqual([
      "services shop allowed",
      "pods shop allowed",
      "endpointslices shop allowed",
      "services other allowed",
      "pods other denied",
      "endpointslices other allowed",
    ]);
    expect(asked?.lost.map(({ namespace, hop }) => `${namespace} ${hop}`)).toEqual(["other pod"]);
    const reviews = world.seen("east").filter(({ what }) => what.startsWith("POST"));
    // Whether slices may be read at all, then list and watch of two kinds; of pods a no everywhere,
    // a yes for both verbs, and a no.
    expect(reviews).toHaveLength(2 + 2 * 2 + 1 + 2 + 1);
  }));

test("a cluster that does not answer says why, and the others are not kept waiting by it", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east");
    world.simulation.host("west");
    const { observer } = world.watch({ clusters: ["west", "east"] });
    const [west, east] = await observer.permissions(signal);
    expect(west?.problem).toBe("west:6443: connection refused");
    expect(east).toMatchObject({ lost: [], problem: undefined });
    expect(world.simulation.now()).toBeLessThan(15_000);
  }));

test.each([
  { accessClusters: [], form: "endpointslices" },
  { accessClusters: ["east"], form: "endpointslices" },
  { accessClusters: ["east"], form: "endpoints" },
  { accessClusters: [], form: "endpoints", namespaces: ["shop", "other"] },
] as const)("what is planned is what is watched: %j", (options) =>
  inObserverWorld(async (world) => {
    await world.startCluster("east");
    const { observer } = world.watch({ clusters: ["east"], ...options });
    observer.start();
    await observer.waitForSync();
    const part = {
      isBusiness: true,
      isAccess: options.accessClusters.length > 0,
      namespaces: "namespaces" in options ? options.namespaces : undefined,
      nodes: !("namespaces" in options),
    };
    const watched = observer
      .clusters()
      .flatMap(({ watches }) => watches)
      .map(({ resource, namespace, purposes }) => ({ resource, namespace, purposes }));
    expect(watched).toEqual(plannedWatches(part, options.form));
  }),
);
