import { expect, it } from "vitest";
import {
  inStockWorld,
  type StockEvent,
  type StockWorld,
} from "../../../tests/stock/stock-world.ts";

/** `--sync-rate-limit 0.3`: a token in this time. */
const syncEveryMs = 1_000 / 0.3;

/** Long enough for the limiter to be full and everything to be quiet. */
const quietMs = 20_000;

/** A stock proxy that routes to one pod, quiet, with the time of its last reload. */
async function settled(world: StockWorld): Promise<{ readonly workersSinceMs: number }> {
  await world.publish("10.1.0.1");
  await world.createIngress("shop", "shop.example");
  await world.simulation.sleep(quietMs);
  const reloads = world.events.filter(({ what }) => what === "reload");
  return { workersSinceMs: reloads.at(-1)?.atMs ?? 0 };
}

/** When the next poll of workers that began then comes. */
function nextPollMs(workersSinceMs: number, afterMs: number): number {
  return workersSinceMs + (Math.floor((afterMs - workersSinceMs) / 1_000) + 1) * 1_000;
}

function last(events: readonly StockEvent[], what: StockEvent["what"]): StockEvent | undefined {
  return events.findLast((event) => event.what === what);
}

it.each([0, 100, 1_000, 2_500, 3_200, 3_400, 9_000])(
  "hands over a change that comes %i ms after a sync when the limiter allows, and routes by it from the workers' next poll",
  async (gapMs) => {
    await inStockWorld(async (world) => {
      const { workersSinceMs } = await settled(world);
      await world.publish("10.1.0.2");
      await world.simulation.sleep(10);
      const firstPushMs = last(world.events, "push")?.atMs ?? 0;
      await world.simulation.sleep(gapMs);
      const changedMs = world.simulation.now();
      await world.publish("10.1.0.3");
      await world.simulation.sleep(quietMs);

      const push = last(world.events, "push");
      const expectedPushMs = Math.max(changedMs, firstPushMs + syncEveryMs);
      expect(push?.addresses).toEqual(["10.1.0.3"]);
      // The watch takes some milliseconds.
      expect(Math.abs((push?.atMs ?? 0) - expectedPushMs)).toBeLessThan(10);
      const routed = last(world.events, "routed");
      expect(routed?.addresses).toEqual(["10.1.0.3"]);
      expect(routed?.atMs).toBeCloseTo(nextPollMs(workersSinceMs, push?.atMs ?? 0), 6);
    });
  },
);

it("takes a burst of changes together in one sync, and one more that finds nothing", async () => {
  await inStockWorld(async (world) => {
    await settled(world);
    const before = world.controller.counts;
    await world.publish("10.1.0.2");
    await world.simulation.sleep(10);
    for (let number = 3; number <= 40; number += 1) await world.publish(`10.1.0.${number}`);
    await world.simulation.sleep(quietMs);
    const after = world.controller.counts;
    expect({
      pushes: after.pushes - before.pushes,
      syncs: after.syncs - before.syncs,
      idleSyncs: after.idleSyncs - before.idleSyncs,
      reloads: after.reloads - before.reloads,
    }).toEqual({ pushes: 2, syncs: 3, idleSyncs: 1, reloads: 0 });
    expect(last(world.events, "routed")?.addresses).toEqual(["10.1.0.40"]);
  });
});

it("reloads for a new route, and hands the backends over after that", async () => {
  await inStockWorld(async (world) => {
    await settled(world);
    const already = world.events.length;
    await world.createIngress("blog", "blog.example");
    await world.simulation.sleep(quietMs);
    expect(world.events.slice(already).map(({ what }) => what)).toEqual([
      "reload",
      "push",
      "routed",
    ]);
  });
});

it("waits a second with the backends of its first sync, until nginx listens", async () => {
  await inStockWorld(async (world) => {
    await settled(world);
    const [reload, push] = world.events;
    expect([reload?.what, push?.what]).toEqual(["reload", "push"]);
    expect((push?.atMs ?? 0) - (reload?.atMs ?? 0)).toBeCloseTo(1_000, 6);
  });
});

