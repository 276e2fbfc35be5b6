import { expect, test } from "vitest";
import {
  inSyncWorld,
  type RunningSyncer,
  type SyncWorld,
  servicesPath,
  slicesPath,
  withoutSlices,
} from "../../../tests/syncing/sync-world.ts";
import { namespacePolicy } from "../../decide/syncing/sync-policy.ts";
import { randomInt } from "../../environment/random.ts";
import { RateLimitedClient } from "../../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../kube/client/token-bucket.ts";
import { forEachSeed } from "../../simulation/seeds.ts";
import { resyncEveryMs } from "./service-syncer.ts";
import { undoneTimes } from "./undone-writes.ts";

/** Long enough for every list, watch and write of a quiet start. */
const settledMs = 5_000;

test("services and endpoints of several clusters are copied, with one write for each object", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1", "10.1.0.2"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    const syncer = world.startSyncer();
    await world.simulation.sleep(settledMs);
    expect(await world.copies()).toEqual({
      slices: { "web-lab-1-0": ["10.1.0.1", "10.1.0.2"], "web-lab-2-0": ["10.2.0.1"] },
      services: ["web"],
    });
    expect(syncer.writes.toSorted()).toEqual(
      [`POST ${servicesPath}`, `POST ${slicesPath}`, `POST ${slicesPath}`].toSorted(),
    );
    const { counts } = await metricsOf(syncer);
    expect(counts).toEqual({ conflicts: 0, noops: 0, blocked: 0 });
  }));

test("a change in the source is in the access cluster milliseconds later, and is reported", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    const syncer = world.startSyncer();
    await world.simulation.sleep(settledMs);
    const { clock } = world.simulation.host("lockstep");
    const before = syncer.reports.length;
    const changedAt = clock.monotonicMs();
    await world.republish("lab-1", "web", ["10.1.0.2"]);
    await world.simulation.sleep(20);
    expect((await world.copies()).slices).toEqual({ "web-lab-1-0": ["10.1.0.2"] });
    const reports = syncer.reports.slice(before);
    expect(reports.map(({ service, source, writes }) => [service, source, writes])).toEqual([
      ["shop/web", "lab-1", 1],
    ]);
    const [report] = reports;
    expect(report?.version).toMatch(/^[0-9a-f]{8}$/);
    // Four messages of at most a millisecond: the change, its event, the write and its answer.
    expect(Number(report?.syncedAtMs) - changedAt).toBeLessThanOrEqual(4);
    const [copy] = await world.slices();
    const origin = Date.parse(copy?.annotations["lockstep.dev/origin-time"] ?? "");
    expect(origin).toBe(Math.floor(Number(report?.origin)));
  }));

test("the source's own trigger time is carried across", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    world.startSyncer();
    await world.simulation.sleep(settledMs);
    await world.call("lab-1", "PATCH", `${slicesPath}/web-x1`, {
      metadata: {
        annotations: {
          "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z",
        },
      },
      endpoints: [{ addresses: ["10.1.0.7"] }],
    });
    await world.simulation.sleep(20);
    const [copy] = await world.slices();
    expect(copy?.annotations).toEqual({
      "lockstep.dev/origin-time": "2026-01-02T03:04:05.000000Z",
    });
  }));

test("a restart writes nothing, and neither does a resync", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "api", []);
    const first = world.startSyncer();
    await world.simulation.sleep(settledMs);
    expect(first.writes).toHaveLength(4);
    await first.stop();
    const second = world.startSyncer();
    await world.simulation.sleep(settledMs + 2 * resyncEveryMs);
    expect(second.writes).toEqual([]);
    expect(second.reports.map(({ service, writes }) => `${service} ${writes}`).sort()).toEqual([
      "shop/api 0",
      "shop/web 0",
    ]);
  }));

