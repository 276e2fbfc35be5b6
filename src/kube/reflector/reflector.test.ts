// The reflector against a scripted server, in virtual time, requirement by requirement.
import type { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import {
  eventLine,
  names,
  rawPod,
  reflectorWorld,
  refusal,
} from "../../../tests/reflector/reflector-world.ts";
import { deadPeerMs } from "../../environment/network.ts";
import { backoffBaseMs, backoffMaxMs } from "./backoff.ts";
import { NeverSyncedError } from "./reflector-sync.ts";

const expired = refusal(410, { reason: "Expired", message: "too old resource version" });

describe("listing", () => {
  test("pages of 500 follow the continue token and end in one watch at the list's version", () =>
    reflectorWorld(async ({ server, reflector }) => {
      for (let index = 0; index < 1_201; index += 1) {
        server.put(`web-${index}`);
      }
      reflector.start();
      await reflector.waitForSync();
      expect(reflector.store.size).toBe(1_201);
      expect(server.requests.map(({ kind, query }) => ({ kind, ...query }))).toEqual([
        { kind: "list", limit: "500" },
        { kind: "page", limit: "500", continue: "500" },
        { kind: "page", limit: "500", continue: "1000" },
      ]);
    }));

  test("a continue token that expires starts the list again, and nothing half-read is shown", () =>
    reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
      for (let index = 0; index < 600; index += 1) {
        server.put(`web-${index}`);
      }
      server.script("page", expired);
      reflector.start();
      await simulation.sleep(500);
      expect([reflector.state, reflector.store.size, delivered.length]).toEqual(["waiting", 0, 0]);
      await reflector.waitForSync();
      expect([reflector.store.size, delivered.length]).toEqual([600, 600]);
      expect(server.requests.map((request) => request.kind)).toEqual([
        "list",
        "page",
        "list",
        "page",
      ]);
    }));

  test("synced means that the handlers were called for everything, not that the list arrived", () => {
    const syncedWhenDelivered: (boolean | undefined)[] = [];
    let isSynced: (() => boolean) | undefined;
    return reflectorWorld(
      async ({ server, reflector }) => {
        isSynced = () => reflector.synced;
        server.put("web-0");
        server.put("web-1");
        reflector.start();
        await reflector.waitForSync();
        expect([...syncedWhenDelivered, reflector.synced]).toEqual([false, false, true]);
      },
      { handlers: [() => void syncedWhenDelivered.push(isSynced?.())] },
    );
  });

  test("a wait for the first list ends with an error when the reflector stops before", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      server.script("list", () => undefined);
      reflector.start();
      const waiting = reflector.waitForSync().catch((error: unknown) => error);
      await simulation.sleep(1_000);
      await reflector.stop();
      await reflector.stop();
      expect(await waiting).toBeInstanceOf(NeverSyncedError);
      expect(reflector.state).toBe("stopped");
    }));

  test("a streamed list is shown when its closing bookmark has come, and goes on as the watch", () =>
    reflectorWorld(
      async ({ simulation, server, reflector, delivered }) => {
        server.script("watch", (exchange) => {
          const writer = exchange.respond(200);
          writer.write(eventLine("ADDED", rawPod("web-0", "u0", 3)));
          writer.write(eventLine("ADDED", rawPod("web-1", "u1", 4)));
          writer.write(eventLine("DELETED", rawPod("web-1", "u1", 5)));
          simulation.at(500, () => {
            const annotations = { "k8s.io/initial-events-end": "true" };
            writer.write(
              Buffer.concat([
                eventLine("BOOKMARK", { metadata: { resourceVersion: "5", annotations } }),
                eventLine("MODIFIED", rawPod("web-0", "u0", 6)),
              ]),
            );
          });
          server.adopt(exchange, writer);
        });
        reflector.start();
        await simulation.sleep(400);
        expect([reflector.store.size, delivered]).toEqual([0, []]);
        await simulation.sleep(400);
        expect(delivered).toEqual(["added web-0@3 by list", "updated web-0@6 by watch"]);
        expect(server.requests.map(({ kind, query }) => ({ kind, ...query }))).toEqual([
          {
            kind: "watch",
            watch: "true",
            allowWatchBookmarks: "true",
            timeoutSeconds: expect.stringMatching(/^[3-5]\d\d$|^600$/),
            sendInitialEvents: "true",
            resourceVersionMatch: "NotOlderThan",
          },
        ]);
      },
      { initialList: "watchlist" },
    ));

  test.each([400, 422])(
    "a server that answers a streamed list with %i is asked for pages",
    (code) =>
      reflectorWorld(
        async ({ simulation, server, reflector }) => {
          server.put("web-0");
          server.script("watch", refusal(code), server.watch, expired);
          reflector.start();
          await simulation.sleep(5_000);
          server.endWatches("end");
          await simulation.sleep(5_000);
          expect(names(reflector.store)).toEqual(["web-0"]);
          expect(server.requests.map((request) => request.kind)).toEqual([
            "watch",
            "list",
            "watch",
            "watch",
            "list",
            "watch",
          ]);
        },
        { initialList: "watchlist" },
      ),
  );
});