it("does not look at what else is written into a slice", async () => {
  await inStockWorld(async (world) => {
    await settled(world);
    const { syncs } = world.controller.counts;
    const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web";
    const patch = { metadata: { annotations: { touched: "yes" } } };
    const contentType = "application/merge-patch+json";
    const { status } = await world.call("PATCH", path, patch, { contentType });
    await world.simulation.sleep(quietMs);
    expect(status).toBe(200);
    expect(world.controller.counts.syncs).toBe(syncs);
  });
});

it("reads Endpoints where those are what it watches", async () => {
  await inStockWorld(
    async (world) => {
      await settled(world);
      await world.publish("10.1.0.7", "10.1.0.8");
      await world.simulation.sleep(quietMs);
      expect(last(world.events, "routed")?.addresses).toEqual(["10.1.0.7", "10.1.0.8"]);
    },
    { published: "endpoints" },
  );
});

it("freezes the endpoints of every service while a route is refused, and thaws with it", async () => {
  await inStockWorld(
    async (world) => {
      await settled(world);
      await world.createIngress("bad", "bad.example", "/bad");
      await world.simulation.sleep(quietMs);
      await world.publish("10.1.0.2");
      await world.simulation.sleep(quietMs);
      expect(last(world.events, "routed")?.addresses).toEqual(["10.1.0.1"]);
      expect(world.controller.counts.failedSyncs).toBeGreaterThan(0);

      await world.call("DELETE", "/apis/networking.k8s.io/v1/namespaces/default/ingresses/bad");
      await world.simulation.sleep(quietMs);
      expect(last(world.events, "routed")?.addresses).toEqual(["10.1.0.2"]);
    },
    {
      refuse: (servers) =>
        servers.some(({ hostname }) => hostname === "bad.example") ? "bad location" : undefined,
    },
  );
});

it("answers from the pods, and 404 and 503 where there is nothing to ask", async () => {
  await inStockWorld(async (world) => {
    const pod = await world.startPod("10.1.0.1", "uid-1");
    expect((await world.get("shop.example", "/")).status).toBe(404);
    await settled(world);
    expect(await world.get("shop.example", "/cart?item=1")).toEqual({
      status: 200,
      body: JSON.stringify({ uid: "uid-1", address: "10.1.0.1" }),
      upstreams: "10.1.0.1:8080",
    });
    expect((await world.get("other.example", "/")).status).toBe(404);
    await world.publish();
    await world.simulation.sleep(quietMs);
    expect((await world.get("shop.example", "/")).status).toBe(503);
    await pod.stop();
  });
});

/** With this seed not all workers begin their round with the same peer. */
const bothStartsSeed = { seed: 2 };

it("tries up to three peers after errors, the same one again if there is no other", async () => {
  await inStockWorld(async (world) => {
    const first = await world.startPod("10.1.0.1", "uid-1");
    const second = await world.startPod("10.1.0.2", "uid-2");
    await settled(world);
    await first.stop();
    expect(await world.get("shop.example", "/")).toEqual({
      status: 502,
      body: "502 Bad Gateway\n",
      upstreams: "10.1.0.1:8080, 10.1.0.1:8080, 10.1.0.1:8080",
    });
    await world.publish("10.1.0.1", "10.1.0.2");
    await world.simulation.sleep(quietMs);
    const answers = [];
    for (let count = 0; count < 8; count += 1) answers.push(await world.get("shop.example", "/"));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ upstreams }) => upstreams))).toEqual(
      new Set(["10.1.0.2:8080", "10.1.0.1:8080, 10.1.0.2:8080"]),
    );
    await second.stop();
  }, bothStartsSeed);
});

it("gives a peer that does not answer five seconds, three times", async () => {
  await inStockWorld(async (world) => {
    const pod = await world.startPod("10.1.0.1", "uid-1");
    await settled(world);
    world.simulation.network.isolate("node");
    const sentMs = world.simulation.now();
    expect((await world.get("shop.example", "/")).status).toBe(504);
    expect(Math.round((world.simulation.now() - sentMs) / 100) / 10).toBe(15);
    await pod.stop();
  });
});