test("a cluster that cannot be reached keeps its copies, also over a restart", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    const first = world.startSyncer();
    await world.simulation.sleep(settledMs);
    const before = await world.copies();
    world.simulation.network.partition("lockstep", "lab-1");
    await world.call("lab-1", "DELETE", `${servicesPath}/web`);
    await world.call("lab-1", "DELETE", `${slicesPath}/web-x1`);
    await world.simulation.sleep(600_000);
    expect(await world.copies()).toEqual(before);
    await first.stop();
    const second = world.startSyncer();
    await world.simulation.sleep(600_000);
    expect(await world.copies()).toEqual(before);
    expect(second.writes).toEqual([]);
    await world.republish("lab-2", "web", ["10.2.0.2"]);
    await world.simulation.sleep(20);
    expect((await world.copies()).slices).toEqual({
      "web-lab-1-0": ["10.1.0.1"],
      "web-lab-2-0": ["10.2.0.2"],
    });
    world.simulation.network.heal("lockstep", "lab-1");
    await world.simulation.sleep(60_000);
    expect(await world.copies()).toEqual({
      slices: { "web-lab-2-0": ["10.2.0.2"] },
      services: ["web"],
    });
  }));

test("a policy's change has no origin and no lag, and one that a restart finds is logged", () =>
  inSyncWorld(async (world) => {
    const { simulation } = world;
    const logged = () =>
      simulation
        .logLines()
        .filter(({ message }) => message === "copied a change of an endpoint")
        .map(({ fields }) => [
          fields["cluster"],
          fields["direction"],
          fields["address"],
          "origin" in fields && "readAt" in fields,
        ]);
    const lags = async (syncer: RunningSyncer) => {
      const text = await syncer.registry.metrics();
      const counts = text.matchAll(/^lockstep_sync_lag_seconds_count\{source="(.*?)".*\} (\d+)$/gm);
      return Object.fromEntries([...counts].map(([, source, count]) => [source, Number(count)]));
    };
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    const silent = { unreachable: "distrust", unreachableAfterMs: 20_000 } as const;
    const truth = { followSlices: false, ...silent };
    const policy = namespacePolicy(new Set(["shop"]), { truth });
    const first = world.startSyncer({ policy });
    await simulation.sleep(settledMs);
    const before = await lags(first);
    simulation.network.partition("lockstep", "lab-1");
    await simulation.sleep(120_000);
    expect(logged()).toEqual([["lab-1", "leave", "10.1.0.1", false]]);
    expect(await lags(first)).toEqual(before);
    simulation.network.heal("lockstep", "lab-1");
    await simulation.sleep(60_000);
    await first.stop();
    await world.republish("lab-2", "web", ["10.2.0.2"]);
    const earlier = logged().length;
    const second = world.startSyncer({ policy });
    await simulation.sleep(settledMs);
    expect(logged().slice(earlier)).toEqual([
      ["lab-2", "join", "10.2.0.2", true],
      ["lab-2", "leave", "10.2.0.1", true],
    ]);
    expect(await lags(second)).toEqual({ "lab-2": 1 });
    expect(second.reports.map(({ source, writes }) => `${source} ${writes}`).sort()).toEqual([
      "lab-1 0",
      "lab-2 1",
    ]);
  }));

test("a service deleted in its last source is cleaned up, and nothing else is", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-1", "api", ["10.1.0.2"]);
    await world.publish("edge", "local", ["10.9.0.1"]);
    world.startSyncer();
    await world.simulation.sleep(settledMs);
    await world.call("lab-1", "DELETE", `${servicesPath}/web`);
    await world.simulation.sleep(20);
    expect(await world.copies()).toEqual({
      slices: { "api-lab-1-0": ["10.1.0.2"], "local-x1": ["10.9.0.1"] },
      services: ["api", "local"],
    });
  }));

test("a service of another owner is left alone until it is gone", () =>
  inSyncWorld(async (world) => {
    await world.publish("edge", "web", ["10.9.0.1"]);
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    const syncer = world.startSyncer();
    await world.simulation.sleep(settledMs);
    expect(syncer.writes).toEqual([]);
    expect((await metricsOf(syncer)).counts).toEqual({ conflicts: 0, noops: 0, blocked: 1 });
    await world.call("edge", "DELETE", `${slicesPath}/web-x1`);
    await world.call("edge", "DELETE", `${servicesPath}/web`);
    await world.simulation.sleep(20);
    expect(await world.copies()).toEqual({
      slices: { "web-lab-1-0": ["10.1.0.1"] },
      services: ["web"],
    });
    expect((await metricsOf(syncer)).counts).toEqual({ conflicts: 0, noops: 0, blocked: 0 });
  }));

const payPath = "/api/v1/namespaces/pay/services";
const paySlicesPath = "/apis/discovery.k8s.io/v1/namespaces/pay/endpointslices";

