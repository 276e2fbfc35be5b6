import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { type RoutedWorld, withProxy } from "../../../tests/observer/routed-world.ts";
import type { ServiceTruth } from "../../decide/truth/truth.ts";
import type { Listener } from "../../environment/network.ts";
import { maxEntriesKept, RoutedJournal } from "../../ingress/routed-journal.ts";
import { startStatusServer } from "../../ingress/status-server.ts";

const port = "shop/web:80";
const other = "shop/web:443";

/** A replica as its status listener shows it: its decisions and when each was routed. */
class Replica {
  readonly #truths = new Map<string, ServiceTruth>();
  readonly #journal: RoutedJournal;
  readonly #world: RoutedWorld;
  #version = 0;
  proxy: object | undefined = {};
  /** Called before it answers what it routes to. */
  onState: () => void = () => undefined;

  constructor(world: RoutedWorld) {
    this.#world = world;
    this.#journal = new RoutedJournal({ ...world.proxy, onRouted: () => undefined });
  }

  start(): Promise<Listener> {
    return startStatusServer({
      network: this.#world.proxy.network,
      host: "proxy",
      port: 10260,
      metrics: new Registry(),
      journal: this.#journal,
      state: () => {
        this.onState();
        return { services: Object.fromEntries(this.#truths), proxy: this.proxy ?? null };
      },
      readiness: () => ({ problem: undefined, notes: [] }),
      explain: () => Promise.reject(new Error("not asked")),
      endpoints: () => Promise.reject(new Error("not asked")),
    });
  }

  /** Decides for the port and routes by it at once. */
  routes(service: string, ...addresses: readonly string[]): void {
    const after = truthOf(addresses);
    this.#change(service, after);
    this.#truths.set(service, after);
  }

  /** No route leads to the port any more. */
  unroutes(service: string): void {
    this.#change(service, undefined);
    this.#truths.delete(service);
  }

  #change(service: string, after: ServiceTruth | undefined): void {
    const before = this.#truths.get(service);
    this.#version += 1;
    this.#journal.decided({ service, version: this.#version, before, after });
    this.#journal.routed(service, this.#version, this.#world.proxy.clock.monotonicMs());
  }
}

/** At 8080 where the address names no port. */
function truthOf(addresses: readonly string[]): ServiceTruth {
  const endpoint = (place: string, state: "active" | "out") => {
    const [address = "", podPort = "8080"] = place.split(":");
    return {
      address,
      port: Number(podPort),
      cluster: "east",
      podUid: `uid-${address}`,
      state,
      reason: "for the test",
      rule: "test",
      pod: "ready" as const,
      published: "ready" as const,
    };
  };
  const endpoints = [...addresses.map((one) => endpoint(one, "active")), endpoint("x", "out")];
  return { endpoints, problems: [], probeRequests: [] };
}

const address = "lockstep=http://proxy:10260";
const clusters = ["east"];

it("tells the state at first, and then each change at the time it was routed", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.routes(port, "a");
    replica.routes(other, "c");
    await replica.start();
    world.begin(address, { clusters });
    await world.sleep(500);
    expect(world.said()).toEqual([
      "follows shop/web",
      "join shop/web east uid-a a:8080 all along",
      "join shop/web east uid-c c:8080 all along",
    ]);
    replica.routes(port, "b");
    await world.sleep(100);
    replica.routes(port, "b", "c");
    await world.sleep(5_000);
    const said = world.said();
    // The time is the replica's own, within the time of the exchange, however late the journal is
    // read.
    expect(said.map((one) => one.replace(/ at 50\d$/, " at 50."))).toEqual([
      "leave shop/web east uid-a a:8080 at 50.",
      "join shop/web east uid-b b:8080 at 50.",
    ]);
  }));

it("goes by the pod where the replica has another name for the cluster", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.routes(port, "a");
    await replica.start();
    world.begin("proxy:10260", { clusters: ["kind-east"] });
    await world.sleep(500);
    expect(world.said()).toEqual(["follows shop/web", "join shop/web uid-a a:8080 all along"]);
  }));

