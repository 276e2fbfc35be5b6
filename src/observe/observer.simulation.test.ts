import { describe, expect, test } from "vitest";
import {
  inObserverWorld,
  type ObserverWorld,
  observerHost,
  summary,
} from "../../tests/observer/observer-world.ts";
import { monotonicAfter } from "../environment/clock.ts";
import type { Observer } from "./observer.ts";

/** A service whose one pod is published. */
async function furnish(world: ObserverWorld, cluster: string): Promise<void> {
  await world.addService(cluster, "web");
  await world.addPod(cluster, "web-1", "10.0.0.1");
  await world.publish(cluster, "web", ["10.0.0.1"]);
}

/** A second one, published a little later. */
async function change(world: ObserverWorld, cluster: string): Promise<void> {
  await world.addPod(cluster, "web-2", "10.0.0.2");
  await world.simulation.sleep(100);
  await world.publish(cluster, "web", ["10.0.0.1", "10.0.0.2"]);
}

function states(observer: Observer): readonly string[] {
  return observer.clusters().map(({ cluster, state }) => `${cluster} ${state.type}`);
}

describe("clusters stand alone:", () => {
  test("one that does not answer delays no other, and joins when it comes", () =>
    inObserverWorld(async (world) => {
      const { simulation } = world;
      await world.startCluster("east");
      await furnish(world, "east");
      simulation.host("west");
      const { observer, over } = world.watch({ clusters: ["west", "east"] });
      expect(states(observer)).toEqual(["west connecting", "east connecting"]);
      observer.start();
      await simulation.sleep(5_000);
      expect(states(observer)).toEqual(["west unreachable", "east watching"]);
      await change(world, "east");
      await simulation.sleep(1_000);
      const hops = "pod east shown, published east shown";
      expect(summary(over)).toEqual([`east: shop/web 10.0.0.2 join, complete: ${hops}`]);
      await world.startCluster("west");
      await furnish(world, "west");
      await simulation.sleep(60_000);
      expect(states(observer)).toEqual(["west watching", "east watching"]);
      // An endpoint that exists at the start is no change.
      expect(over).toHaveLength(1);
      await change(world, "west");
      await simulation.sleep(1_000);
      expect(over).toHaveLength(2);
    }));

  test("one that is cut off is unreachable since its last data, until it answers again", () =>
    inObserverWorld(async (world) => {
      const { simulation } = world;
      await world.startCluster("east");
      await furnish(world, "east");
      const { observer, over } = world.watch({ clusters: ["east"] });
      observer.start();
      await observer.waitForSync();
      await simulation.sleep(30_000);
      const cutAt = simulation.host(observerHost).clock.monotonicMs();
      simulation.network.partition(observerHost, "east");
      await simulation.sleep(5_000);
      await change(world, "east");
      await simulation.sleep(60_000);
      const [status] = observer.clusters();
      expect(status?.state).toMatchObject({ type: "unreachable" });
      const since = status?.state.type === "unreachable" ? status.state.since : undefined;
      expect(since).toBeGreaterThanOrEqual(cutAt);
      expect(since).toBeLessThanOrEqual(monotonicAfter(cutAt, 15_000));
      simulation.network.heal(observerHost, "east");
      await simulation.sleep(60_000);
      expect(states(observer)).toEqual(["east watching"]);
      // It came to light when the watch came back, and may have happened at any time since the cut.
      expect(over.map(({ origin }) => origin)).toEqual([
        { at: expect.any(Number), notBefore: expect.any(Number) },
      ]);
      const [origin] = over.map((journey) => journey.origin);
      expect(origin?.notBefore).toBeLessThanOrEqual(cutAt);
      expect(origin?.at).toBeGreaterThan(monotonicAfter(cutAt, 65_000));
      await world.publish("east", "web", ["10.0.0.1"]);
      await world.removePod("east", "web-2");
      await simulation.sleep(5_000);
      // By now the watch is proved to keep up again.
      expect(over.at(-1)?.origin.notBefore).toBeUndefined();
    }));

  test("a watch that is behind makes its hop doubtful, in words, and no other", () =>
    inObserverWorld(async (world) => {
      const { simulation } = world;
      await world.startCluster("east");
      await world.startCluster("west");
      for (const cluster of ["east", "west"]) await furnish(world, cluster);
      const { observer } = world.watch({ clusters: ["east", "west"], nodes: false });
      observer.start();
      await observer.waitForSync();
      await simulation.sleep(30_000);
      expect(observer.clusters().flatMap(({ doubts }) => doubts)).toEqual([]);
      const rules = [{ match: { resource: "pods" }, errors: { rate: 1, code: 503 } }] as const;
      world.servers.get("east")?.faults.setRules(rules);
      simulation.network.resetConnections(observerHost, "east");
      await simulation.sleep(150_000);
      const [east, west] = observer.clusters();
      expect({ state: east?.state.type, doubts: east?.doubts }).toEqual({
        state: "watching",
        doubts: [
          "the watch of pods in east is stale, so pod times may be late: east:6443 has not been " +
            "reached for over 165 s: the server is currently unable to handle the request",
        ],
      });
      expect(west?.doubts).toEqual([]);
    }));
});