test("a missing namespace is waited for", () =>
  inSyncWorld(async (world) => {
    await offerBank(world);
    const policy = namespacePolicy(new Set());
    const syncer = world.startSyncer({ policy });
    await world.simulation.sleep(settledMs);
    expect(syncer.writes).toEqual([]);
    await world.call("edge", "POST", "/api/v1/namespaces", { metadata: { name: "pay" } });
    await world.simulation.sleep(20);
    expect(syncer.writes).toEqual([`POST ${payPath}`, `POST ${paySlicesPath}`]);
  }));

test("a missing namespace is made where that is allowed", () =>
  inSyncWorld(async (world) => {
    await offerBank(world);
    const policy = namespacePolicy(new Set(), { createNamespaces: true });
    const syncer = world.startSyncer({ policy });
    await world.simulation.sleep(settledMs);
    expect(syncer.writes).toEqual([
      "POST /api/v1/namespaces",
      `POST ${payPath}`,
      `POST ${paySlicesPath}`,
    ]);
  }));

/** A labelled service in a namespace that the access cluster does not have. */
async function offerBank(world: SyncWorld): Promise<void> {
  await world.call("lab-1", "POST", "/api/v1/namespaces", { metadata: { name: "pay" } });
  await world.call("lab-1", "POST", payPath, {
    metadata: { name: "bank", labels: { "lockstep.dev/sync": "true" } },
    spec: { ports: [{ port: 80 }] },
  });
}

test("a service is copied before the many of another namespace that wait with it", () =>
  inSyncWorld(async (world) => {
    for (const cluster of ["lab-1", "edge"] as const) {
      await world.call(cluster, "POST", "/api/v1/namespaces", { metadata: { name: "zoo" } });
    }
    // In the order of a list, those of the namespace shop come first.
    for (let number = 0; number < 50; number += 1)
      await world.publish("lab-1", `web-${number}`, []);
    await world.call("lab-1", "POST", "/api/v1/namespaces/zoo/services", {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
    });
    await world.call("lab-1", "POST", "/apis/discovery.k8s.io/v1/namespaces/zoo/endpointslices", {
      metadata: { name: "web-x1", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      endpoints: [],
    });
    const policy = namespacePolicy(new Set(["shop", "zoo"]));
    const { writes } = world.startSyncer({ sources: [world.cluster("lab-1")], policy });
    await world.simulation.sleep(settledMs);
    const services = writes.filter((write) => write.endsWith("/services"));
    expect(services).toHaveLength(51);
    // Each of the ten workers has one of the crowd when the others are queued.
    expect(services.indexOf("POST /api/v1/namespaces/zoo/services")).toBeLessThan(12);
  }));

test("a cluster with changes in many namespaces delays no other", () =>
  inSyncWorld(async (world) => {
    const spaces = Array.from({ length: 40 }, (_, index) => `space-${index}`);
    const create = async (cluster: "lab-1" | "lab-2", namespace: string): Promise<void> => {
      await world.call(cluster, "POST", `/api/v1/namespaces/${namespace}/services`, {
        metadata: { name: `web-${cluster}` },
        spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
      });
    };
    for (const name of spaces) {
      for (const cluster of ["lab-1", "lab-2", "edge"] as const)
        await world.call(cluster, "POST", "/api/v1/namespaces", { metadata: { name } });
      await create("lab-1", name);
    }
    await create("lab-2", "space-39");
    const policy = namespacePolicy(new Set(spaces));
    const { writes } = world.startSyncer({ policy });
    await world.simulation.sleep(settledMs);
    expect(writes.filter((write) => write.endsWith("/services"))).toHaveLength(41);
    writes.length = 0;
    const slow = { match: { userAgent: "lockstep" }, latency: { minMs: 200, maxMs: 200 } };
    world.server("edge").faults.setRules([slow]);
    const change = (cluster: "lab-1" | "lab-2", namespace: string) =>
      world.call(cluster, "PATCH", `/api/v1/namespaces/${namespace}/services/web-${cluster}`, {
        spec: { ports: [{ port: 81 }] },
      });
    for (const namespace of spaces) await change("lab-1", namespace);
    await change("lab-2", "space-39");
    await world.simulation.sleep(settledMs);
    expect(writes).toHaveLength(41);
    // Each of the ten workers has one of the crowd by then, and each cluster has a turn.
    const own = "PATCH /api/v1/namespaces/space-39/services/web-lab-2";
    expect(writes.indexOf(own)).toBeLessThan(20);
  }));

test("two clusters that sync to each other do not send copies back", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    world.startSyncer({ sources: [world.cluster("lab-1")] });
    const back = world.startSyncer({
      sources: [world.cluster("edge")],
      target: world.cluster("lab-1"),
      writeClient: world.client("lab-1"),
    });
    await world.simulation.sleep(settledMs);
    expect((await world.copies()).slices).toEqual({ "web-lab-1-0": ["10.1.0.1"] });
    expect(back.writes).toEqual([]);
  }));

