import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import type { RoutingProblem } from "../../decide/routing/route.ts";
import { StatusError } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import {
  betweenWritesMs,
  EventWriter,
  type EventWriterOptions,
  graceMs,
  restAfterFailureMs,
  tellAgainMs,
} from "./event-writer.ts";

const events = "/api/v1/namespaces/default/events";

/** Some messages of the network. */
const aMomentMs = 50;

function problem(message: string, name = "shop", namespace = "default"): RoutingProblem {
  const origin = { kind: "Ingress", namespace, name, createdAtMs: 1 } as const;
  return { origin, reason: "AnnotationIgnored", message };
}

interface Started {
  readonly writer: EventWriter;
  readonly metrics: Registry;
  stop(): Promise<void>;
}

function start(
  world: ApiWorld,
  options: Partial<EventWriterOptions> & { readonly token?: string } = {},
): Started {
  const metrics = new Registry();
  const writer = new EventWriter({
    ...world.simulation.host("lockstep"),
    client: clientOf(world, options.token),
    isLeader: () => true,
    uidOf: ({ name }) => `uid-${name}`,
    metrics,
    ...options,
  });
  const stopping = new AbortController();
  const running = writer.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort(new Error("the end"));
    await running;
  };
  return { writer, metrics, stop };
}

function clientOf({ simulation }: ApiWorld, token = "admin-token"): HttpKubeClient {
  const environment = simulation.host("lockstep");
  const cluster = fixedAccess({ name: "c", server: "http://server:6443", token });
  return new HttpKubeClient({ ...environment, cluster, userAgent: "test" });
}

/** As where a quota of the namespace is used up. */
function refusing(world: ApiWorld, place: string): EventWriterOptions["client"] {
  const client = clientOf(world);
  const message = "exceeded quota";
  return {
    stream: (request) => client.stream(request),
    request: async (request) => {
      if (!request.path.includes(place)) return client.request(request);
      throw new StatusError({ code: 403, reason: "Forbidden", message });
    },
  };
}

interface Listed {
  readonly items: readonly {
    readonly message: string;
    readonly count: number;
    readonly involvedObject: object;
  }[];
}

async function listed({ call }: ApiWorld): Promise<Listed["items"]> {
  const { json } = await call("GET", events);
  return (json as Listed).items;
}

async function eventTexts(world: ApiWorld): Promise<readonly string[]> {
  return (await listed(world)).map(({ message, count }) => `${message} ×${count}`).sort();
}

async function writes({ metrics }: Started): Promise<Readonly<Record<string, number>>> {
  const { values } = (await metrics.getSingleMetric("lockstep_events_written_total")?.get()) ?? {};
  return Object.fromEntries((values ?? []).map(({ labels, value }) => [labels["outcome"], value]));
}

test("a problem becomes an Event of its object, once, and again while it stands", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    const started = start(world);
    started.writer.note([problem("wrong")]);
    await simulation.sleep(aMomentMs);
    const [event] = await listed(world);
    expect(event).toMatchObject({
      metadata: { namespace: "default", name: expect.stringMatching(/^shop\.[0-9a-f]{16}$/) },
      involvedObject: {
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        namespace: "default",
        name: "shop",
        uid: "uid-shop",
      },
      type: "Warning",
      reason: "AnnotationIgnored",
      message: "wrong",
      count: 1,
      source: { component: "lockstep-ingress" },
    });
    // A new decision reports the same again.
    for (let turn = 0; turn < 20; turn += 1) {
      started.writer.note([problem("wrong"), problem("wrong")]);
      await simulation.sleep(1_000);
    }
    expect(await eventTexts(world)).toEqual(["wrong ×1"]);
    await simulation.sleep(2 * tellAgainMs);
    expect(await eventTexts(world)).toEqual(["wrong ×3"]);
    started.writer.note([]);
    await simulation.sleep(10 * tellAgainMs);
    expect(await writes(started)).toEqual({ written: 3 });
    await started.stop();
  }));

test("a second replica and a restart write no second Event", () =>
  inApiWorld(async (world) => {
    for (const turn of [1, 2]) {
      const started = start(world);
      started.writer.note([problem("wrong")]);
      await world.simulation.sleep(1_000);
      expect(await writes(started)).toEqual({ written: 1 });
      expect(await eventTexts(world), `start ${turn}`).toEqual(["wrong ×1"]);
      await started.stop();
    }
  }));

test("an Event that has expired is written again", () =>
  inApiWorld(async (world) => {
    const started = start(world);
    started.writer.note([problem("wrong")]);
    await world.simulation.sleep(aMomentMs);
    await world.call("DELETE", events);
    await world.simulation.sleep(tellAgainMs);
    expect(await eventTexts(world)).toEqual(["wrong ×1"]);
    await started.stop();
  }));

test("only the leader writes, and it begins when it leads", () =>
  inApiWorld(async (world) => {
    let isLeading = false;
    const started = start(world, { isLeader: () => isLeading });
    started.writer.note([problem("wrong")]);
    await world.simulation.sleep(60_000);
    expect(await eventTexts(world)).toEqual([]);
    isLeading = true;
    await world.simulation.sleep(6_000);
    expect(await eventTexts(world)).toEqual(["wrong ×1"]);
    await started.stop();
  }));