test("a change is blamed on the node that was lost", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east");
    await world.call("east", "POST", "/api/v1/nodes", { metadata: { name: "n" } });
    await furnish(world, "east");
    const { observer, events } = world.watch({ clusters: ["east"] });
    observer.start();
    await observer.waitForSync();
    const conditions = (status: string) => ({
      status: { conditions: [{ type: "Ready", status }] },
    });
    await world.call("east", "PATCH", "/api/v1/nodes/n/status", conditions("Unknown"));
    await world.simulation.sleep(100);
    const pod = "/api/v1/namespaces/shop/pods/web-1/status";
    await world.call("east", "PATCH", pod, conditions("False"));
    await world.simulation.sleep(5_000);
    expect(
      events.map(({ type, journey }) => `${type} ${journey.direction} ${journey.cause}`),
    ).toEqual(["shown leave node not ready"]);
  }));

test("stopping and starting again invents nothing", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east");
    await furnish(world, "east");
    const first = world.watch({ clusters: ["east"] });
    first.observer.start();
    await first.observer.waitForSync();
    await change(world, "east");
    await world.simulation.sleep(1_000);
    await first.observer.stop();
    await first.observer.stop();
    expect(first.over).toHaveLength(1);
    await world.removePod("east", "web-1");
    await world.publish("east", "web", ["10.0.0.2"]);
    const second = world.watch({ clusters: ["east"] });
    second.observer.start();
    await world.simulation.sleep(60_000);
    expect(second.events).toEqual([]);
    expect(second.observer.run.name).not.toBe(first.observer.run.name);
  }));

test.each(["services", "pods", "endpointslices"])(
  "a first list that takes long makes no change of what was there: %s",
  (resource) =>
    inObserverWorld(async (world) => {
      await world.startCluster("east");
      await furnish(world, "east");
      const rule = { match: { resource, verbs: ["list"] }, latency: 25_000 } as const;
      world.servers.get("east")?.faults.setRules([rule]);
      const { observer, events } = world.watch({ clusters: ["east"] });
      observer.start();
      await world.simulation.sleep(20_000);
      expect(states(observer)).toEqual(["east listing"]);
      await world.simulation.sleep(60_000);
      expect(states(observer)).toEqual(["east watching"]);
      expect(events).toEqual([]);
    }),
);

test("every request is within the rate of its cluster, and watches pass", () =>
  inObserverWorld(async (world) => {
    const { simulation } = world;
    for (const cluster of ["east", "west"]) {
      await world.startCluster(cluster);
      await furnish(world, cluster);
    }
    const { observer } = world.watch({ clusters: ["east", "west"], maxQps: 2 });
    const { signal } = new AbortController();
    await observer.permissions(signal);
    await observer.preview(signal);
    observer.start();
    await observer.waitForSync();
    await simulation.sleep(120_000);
    for (const cluster of ["east", "west"]) {
      const times = world
        .seen(cluster)
        .filter(({ what }) => !what.startsWith("WATCH"))
        .map(({ atMs }) => atMs);
      expect(times.length).toBeGreaterThan(20);
      // Two may come at once, and from then on one in half a second, but for the way there.
      const most = Math.max(
        ...times.map((from) => times.filter((at) => at >= from && at < from + 5_000).length),
      );
      expect(most).toBeLessThanOrEqual(2 + 2 * 5 + 1);
    }
    expect(states(observer)).toEqual(["east watching", "west watching"]);
  }));