describe("watching", () => {
  test("changes are delivered in order, and reads by index and namespace follow them", () =>
    reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
      server.put("web-0");
      reflector.start();
      await reflector.waitForSync();
      await simulation.sleep(100);
      server.put("web-1");
      server.put("web-0");
      server.delete("web-1");
      await simulation.sleep(100);
      expect(delivered).toEqual([
        "added web-0@2 by list",
        "added web-1@3 by watch",
        "updated web-0@4 by watch",
        "deleted web-1@5 by watch",
      ]);
      expect(names(reflector.store.byIndex("node", "n1"))).toEqual(["web-0"]);
      expect(names(reflector.store.inNamespace("shop"))).toEqual(["web-0"]);
    }));

  test("a lost connection resumes after the last version, bookmarks included", () =>
    reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
      reflector.start();
      await simulation.sleep(2_000);
      server.touchOther();
      server.bookmark();
      await simulation.sleep(100);
      server.endWatches("abort");
      server.put("web-0");
      await simulation.sleep(2_000);
      expect(server.seen("watch").map(({ query }) => query["resourceVersion"])).toEqual(["1", "2"]);
      expect(server.seen("list")).toHaveLength(1);
      expect(delivered).toEqual(["added web-0@3 by watch"]);
    }));

  test("versions that were seen before are skipped, and none is delivered twice", () =>
    reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
      server.put("web-0");
      reflector.start();
      await simulation.sleep(100);
      server.put("web-0");
      server.send("MODIFIED", rawPod("web-0", "uid-web-0", 3));
      server.send("MODIFIED", rawPod("web-0", "uid-web-0", 2));
      server.send("ADDED", rawPod("web-1", "uid-web-1", 1));
      await simulation.sleep(100);
      expect(delivered).toEqual(["added web-0@2 by list", "updated web-0@3 by watch"]);
    }));

  test("a successor with the same name is a deletion and an addition", () =>
    reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
      server.put("web-0", "old");
      reflector.start();
      await simulation.sleep(100);
      server.put("web-0", "new");
      await simulation.sleep(100);
      expect(delivered).toEqual([
        "added web-0@2 by list",
        "deleted web-0@2 by watch (final state unknown)",
        "added web-0@3 by watch",
      ]);
    }));

  test("a malformed object is left out and counted, keeps its last version and harms no other", () =>
    reflectorWorld(async ({ simulation, server, reflector, registry, delivered }) => {
      server.put("web-0");
      server.pods.set("bad", { metadata: { name: "bad", labels: 7 } });
      reflector.start();
      await simulation.sleep(100);
      server.send("MODIFIED", { metadata: { name: "web-0", namespace: "shop", uid: 5 } });
      server.send("ADDED", { metadata: "?" });
      server.put("web-1");
      await simulation.sleep(100);
      expect(delivered).toEqual(["added web-0@2 by list", "added web-1@3 by watch"]);
      expect(names(reflector.store)).toEqual(["web-0", "web-1"]);
      expect(await metricValue(registry, "lockstep_reflector_malformed_objects_total")).toBe(3);
    }));

  test("a handler that throws or rejects is counted and does not keep the change from other handlers", () => {
    const delivered: string[] = [];
    return reflectorWorld(
      async ({ simulation, server, reflector, registry }) => {
        server.put("web-0");
        reflector.start();
        await simulation.sleep(100);
        server.put("web-1");
        await simulation.sleep(100);
        expect(delivered).toEqual(["web-0", "web-1"]);
        expect(reflector.state).toBe("watching");
        expect(await metricValue(registry, "lockstep_reflector_handler_failures_total")).toBe(4);
        const lines = simulation.logLines().filter((line) => line.message.startsWith("a handler"));
        expect(lines).toHaveLength(1);
      },
      {
        handlers: [
          () => {
            throw new Error("broken");
          },
          () => Promise.reject(new Error("broken later")),
          (change) => void delivered.push(change.object.metadata.name),
        ],
      },
    );
  });
});