test("two that undo each other say so, and one that mends what a person did does not", () =>
  inSyncWorld(async (world) => {
    const warnings = () =>
      world.simulation
        .logLines()
        .filter(({ message }) => message.startsWith("another client reverts"));
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    world.startSyncer();
    await world.simulation.sleep(settledMs);
    for (let times = 1; times < undoneTimes; times += 1) {
      await world.call("edge", "DELETE", `${slicesPath}/web-lab-1-0`);
      await world.simulation.sleep(100);
    }
    expect((await world.copies()).slices).toEqual({ "web-lab-1-0": ["10.1.0.1"] });
    expect(warnings()).toEqual([]);
    world.startSyncer({ policy: namespacePolicy(new Set()) });
    // They write all the time, and each of them says so.
    while (warnings().length < 2) await world.simulation.sleep(10);
    const fields = { service: "shop/web", cluster: "edge" };
    expect(warnings()).toMatchObject([{ fields }, { fields }]);
  }));

test("a source without EndpointSlices is copied from its Endpoints", () =>
  inSyncWorld(async (world) => {
    await world.call("lab-1", "POST", servicesPath, {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
    });
    await world.call("lab-1", "POST", "/api/v1/namespaces/shop/endpoints", {
      metadata: { name: "web" },
      subsets: [
        {
          addresses: [{ ip: "10.1.0.1", nodeName: "n1" }],
          notReadyAddresses: [{ ip: "10.1.0.2" }],
          ports: [{ port: 8080 }],
        },
      ],
    });
    const client = withoutSlices(world.client("lab-1"));
    world.startSyncer({ sources: [{ cluster: "lab-1", client }] });
    await world.simulation.sleep(settledMs);
    const [copy] = await world.slices();
    expect(copy?.ports).toEqual([
      { name: "", port: 8080, protocol: "TCP", appProtocol: undefined },
    ]);
    expect(
      copy?.endpoints.map(({ addresses, ready, nodeName }) => [addresses, ready, nodeName]),
    ).toEqual([[["10.1.0.1"], true, "n1"]]);
  }));

test("while the watch of the access cluster stands still, changes go on and conflicts are resolved", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    const syncer = world.startSyncer();
    await world.simulation.sleep(settledMs);
    world.simulation.network.stall("edge", "lockstep");
    for (const address of ["10.1.0.2", "10.1.0.3"]) {
      await world.republish("lab-1", "web", [address]);
      await world.simulation.sleep(20);
      expect((await world.copies()).slices).toEqual({ "web-lab-1-0": [address] });
    }
    expect((await metricsOf(syncer)).counts).toEqual({ conflicts: 0, noops: 0, blocked: 0 });
    await world.call("edge", "PATCH", `${slicesPath}/web-lab-1-0`, { endpoints: [] });
    await world.republish("lab-1", "web", ["10.1.0.4"]);
    await world.simulation.sleep(50);
    expect((await world.copies()).slices).toEqual({ "web-lab-1-0": ["10.1.0.4"] });
    await world.call("edge", "DELETE", `${slicesPath}/web-lab-1-0`);
    await world.republish("lab-1", "web", ["10.1.0.5"]);
    await world.simulation.sleep(50);
    expect((await world.slices()).flatMap(({ endpoints }) => endpoints[0]?.addresses)).toEqual([
      "10.1.0.5",
    ]);
    expect((await metricsOf(syncer)).counts).toEqual({ conflicts: 2, noops: 0, blocked: 0 });
    world.simulation.network.unstall("edge", "lockstep");
    const before = syncer.writes.length;
    await world.simulation.sleep(settledMs);
    expect(syncer.writes.slice(before)).toEqual([]);
  }));