test("one bad object gets a few Events, and many objects get theirs at a bounded rate", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    const started = start(world);
    const own = Array.from({ length: 500 }, (_, index) => problem(`wrong ${index}`, "bad"));
    const others = Array.from({ length: 100 }, (_, index) => problem("wrong", `other-${index}`));
    started.writer.note([...own, ...others]);
    await simulation.sleep(10 * betweenWritesMs);
    expect((await eventTexts(world)).length).toBeLessThanOrEqual(11);
    await simulation.sleep(120 * (betweenWritesMs + aMomentMs));
    const all = await eventTexts(world);
    expect(all.filter((line) => line === "wrong ×1")).toHaveLength(100);
    expect(all.filter((line) => line !== "wrong ×1")).toHaveLength(11);
    expect(all).toContain("490 more problems are not listed ×1");
    await started.stop();
  }));

test("a namespace full of problems that change all the time neither floods nor keeps others waiting", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    const started = start(world);
    const flood = (turn: number): readonly RoutingProblem[] =>
      Array.from({ length: 1_000 }, (_, at) => at).flatMap((at) =>
        Array.from({ length: 20 }, (_, one) =>
          problem(`wrong ${turn} ${one}`, `bad-${at}`, "crowded"),
        ),
      );
    const seconds = 3;
    for (let turn = 0; turn < seconds; turn += 1) {
      started.writer.note([...flood(turn), problem("wrong")]);
      await simulation.sleep(1_000);
    }
    const { written = 0, failed = 0 } = await writes(started);
    expect(written + failed).toBeLessThanOrEqual((seconds * 1_000) / betweenWritesMs + 1);
    expect(await eventTexts(world)).toEqual(["wrong ×1"]);
    await started.stop();
  }));

test("an object whose problem is another all the time does not keep another namespace waiting", () =>
  inApiWorld(async (world) => {
    const started = start(world);
    await world.call("POST", "/api/v1/namespaces", { metadata: { name: "crowded" } });
    for (let turn = 0; turn < 20; turn += 1) {
      started.writer.note([problem(`wrong ${turn}`, "bad", "crowded"), problem("wrong")]);
      await world.simulation.sleep(betweenWritesMs);
    }
    expect(await eventTexts(world)).toEqual(["wrong ×1"]);
    await started.stop();
  }));

test("a namespace that takes no Events does not keep another waiting", () =>
  inApiWorld(async (world) => {
    const started = start(world, { client: refusing(world, "/namespaces/full/") });
    const full = Array.from({ length: 5 }, (_, index) => problem("wrong", `bad-${index}`, "full"));
    const own = Array.from({ length: 5 }, (_, index) => problem("wrong", `own-${index}`));
    started.writer.note([...full, ...own]);
    await world.simulation.sleep(20 * betweenWritesMs);
    expect(await eventTexts(world)).toHaveLength(own.length);
    expect(await writes(started)).toEqual({ failed: 1, written: own.length });
    await started.stop();
  }));

test("a missing permission is reported once, and tried again calmly", () =>
  inApiWorld(
    async (world) => {
      const started = start(world, { token: "other-token" });
      started.writer.note([problem("wrong"), problem("wrong too")]);
      await world.simulation.sleep(10 * restAfterFailureMs);
      const lines = world.simulation.logLines().filter(({ level }) => level === "warn");
      expect(lines.map(({ message }) => message)).toEqual([
        "cannot write Events about problems in objects",
      ]);
      expect((await writes(started))["failed"]).toBeLessThanOrEqual(10);
      await started.stop();
    },
    { authorization: "RBAC" },
  ));

test("a namespace that is gone delays no other", () =>
  inApiWorld(async (world) => {
    const started = start(world);
    started.writer.note([problem("wrong", "lost", "nowhere"), problem("wrong")]);
    await world.simulation.sleep(2 * betweenWritesMs);
    expect(await eventTexts(world)).toEqual(["wrong ×1"]);
    await started.stop();
  }));

test("a missing service is reported when it stays missing, and not when it comes with its Ingress", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    const started = start(world);
    const missing = (name: string): RoutingProblem => ({
      ...problem(`no ${name}`),
      reason: "BackendMissing",
    });
    started.writer.note([missing("late"), missing("lost"), problem("wrong")]);
    await simulation.sleep(graceMs - aMomentMs);
    expect(await eventTexts(world)).toEqual(["wrong ×1"]);
    started.writer.note([missing("lost"), problem("wrong")]);
    await simulation.sleep(2 * aMomentMs);
    expect(await eventTexts(world)).toEqual(["no lost ×1", "wrong ×1"]);
    started.writer.note([problem("wrong")]);
    await simulation.sleep(tellAgainMs);
    expect(await eventTexts(world)).toEqual(["no lost ×1", "wrong ×2"]);
    await started.stop();
  }));

test("an object that has gone gets no Event", () =>
  inApiWorld(async (world) => {
    const started = start(world, { uidOf: () => undefined });
    started.writer.note([problem("wrong")]);
    await world.simulation.sleep(tellAgainMs);
    expect([await eventTexts(world), await writes(started)]).toEqual([[], {}]);
    await started.stop();
  }));