describe("when the history is gone", () => {
  test.each(["status", "event"])(
    "410 as %s lists at the last version, and the store is never empty in between",
    (form) =>
      reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
        for (const name of ["web-0", "web-1", "web-2"]) server.put(name);
        reflector.start();
        await simulation.sleep(2_000);
        if (form === "status") {
          server.script("watch", expired);
          server.endWatches("end");
        } else {
          server.send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "old" });
        }
        server.pods.delete("web-0");
        server.touchOther();
        const sizes = new Set<number>();
        for (let ms = 0; ms < 2_000; ms += 1) {
          sizes.add(reflector.store.size);
          await simulation.sleep(1);
        }
        expect([...sizes]).toEqual([3, 2]);
        expect(server.seen("list").map(({ query }) => query)).toEqual([
          { limit: "500" },
          { limit: "500", resourceVersion: "4", resourceVersionMatch: "NotOlderThan" },
        ]);
        expect(delivered.slice(3)).toEqual(["deleted web-0@2 by list (final state unknown)"]);
      }),
  );

  test("a server that has lost the last version too is asked for the newest", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      reflector.start();
      await simulation.sleep(2_000);
      const tooLarge = {
        reason: "Timeout",
        details: { causes: [{ reason: "ResourceVersionTooLarge" }], retryAfterSeconds: 1 },
      };
      server.script("watch", expired);
      server.script("list", refusal(504, tooLarge));
      server.endWatches("end");
      await simulation.sleep(5_000);
      const lists = server.seen("list");
      expect(lists.map(({ query }) => query["resourceVersion"])).toEqual([
        undefined,
        "1",
        undefined,
      ]);
      const [, refused, again] = lists.map((list) => list.atMs);
      expect(Math.round(((again ?? 0) - (refused ?? 0)) / 100)).toBe(10);
      expect(reflector.state).toBe("watching");
    }));

  test("a server that always answers 410 is not asked in a tight loop", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      server.script("watch", ...Array.from({ length: 1_000 }, () => expired));
      reflector.start();
      await simulation.sleep(60_000);
      expect(server.requests.length).toBeLessThanOrEqual(20);
    }));
});

test("an object that has become malformed keeps its last version through a list", () =>
  reflectorWorld(async ({ simulation, server, reflector, delivered }) => {
    server.put("web-0");
    reflector.start();
    await simulation.sleep(2_000);
    server.pods.set("web-0", { metadata: { name: "web-0", namespace: "shop", labels: 7 } });
    server.script("watch", expired);
    server.endWatches("end");
    await simulation.sleep(2_000);
    expect(server.seen("list")).toHaveLength(2);
    expect(names(reflector.store)).toEqual(["web-0"]);
    expect(delivered).toEqual(["added web-0@2 by list"]);
  }));

describe("when the server refuses", () => {
  test("429 waits as long as it says and watches again without a list", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      server.script("watch", refusal(429, { retryAfter: "7" }));
      reflector.start();
      await simulation.sleep(5_000);
      expect(reflector.condition().type).toBe("throttled");
      await simulation.sleep(5_000);
      const [first, second] = server.seen("watch").map((request) => request.atMs);
      expect(Math.round(((second ?? 0) - (first ?? 0)) / 100)).toBe(70);
      expect(server.seen("list")).toHaveLength(1);
      expect(reflector.condition()).toEqual({ type: "ok", message: "watching" });
    }));

  test.each([403, 404])("%i waits long and shows a condition until it is allowed", (code) =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      const message = "pods is forbidden";
      server.script("list", ...Array.from({ length: 5 }, () => refusal(code, { message })));
      reflector.start();
      await simulation.sleep(100);
      expect(reflector.condition()).toEqual({ type: "refused", message });
      await simulation.sleep(29_900);
      expect(server.requests).toHaveLength(4);
      expect(reflector.condition()).toEqual({ type: "refused", message });
      await reflector.waitForSync();
      await simulation.sleep(100);
      expect(reflector.condition()).toEqual({ type: "ok", message: "watching" });
    }),
  );

  test("a server that refuses what it allowed, until it has read its rules, is soon watched again", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      const problem = { message: "pods is forbidden" };
      reflector.start();
      await simulation.sleep(5_000);
      server.script("watch", refusal(403, problem), refusal(403, problem));
      server.endWatches("abort");
      const conditions = new Set<string>();
      for (let second = 0; second < 10; second += 1) {
        await simulation.sleep(1_000);
        conditions.add(reflector.condition().type);
      }
      expect(conditions).toEqual(new Set(["retrying", "ok"]));
      expect(reflector.freshness().fresh).toBe(true);
    }));

  test("a server that ends every watch with an error is listed again", () =>
    reflectorWorld(async ({ simulation, server, reflector, registry }) => {
      server.script("watch", ...Array.from({ length: 5 }, () => refusal(500)));
      reflector.start();
      await simulation.sleep(120_000);
      expect(server.seen("list")).toHaveLength(2);
      expect(await metricValue(registry, "lockstep_reflector_relists_total")).toBe(1);
      expect(reflector.state).toBe("watching");
    }));
});