test("a change that has just happened does not wait for the copying of everything", () =>
  inSyncWorld(async (world) => {
    const names = Array.from({ length: 60 }, (_, index) => `web-${100 + index}`);
    for (const name of names) await world.publish("lab-1", name, ["10.1.0.1"]);
    const { clock, timers } = world.simulation.host("lockstep");
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 1 });
    const syncer = world.startSyncer({
      writeClient: new RateLimitedClient({
        client: world.client("edge"),
        bucket,
        clock,
        server: "https://edge:6443",
        onThrottled: () => undefined,
      }),
      untilMayWrite: (signal) => bucket.untilToken(signal),
    });
    await world.simulation.sleep(4_000);
    await world.republish("lab-1", "web-159", ["10.1.0.9"]);
    const changedAt = clock.monotonicMs();
    await world.simulation.sleep(20_000);
    const done = syncer.reports.findIndex(({ service }) => service === "shop/web-159");
    expect(syncer.reports).toHaveLength(60);
    expect(done).toBeLessThan(40);
    // At 10/s: the service in hand finishes its two writes, one of the resync may be next in turn, and
    // then its own two.
    expect(Number(syncer.reports[done]?.syncedAtMs) - changedAt).toBeLessThanOrEqual(700);
  }));

forEachSeed(
  "under faults and a meddling neighbour the copies end up right",
  { seeds: 10 },
  (seed) =>
    inSyncWorld(async (world) => {
      const { random } = world.simulation;
      const names = ["web", "api", "pay"];
      const truth = new Map<string, readonly string[]>();
      for (const cluster of ["lab-1", "lab-2"] as const) {
        for (const name of names) {
          await world.publish(cluster, name, ["10.0.0.1"]);
          truth.set(`${name}-${cluster}-0`, ["10.0.0.1"]);
        }
      }
      const syncer = world.startSyncer();
      world.server("edge").faults.setRules([
        {
          match: { userAgent: "lockstep" },
          latency: { minMs: 0, maxMs: 30 },
          resets: { rate: 0.02 },
        },
      ]);
      for (let step = 0; step < 60; step += 1) {
        await world.simulation.sleep(randomInt(random, 200));
        const cluster = randomInt(random, 2) === 0 ? "lab-1" : "lab-2";
        const name = names[randomInt(random, names.length)] ?? "web";
        const addresses = Array.from(
          { length: randomInt(random, 4) },
          (_, index) => `10.0.${randomInt(random, 9)}.${index + 1}`,
        );
        await world.republish(cluster, name, addresses);
        truth.set(`${name}-${cluster}-0`, addresses.toSorted());
        if (step % 10 === 5) await meddle(world, name);
      }
      world.server("edge").faults.setRules([]);
      await world.simulation.sleep(60_000);
      await expectRight(world, syncer, truth);
    }, seed),
);

/** Empties our slices of a service and deletes one of them, as another program might. */
async function meddle(world: SyncWorld, name: string): Promise<void> {
  for (const { metadata } of await world.slices()) {
    if (metadata.labels["kubernetes.io/service-name"] !== name) continue;
    const path = `${slicesPath}/${metadata.name}`;
    await world.call("edge", "PATCH", path, { endpoints: [] });
    await world.call("edge", "DELETE", path);
  }
}

async function expectRight(
  world: SyncWorld,
  syncer: RunningSyncer,
  truth: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const { slices, services } = await world.copies();
  const held = Object.entries(slices).map(([name, addresses]) => [name, addresses.toSorted()]);
  expect(Object.fromEntries(held)).toEqual(Object.fromEntries(truth));
  expect(services).toEqual(["api", "pay", "web"]);
  const before = syncer.writes.length;
  await world.simulation.sleep(resyncEveryMs);
  expect(syncer.writes.length).toBe(before);
  expect((await metricsOf(syncer)).counts).toMatchObject({ noops: 0, blocked: 0 });
}

async function metricsOf({ registry }: RunningSyncer) {
  const sum = async (name: string): Promise<number> => {
    const metric = await registry.getSingleMetric(name)?.get();
    return metric?.values.reduce((total, { value }) => total + value, 0) ?? -1;
  };
  return {
    counts: {
      conflicts: await sum("lockstep_sync_conflicts_total"),
      noops: await sum("lockstep_sync_noop_writes_total"),
      blocked: await sum("lockstep_sync_blocked_services"),
    },
  };
}