it("waits for a replica at a service without endpoints, and not at one it routes to no more", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.routes(port, "a");
    await replica.start();
    world.begin(address, { clusters });
    await world.sleep(500);
    world.said();
    replica.routes(port);
    await world.sleep(1_000);
    expect(inBrief(world.said())).toEqual(["leave shop/web east uid-a a:8080"]);
    replica.unroutes(port);
    await world.sleep(1_000);
    expect(world.said()).toEqual(["unknown shop/web"]);
    replica.routes(port, "a");
    await world.sleep(1_000);
    expect(inBrief(world.said())).toEqual(["follows shop/web", "join shop/web east uid-a a:8080"]);
    replica.unroutes(port);
    await world.sleep(1_000);
    const said = inBrief(world.said());
    expect(said).toEqual(["leave shop/web east uid-a a:8080", "unknown shop/web"]);
  }));

it("waits for a replica at a service to which it begins to route before there are endpoints", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    await replica.start();
    world.begin(address, { clusters });
    await world.sleep(500);
    replica.routes(port);
    await world.sleep(1_000);
    expect(world.said()).toEqual(["follows shop/web"]);
  }));

it("says nothing of a service that was given up before the state was read", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.routes(port);
    replica.onState = () => replica.unroutes(port);
    await replica.start();
    world.begin(address, { clusters });
    await world.sleep(2_500);
    expect(world.said()).toEqual([]);
  }));

it("reads the journal of a replica that does not say which ports it gives up", () =>
  withProxy(async (world) => {
    const endpoint = { address: "a", port: 8080 };
    const entries = [{ sequence: 1, service: port, joined: [], left: [endpoint], routedAtMs: 0 }];
    const services = { [port]: { endpoints: [{ ...endpoint, state: "active" }] } };
    const answers = { "/routed": journal({}), "/state": JSON.stringify({ services }) };
    await rubbish(world, answers);
    world.begin(address, { clusters });
    await world.sleep(500);
    expect(world.said()).toEqual(["follows shop/web", "join shop/web a:8080 all along"]);
    answers["/routed"] = journal({ last: 1, entries });
    await world.sleep(1_000);
    expect(inBrief(world.said())).toEqual(["leave shop/web a:8080"]);
  }));

it("goes on waiting for a replica that gives up one of two ports of a service", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.routes(port, "a");
    replica.routes(other, "a", "b");
    await replica.start();
    world.begin(address, { clusters });
    await world.sleep(500);
    world.said();
    replica.unroutes(other);
    await world.sleep(1_000);
    expect(inBrief(world.said())).toEqual(["leave shop/web east uid-b b:8080"]);
    replica.unroutes(port);
    await world.sleep(1_000);
    const said = inBrief(world.said());
    expect(said).toEqual(["leave shop/web east uid-a a:8080", "unknown shop/web"]);
  }));

it("does not wait for a replica where pods listen behind the one of two ports that it gives up", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.routes(port, "a");
    replica.routes(other, "a:8443", "a");
    await replica.start();
    world.begin(address, { clusters });
    await world.sleep(500);
    replica.routes(other);
    await world.sleep(1_000);
    world.said();
    replica.unroutes(other);
    await world.sleep(1_000);
    expect(world.said()).toEqual(["unknown shop/web at 8443"]);
    replica.routes(other, "a:8443");
    await world.sleep(1_000);
    world.said();
    // So many that they have to be read from the state.
    for (let times = 0; times <= maxEntriesKept; times += 1) {
      replica.routes(port, times % 2 === 0 ? "b" : "a");
    }
    replica.unroutes(other);
    await world.sleep(1_000);
    expect(world.said().at(-1)).toBe("unknown shop/web at 8443");
  }));