describe("closing and backing off", () => {
  test("a clean close after a second reopens at once, a shorter one waits", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      reflector.start();
      await simulation.sleep(1_500);
      server.endWatches("end");
      await simulation.sleep(100);
      expect(server.seen("watch")).toHaveLength(2);
      server.endWatches("end");
      await simulation.sleep(backoffBaseMs - 100);
      expect(server.seen("watch")).toHaveLength(2);
      await simulation.sleep(backoffBaseMs + 200);
      expect(server.seen("watch")).toHaveLength(3);
    }));

  test("waits grow from 0.8 s to at most 30 s while no server answers", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      server.script("list", ...Array.from({ length: 12 }, () => refusal(503)));
      reflector.start();
      await reflector.waitForSync();
      const waits = server
        .seen("list")
        .map((request, index, all) => request.atMs - (all[index - 1]?.atMs ?? request.atMs))
        .slice(1);
      expect(waits).toHaveLength(12);
      for (const [index, wait] of waits.entries()) {
        const step = Math.min(backoffBaseMs * 2 ** index, backoffMaxMs / 2);
        expect(wait).toBeGreaterThanOrEqual(step);
        expect(wait).toBeLessThan(step * 2 + 10);
      }
      expect(simulation.now()).toBeGreaterThan(100_000);
    }));

  test("a watch that the server forgets to end is ended by our own timer", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      reflector.start();
      for (let minute = 0; minute < 11; minute += 1) {
        await simulation.sleep(60_000);
        server.bookmark();
      }
      const [first, second] = server.seen("watch");
      const asked = Number(first?.query["timeoutSeconds"]);
      expect(asked >= 300 && asked <= 600).toBe(true);
      const lastedMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
      expect(Math.round(lastedMs / 1_000)).toBe(asked + 15);
    }));

  test("a stopped reflector leaves nothing open", () =>
    reflectorWorld(async ({ simulation, server, reflector }) => {
      reflector.start();
      await simulation.sleep(25_000);
      expect(server.openWatches).toBe(1);
      await reflector.stop();
      await simulation.sleep(deadPeerMs);
      expect([server.openWatches, simulation.network.openExchanges()]).toEqual([0, 0]);
    }));
});

test("everything is counted, and ages are shown while it runs", () =>
  reflectorWorld(async ({ simulation, server, reflector, registry }) => {
    server.put("web-0");
    reflector.start();
    await simulation.sleep(1_000);
    server.put("web-0");
    server.delete("web-0");
    server.send("SURPRISE", { metadata: { resourceVersion: "9" } });
    await simulation.sleep(5_000);
    const lines = (await registry.metrics()).split("\n");
    const values = lines
      .filter((line) => /^lockstep_reflector_\w+\{cluster="c1",resource="pods"/.test(line))
      .map((line) =>
        line.slice("lockstep_reflector_".length).replace('cluster="c1",resource="pods"', ""),
      )
      .filter((line) => !/^(received_bytes|last_event|current_age)/.test(line));
    expect(values.sort()).toEqual([
      "decode_seconds_total{} 0",
      "doubted_lists_total{} 0",
      "doubted_objects{} 0",
      'events_total{,type="DELETED"} 1',
      'events_total{,type="MODIFIED"} 1',
      'events_total{,type="other"} 1',
      "fresh{} 1",
      "list_pages_total{} 1",
      "lists_total{} 1",
      "watches_total{} 1",
    ]);
    const age = await metricValue(registry, "lockstep_reflector_last_event_age_seconds");
    expect(Math.round(age ?? 0)).toBe(5);
    expect(await metricValue(registry, "lockstep_reflector_received_bytes_total")).toBeGreaterThan(
      500,
    );
    await reflector.stop();
    expect(await metricValue(registry, "lockstep_reflector_fresh")).toBe(undefined);
  }));

async function metricValue(registry: Registry, name: string): Promise<number | undefined> {
  const metric = (await registry.getMetricsAsJSON()).find((one) => one.name === name);
  return metric?.values[0]?.value;
}
