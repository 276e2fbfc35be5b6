// How the reflector notices, in virtual time, that its source cannot be trusted, and what it does.
import { describe, expect, test } from "vitest";
import {
  clientOf,
  eventLine,
  names,
  type ReflectorWorld,
  rawPod,
  reflectorWorld,
  refusal,
  type ScriptedAnswer,
  ScriptedServer,
} from "../../../tests/reflector/reflector-world.ts";
import { deadPeerMs } from "../../environment/network.ts";
import { simulate } from "../../simulation/simulation.ts";
import { podKind } from "../kinds/pod.ts";
import { defaultAliveWithinMs, defaultCurrentWithinMs } from "./freshness.ts";
import { Reflector } from "./reflector.ts";
import {
  behindAfterMs,
  laggingRelistEveryMs,
  lastChanceMs,
  silentAfterMs,
} from "./reflector-guard.ts";
import { quorumReadEveryMs } from "./reflector-prover.ts";

/** A read is sent at the latest after 1.2 intervals; some seconds for requests and lists. */
const noticedWithinMs = quorumReadEveryMs * 1.2 + behindAfterMs;
const slackMs = 5_000;

/** A healthy cluster in which something changes every second and bookmarks come each minute. */
async function pass(world: ReflectorWorld, ms: number, bookmarks = true): Promise<void> {
  const { simulation, server } = world;
  for (let passed = 0; passed < ms; passed += 1_000) {
    await simulation.sleep(1_000);
    server.touchOther();
    if (bookmarks && Math.floor(simulation.now() / 1_000) % 60 === 0) {
      server.bookmark();
    }
  }
}

describe("a healthy source", () => {
  test("stays fresh for an hour of quiet pods in a busy cluster, on one list", () =>
    reflectorWorld(async (world) => {
      const { simulation, server, reflector } = world;
      reflector.start();
      await reflector.waitForSync();
      const stale: (string | undefined)[] = [];
      for (let minute = 0; minute < 60; minute += 1) {
        await pass(world, 60_000);
        stale.push(reflector.freshness().reason);
      }
      expect(stale).toEqual(Array.from({ length: 60 }, () => undefined));
      expect(server.seen("list")).toHaveLength(1);
      const reads = server.seen("quorum").length;
      expect(reads).toBeGreaterThan(3_600_000 / (quorumReadEveryMs * 1.2) - 20);
      expect(reads).toBeLessThan(3_600_000 / (quorumReadEveryMs * 0.8) + 20);
      expect(simulation.now()).toBeGreaterThan(3_600_000);
    }));

  test("says where it is connected, since when, and how current it is", () =>
    reflectorWorld(async ({ simulation, reflector }) => {
      expect(reflector.freshness()).toEqual({
        fresh: false,
        reason: "nothing has been listed yet",
        connectedSinceMs: undefined,
        aliveAtMs: undefined,
        currentAtMs: undefined,
        resourceVersion: undefined,
        server: undefined,
        provedBy: "quorum",
      });
      reflector.start();
      await simulation.sleep(10);
      const { connectedSinceMs, currentAtMs, ...rest } = reflector.freshness();
      expect(rest).toEqual({
        fresh: true,
        reason: undefined,
        aliveAtMs: simulation.now(),
        resourceVersion: "1",
        server: "api:80",
        provedBy: "quorum",
      });
      expect((connectedSinceMs ?? 0) > (currentAtMs ?? 10)).toBe(true);
    }));
});

describe("a lost server", () => {
  test("makes the source stale within the bounds of the network and its own", () =>
    reflectorWorld(async ({ simulation, reflector }) => {
      reflector.start();
      await simulation.sleep(5_000);
      simulation.crash("api", { vanish: true });
      await simulation.sleep(deadPeerMs + defaultAliveWithinMs - 1_000);
      await simulation.sleep(2_000);
      const { fresh, reason } = reflector.freshness();
      expect([fresh, reason?.startsWith("api:80 has not been reached for over ")]).toEqual([
        false,
        true,
      ]);
    }));
});

describe("a lagging cache that goes on sending old bookmarks", () => {
  test("is stale in time, and consistent lists bound the blindness", () =>
    reflectorWorld(async (world) => {
      const { simulation, server, reflector, registry } = world;
      const showsNothing: ScriptedAnswer = (exchange) => {
        server.adopt(exchange, exchange.respond(200));
      };
      server.script("watch", ...Array.from({ length: 100 }, () => showsNothing));
      reflector.start();
      await reflector.waitForSync();
      server.pods.set("web-0", rawPod("web-0", "u", 2));
      const changedAt = simulation.now();
      while (reflector.store.size === 0) {
        await pass(world, 1_000, false);
        if (Math.floor(simulation.now() / 1_000) % 30 === 0) {
          server.bookmark(1);
        }
        const tooOld = simulation.now() - changedAt > defaultCurrentWithinMs;
        const trusted = reflector.store.size === 0 && reflector.freshness().fresh;
        expect(tooOld && trusted).toBe(false);
      }
      const blindMs = simulation.now() - changedAt;
      expect(blindMs).toBeLessThan(noticedWithinMs + lastChanceMs + slackMs);
      expect(reflector.freshness().fresh).toBe(true);
      await pass(world, 600_000, false);
      const lists = server.seen("list").map((request) => request.atMs);
      const gaps = lists.slice(2).map((atMs, index) => atMs - (lists[index + 1] ?? 0));
      expect(gaps.length).toBeGreaterThanOrEqual(4);
      for (const gap of gaps) {
        // The server sees the requests, each with its own latency.
        expect(Math.ceil(gap)).toBeGreaterThanOrEqual(laggingRelistEveryMs);
        expect(gap).toBeLessThan(laggingRelistEveryMs + quorumReadEveryMs * 1.2 + slackMs);
      }
      const relists = await registry.getSingleMetricAsString("lockstep_reflector_relists_total");
      expect(relists.split("\n").at(-1)).toBe(
        `lockstep_reflector_relists_total{cluster="c1",resource="pods",reason="lagging"} ${lists.length - 1}`,
      );
    }));

  test("is trusted again when the watch reaches what reads show", () =>
    reflectorWorld(async (world) => {
      const { server, reflector } = world;
      reflector.start();
      await pass(world, 200_000, false);
      const lists = server.seen("list").length;
      expect(lists).toBeGreaterThan(1);
      await pass(world, 600_000);
      expect(server.seen("list").length).toBeLessThanOrEqual(lists + 1);
      expect(reflector.freshness().fresh).toBe(true);
    }));
});