it("reads the state again where the journal has dropped entries, as an interval", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.routes(port, "a");
    await replica.start();
    world.begin(address, { clusters });
    await world.sleep(500);
    world.said();
    for (let times = 0; times <= maxEntriesKept; times += 1) {
      replica.routes(port, times % 2 === 0 ? "b" : "c");
    }
    await world.sleep(1_000);
    const [left, joined, ...rest] = world.said();
    expect(rest).toEqual([]);
    expect(left).toMatch(/^leave shop\/web east uid-a a:8080 at \d\.\.10\d\d$/);
    expect(joined).toMatch(/^join shop\/web east uid-b b:8080 at \d\.\.10\d\d$/);
  }));

it("goes on with a replica that was started again, and tells what differs", () =>
  withProxy(async (world) => {
    const first = new Replica(world);
    first.routes(port, "a", "b");
    first.routes("shop/api:80", "d");
    const listener = await first.start();
    const source = world.begin(address, { clusters });
    await world.sleep(500);
    world.said();
    await listener.close();
    await world.sleep(7_000);
    expect(world.said()).toEqual(["unknown shop/web", "unknown shop/api"]);
    const second = new Replica(world);
    second.routes(port, "b");
    await second.start();
    await world.sleep(1_000);
    const said = world.said();
    expect(said.map((one) => one.replace(/ at \d\.\.8\d\d\d/, " in between"))).toEqual([
      "leave shop/web east uid-a a:8080 in between",
      "leave shop/api east uid-d d:8080 in between",
      "unknown shop/api",
      "follows shop/web",
    ]);
    expect(source.status.state).toBe("connected");
  }));

it("says why a replica without traffic reports nothing", () =>
  withProxy(async (world) => {
    const replica = new Replica(world);
    replica.proxy = undefined;
    await replica.start();
    const source = world.begin(address, { clusters });
    await world.sleep(6_500);
    expect(world.said()).toEqual([]);
    expect(source.status).toMatchObject({
      state: "lost",
      problem: "its nginx does not serve, so it routes nothing",
    });
  }));

it.each([
  ["a port that is none", { services: { [port]: { endpoints: [bad({ port: 80.5 })] } } }],
  ["an address that is none", { services: { [port]: { endpoints: [bad({ address: 7 })] } } }],
  ["no services", { services: [] }],
])("refuses a state with %s, and the hop stays unknown", (_, state) =>
  withProxy(async (world) => {
    await rubbish(world, { "/routed": journal({}), "/state": JSON.stringify(state) });
    const source = world.begin(address, { clusters });
    await world.sleep(6_500);
    expect(world.said()).toEqual([]);
    expect(source.status.problem).toMatch(/^this is not an answer of Lockstep: expected /);
  }),
);

it.each([
  ["never", '"nowMs":1e999'],
  ["in no number", '"nowMs":"soon"'],
])("refuses a journal that was answered %s", (_, nowMs) =>
  withProxy(async (world) => {
    await rubbish(world, { "/routed": journal({}).replace('"nowMs":0', nowMs), "/state": "{}" });
    const source = world.begin(address, { clusters });
    await world.sleep(6_500);
    expect(world.said()).toEqual([]);
    expect(source.status).toMatchObject({
      state: "lost",
      problem: "this is not an answer of Lockstep: expected journal, last, nowMs and entries",
    });
  }),
);

/** Without the times. */
function inBrief(said: readonly string[]): readonly string[] {
  return said.map((one) => one.replace(/ at [\d.]+$/, ""));
}

function bad(fields: object): object {
  return { address: "10.0.0.1", port: 80, state: "active", ...fields };
}

function journal(fields: object): string {
  return JSON.stringify({ journal: "a", last: 0, nowMs: 0, entries: [], ...fields });
}

/** Answers each path with the given text. */
function rubbish(world: RoutedWorld, answers: Readonly<Record<string, string>>): Promise<Listener> {
  return world.proxy.network.listen({ host: "proxy", port: 10260 }, (exchange) => {
    const path = exchange.request.target.replace(/\?.*$/, "");
    exchange.respond(200).end(Buffer.from(answers[path] ?? ""));
  });
}
