import { expect, test } from "vitest";
import {
  type AssistWorld,
  inAssistWorld,
  lastNumbers,
  lease,
  servicesPath,
  slicesPath,
} from "../../../tests/assist/assist-world.ts";

/** Long enough for every list, watch and write of a quiet start. */
const settledMs = 5_000;

async function web(world: AssistWorld, pods: readonly number[], fields = {}): Promise<void> {
  await world.createService("web", fields);
  for (const number of pods) await world.createPod("web", number);
  await world.publish("web", pods);
}

test("a twin follows the pods while the Service's own slices are late", () =>
  inAssistWorld(async (world) => {
    await web(world, [1, 2]);
    const { replica, written } = world.startReplica();
    await world.simulation.sleep(settledMs);
    expect(await world.ready("web-lockstep")).toEqual([1, 2]);
    await world.deletePod("web", 1);
    await world.createPod("web", 3);
    await world.simulation.sleep(100);
    expect([await world.ready("web-lockstep"), await world.ready("web")]).toEqual([
      [2, 3],
      [1, 2],
    ]);
    await world.simulation.sleep(29_900);
    await world.publish("web", [2, 3]);
    await world.simulation.sleep(1_000);
    expect(replica.keeper.lateness.get("shop/web-lockstep")).toMatchObject({
      leaves: { count: 1, late: 1 },
      joins: { count: 1, late: 1 },
      windows: [{ address: "10.0.0.1", listed: 2 }],
    });
    const { longestMs = 0 } = replica.keeper.lateness.get("shop/web-lockstep")?.leaves ?? {};
    expect(Math.round(longestMs / 1_000)).toBe(30);
    const before = written.length;
    await world.simulation.sleep(11 * 60_000);
    expect(written.length).toBe(before);
  }));

test("several and named ports are resolved pod by pod, and more than 100 endpoints fill several slices", () =>
  inAssistWorld(async (world) => {
    await world.createService("web", {
      spec: {
        ports: [
          { name: "http", port: 80, targetPort: 8080 },
          { name: "admin", port: 81, targetPort: "manage" },
        ],
      },
    });
    const numbers = Array.from({ length: 150 }, (_, index) => index + 1);
    for (const number of numbers) {
      const containerPort = number <= 120 ? 9001 : 9002;
      await world.createPod("web", number, { ports: [{ name: "manage", containerPort }] });
    }
    world.startReplica();
    await world.simulation.sleep(settledMs);
    const slices = await world.slicesOf("web-lockstep");
    const shown = slices.map(({ ports, endpoints }): [string, number] => [
      ports
        .map(({ name, port }) => `${name} ${port}`)
        .sort()
        .join(", "),
      endpoints.length,
    ]);
    expect(shown.sort((a, b) => `${a}`.localeCompare(`${b}`))).toEqual([
      ["admin 9001, http 8080", 100],
      ["admin 9001, http 8080", 20],
      ["admin 9002, http 8080", 30],
    ]);
  }));

test("unready pods are listed as ready where the Service publishes them", () =>
  inAssistWorld(async (world) => {
    await web(world, [1], { spec: { publishNotReadyAddresses: true } });
    await world.setReady("web", 1, false);
    world.startReplica();
    await world.simulation.sleep(settledMs);
    expect(await world.ready("web-lockstep")).toEqual([1]);
  }));

test("a pod that is marked unready, as by a readiness gate, leaves the twin", () =>
  inAssistWorld(async (world) => {
    await web(world, [1, 2]);
    world.startReplica();
    await world.simulation.sleep(settledMs);
    await world.setReady("web", 1, false);
    await world.simulation.sleep(100);
    expect(await world.ready("web-lockstep")).toEqual([2]);
  }));

test("zones, nodes and hints of the Service's own slices are carried over", () =>
  inAssistWorld(async (world) => {
    await web(world, [1, 2]);
    await world.call("PATCH", `${slicesPath}/web-x1`, {
      endpoints: [1, 2].map((number) => ({
        addresses: [`10.0.0.${number}`],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: "n1",
        zone: `zone-${number}`,
        hints: { forZones: [{ name: `zone-${number}` }] },
      })),
    });
    world.startReplica();
    await world.simulation.sleep(settledMs);
    const raw = (await world.call("GET", slicesPath)) as {
      items: { metadata: { name: string }; endpoints: object[] }[];
    };
    const slice = raw.items.find(({ metadata }) => metadata.name.startsWith("web-lockstep"));
    expect(slice?.endpoints).toMatchObject([
      { nodeName: "n1", zone: "zone-1", hints: { forZones: [{ name: "zone-1" }] } },
      { nodeName: "n1", zone: "zone-2", hints: { forZones: [{ name: "zone-2" }] } },
    ]);
  }));

test("the twin of a deleted Service goes with it, and one that only a cache misses stays", () =>
  inAssistWorld(async (world) => {
    await web(world, [1, 2]);
    const { replica } = world.startReplica();
    await world.simulation.sleep(settledMs);
    await world.deletePod("web", 1);
    await world.simulation.sleep(1_000);
    const { clock } = world.simulation.host("assist-1");
    const behindMs = () => replica.keeper.oldestBehindMs(clock.monotonicMs());
    expect(Math.round(behindMs() / 100)).toBe(10);
    await world.call("DELETE", `${servicesPath}/web`);
    await world.simulation.sleep(1_000);
    expect(await world.service("web-lockstep")).toBeUndefined();
    expect(await world.slicesOf("web-lockstep")).toEqual([]);
    expect([behindMs(), [...replica.keeper.lateness]]).toEqual([0, []]);
  }));