describe("a silent stream", () => {
  test("is cut after ninety seconds and resumed, without a list, when reads prove nothing", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      const hangs = Array.from({ length: 100 }, () => refusal(503));
      server.script("quorum", ...hangs);
      reflector.start();
      await simulation.sleep(silentAfterMs - 1_000);
      expect(server.seen("watch")).toHaveLength(1);
      await simulation.sleep(2_000);
      expect(server.seen("watch")).toHaveLength(2);
      expect(server.seen("list")).toHaveLength(1);
      await simulation.sleep(silentAfterMs);
      expect(server.seen("list").map((request) => request.query)).toEqual([
        { limit: "500" },
        { limit: "500" },
      ]);
    }));

  test("that hides changes is cut when a quorum read shows them, and they come at once", () =>
    reflectorWorld(async (world) => {
      const { simulation, server, reflector } = world;
      server.script("watch", (exchange) => void exchange.respond(200));
      reflector.start();
      await simulation.sleep(1_000);
      server.put("web-0");
      const changedAt = simulation.now();
      while (reflector.store.size === 0) {
        await simulation.sleep(1_000);
      }
      expect(simulation.now() - changedAt).toBeLessThan(noticedWithinMs + slackMs);
      expect(names(reflector.store)).toEqual(["web-0"]);
      expect(server.seen("list")).toHaveLength(1);
    }));
});

describe("quorum reads", () => {
  test("that are refused leave events and bookmarks as proof, and a condition says so", () =>
    reflectorWorld(async (world) => {
      const { server, reflector } = world;
      server.script("quorum", ...Array.from({ length: 1_000 }, () => refusal(403)));
      reflector.start();
      await pass(world, 600_000);
      expect(reflector.freshness().fresh).toBe(true);
      expect(reflector.condition()).toEqual({
        type: "refused",
        message: "no permission for quorum reads; a lagging API server would not be detected",
      });
      expect(server.seen("list")).toHaveLength(1);
    }));

  test("that show an older version than the watch had make a consistent list", () =>
    reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
      for (const name of ["web-0", "web-1", "web-2"]) server.put(name);
      reflector.start();
      await simulation.sleep(1_000);
      const restored = {
        kind: "PodList",
        metadata: { resourceVersion: "3" },
        items: [rawPod("web-0", "uid-web-0", 2), rawPod("web-1", "uid-web-1", 3)],
      };
      const answer: ScriptedAnswer = (exchange) =>
        exchange.respond(200).end(Buffer.from(JSON.stringify(restored)));
      server.script("quorum", answer);
      server.script("list", answer);
      server.script("watch", (exchange) => void exchange.respond(200));
      await simulation.sleep(quorumReadEveryMs * 1.2);
      expect(delivered.slice(3)).toEqual(["deleted web-2@4 by list (final state unknown)"]);
      expect(server.seen("watch").at(-1)?.query["resourceVersion"]).toBe("3");
    }));

  test("are made at the witness when there is one, and show what the watched server hides", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const [watched, witness] = [new ScriptedServer(simulation), new ScriptedServer(simulation)];
      await simulation.host("api").network.listen({ host: "api", port: 80 }, watched.handle);
      await simulation.host("api2").network.listen({ host: "api2", port: 80 }, witness.handle);
      const reflector = new Reflector({
        ...simulation.host("lockstep"),
        kind: podKind,
        client: clientOf(simulation, "api"),
        witness: clientOf(simulation, "api2"),
        cluster: "c1",
        indexes: {},
        handlers: [],
      });
      reflector.start();
      await reflector.waitForSync();
      witness.touchOther();
      for (let passed = 0; passed < defaultCurrentWithinMs + 10_000; passed += 1_000) {
        await simulation.sleep(1_000);
        watched.bookmark();
      }
      expect(watched.seen("quorum")).toEqual([]);
      expect(witness.seen("quorum").length).toBeGreaterThan(2);
      const { fresh, reason } = reflector.freshness();
      expect([fresh, reason]).toEqual([
        false,
        "api:80 has not been known to be up to date for over 100 s",
      ]);
      await reflector.stop();
    }));
});

test("events cut into any chunks come out whole", () =>
  reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
    server.script("watch", (exchange) => {
      const writer = exchange.respond(200);
      const bytes = Buffer.concat([
        eventLine("ADDED", rawPod("käse-0", "u0", 2)),
        eventLine("ADDED", rawPod("käse-1", "u1", 3)),
      ]);
      for (const byte of bytes) {
        writer.write(Buffer.from([byte]));
      }
      server.adopt(exchange, writer);
    });
    reflector.start();
    await simulation.sleep(100);
    expect(delivered).toEqual(["added käse-0@2 by watch", "added käse-1@3 by watch"]);
  }));