test("a Service that is not selected any more is handed back to Kubernetes, and taken over again", () =>
  inAssistWorld(async (world) => {
    await web(world, [1, 2], { metadata: { labels: { "lockstep.dev/assist": "true" } } });
    world.startReplica({});
    await world.simulation.sleep(settledMs);
    const label = (value: string | null) =>
      world.call("PATCH", `${servicesPath}/web`, {
        metadata: { labels: { "lockstep.dev/assist": value } },
      });
    await label(null);
    await world.simulation.sleep(1_000);
    expect((await world.service("web-lockstep"))?.selector).toEqual({ app: "web" });
    // Until Kubernetes lists the endpoints, the twin's own slices stay.
    expect((await world.slicesOf("web-lockstep")).map(({ metadata }) => metadata.name)).toEqual([
      "web-lockstep-0",
    ]);
    await publishTwin(world, [1, 2]);
    await world.simulation.sleep(1_000);
    expect((await world.slicesOf("web-lockstep")).map(({ metadata }) => metadata.name)).toEqual([
      "web-lockstep-x1",
    ]);
    await label("true");
    await world.simulation.sleep(1_000);
    expect((await world.service("web-lockstep"))?.selector).toBeUndefined();
    expect((await world.slicesOf("web-lockstep")).map(({ metadata }) => metadata.name)).toEqual([
      "web-lockstep-0",
    ]);
    expect(await world.ready("web-lockstep")).toEqual([1, 2]);
  }));

test("names that are taken are reported, and nothing of other owners is changed", () =>
  inAssistWorld(async (world) => {
    await web(world, [1]);
    await world.createService("web-lockstep");
    await world.createService("www", {
      metadata: { annotations: { "lockstep.dev/assist-name": "both" } },
    });
    await world.createService("api", {
      metadata: { annotations: { "lockstep.dev/assist-name": "both" } },
    });
    const before = await world.rawService("web-lockstep");
    const { replica } = world.startReplica({ namespaces: "all" });
    await world.simulation.sleep(settledMs);
    expect(await world.rawService("web-lockstep")).toEqual(before);
    expect(Object.fromEntries(replica.keeper.blocked)).toEqual({
      "shop/web-lockstep": "Service shop/web-lockstep exists and was not created by Lockstep",
      "shop/both": "www cannot have the twin both: it is the twin of api",
      // The Service of the other owner is selected as well.
    });
    expect(await world.service("web-lockstep-lockstep")).toBeDefined();
  }));

test("two installations never write the same twin", () =>
  inAssistWorld(async (world) => {
    await web(world, [1]);
    const first = world.startReplica();
    await world.simulation.sleep(settledMs);
    const second = world.startReplica(undefined, {
      lease: { namespace: "lockstep", name: "another" },
    });
    // One that does not select it must not hand it back either.
    const third = world.startReplica({}, { lease: { namespace: "lockstep", name: "third" } });
    await world.simulation.sleep(settledMs);
    await world.deletePod("web", 1);
    await world.simulation.sleep(settledMs);
    expect([second.written, third.written]).toEqual([[], []]);
    expect(first.written.length).toBeGreaterThan(2);
    expect(Object.fromEntries(second.replica.keeper.blocked)).toEqual({
      "shop/web-lockstep": `the replicas of the Lease ${lease.namespace}/${lease.name} keep shop/web-lockstep; to move it to these, run lockstep assist off for it, then on`,
    });
  }));

test("a standby writes only what the leader leaves undone, and takes over its counts with the Lease", () =>
  inAssistWorld(async (world) => {
    await web(world, [1, 2]);
    const leader = world.startReplica();
    await world.simulation.sleep(settledMs);
    const standby = world.startReplica();
    await world.simulation.sleep(settledMs);
    await world.deletePod("web", 1);
    await world.simulation.sleep(2_000);
    await world.publish("web", [2]);
    await world.simulation.sleep(settledMs);
    expect(standby.requests).toEqual([]);
    // The counts are saved every 30 s.
    await world.simulation.sleep(40_000);
    leader.crash();
    await world.publish("web", []);
    await world.deletePod("web", 2);
    await world.simulation.sleep(1_000);
    expect(await world.ready("web-lockstep")).toEqual([]);
    expect(standby.written.map(({ by }) => by)).toEqual(["standby"]);
    expect(standby.replica.isLeading).toBe(false);
    await world.simulation.sleep(30_000);
    expect(standby.replica.isLeading).toBe(true);
    expect(standby.replica.keeper.lateness.get("shop/web-lockstep")?.leaves.count).toBe(1);
  }));

/** The slice that the endpoint slice controller writes for a twin with a selector. */
async function publishTwin(world: AssistWorld, numbers: readonly number[]): Promise<void> {
  await world.publish("web-lockstep", numbers, "web-lockstep-x1");
  expect(lastNumbers(await world.slicesOf("web-lockstep"))).toEqual(numbers);
}
