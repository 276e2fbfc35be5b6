// Events of a watching client, from the first to the end, and under each fault.
import { describe, expect, it } from "vitest";
import {
  hasApp,
  openStores,
  pod,
  type SimulatedStores,
} from "../../../tests/apiserver/simulated-stores.ts";
import { WatchRecording } from "../../../tests/apiserver/watch-recording.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";

/** Runs in virtual time, with stores over one storage. */
function simulateStores<Result>(
  seed: number,
  main: (stores: SimulatedStores<Simulation>) => Promise<Result>,
): Promise<Result> {
  return simulate({ seed }, (simulation) => main(openStores(simulation)));
}

const minuteMs = 60_000;

describe("a watch", () => {
  it("from nowhere brings the state, then every change", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods } = server("api-1");
      await pods.create(pod("b", "1"));
      await pods.create(pod("a", "1"));
      const watch = new WatchRecording(pods);
      await settle();
      await pods.update("a", "1", () => pod("a", "1", { note: "new" }));
      await pods.delete("b", "1", () => undefined);
      await settle();
      expect(watch.summary).toEqual([
        "ADDED a/1@3",
        "ADDED b/1@2",
        "MODIFIED a/1@4",
        "DELETED b/1@5",
      ]);
      watch.leave();
      await watch.done;
    }));

  it("carries whole objects, and for a deletion the last state", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods } = server("api-1");
      const watch = new WatchRecording(pods);
      await settle();
      const created = await pods.create(pod("a", "1", { note: "last" }));
      const removed = await pods.delete("a", "1", () => undefined);
      await settle();
      expect(watch.events).toEqual([
        { type: "ADDED", object: created },
        { type: "DELETED", object: removed },
      ]);
      watch.leave();
    }));

  it("with initial events marks where the state ends", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods } = server("api-1");
      await pods.create(pod("a", "1"));
      const watch = new WatchRecording(pods, {
        sendInitialEvents: true,
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: true,
      });
      await settle();
      await pods.create(pod("a", "2"));
      await settle();
      expect(watch.events.slice(1, 2)).toEqual([
        {
          type: "BOOKMARK",
          object: {
            kind: "Pod",
            apiVersion: "v1",
            metadata: {
              resourceVersion: "2",
              annotations: { "k8s.io/initial-events-end": "true" },
            },
          },
        },
      ]);
      expect(watch.summary).toEqual(["ADDED a/1@2", "BOOKMARK @2!", "ADDED a/2@3"]);
      watch.leave();
    }));

  it("from a version brings only what came after it, in its namespace", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods } = server("api-1");
      await pods.create(pod("a", "1"));
      await pods.create(pod("a", "2"));
      await pods.create(pod("b", "1"));
      await settle();
      const all = new WatchRecording(pods, { resourceVersion: "2" });
      const one = new WatchRecording(pods, { resourceVersion: "2", namespace: "a" });
      const now = new WatchRecording(pods, {
        resourceVersion: "0",
        sendInitialEvents: false,
        resourceVersionMatch: "NotOlderThan",
      });
      await settle();
      await pods.create(pod("a", "3"));
      await settle();
      expect([all, one, now].map((watch) => watch.summary)).toEqual([
        ["ADDED a/2@3", "ADDED b/1@4", "ADDED a/3@5"],
        ["ADDED a/2@3", "ADDED a/3@5"],
        ["ADDED a/3@5"],
      ]);
      for (const watch of [all, one, now]) watch.leave();
    }));

  it("shows an object that begins or ceases to match as added or deleted", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods } = server("api-1");
      const live = new WatchRecording(pods, { matches: hasApp("web") });
      await settle();
      const write = (app: string, note: string): Promise<unknown> =>
        pods.update("a", "1", () => pod("a", "1", { app, note }));
      await pods.create(pod("a", "1", { app: "db" }));
      await write("web", "1");
      await write("web", "2");
      await write("db", "3");
      await write("db", "4");
      await write("web", "5");
      await pods.delete("a", "1", () => undefined);
      await settle();
      const replayed = new WatchRecording(pods, {
        matches: hasApp("web"),
        resourceVersion: "1",
      });
      await settle();
      const expected = [
        ["ADDED", "3", "1"],
        ["MODIFIED", "4", "2"],
        ["DELETED", "5", "2"],
        ["ADDED", "7", "5"],
        ["DELETED", "8", "5"],
      ];
      for (const { events } of [live, replayed]) {
        expect(
          events.map(({ type, object: { metadata, spec } }) => {
            return [type, metadata.resourceVersion, (spec as { note: string }).note];
          }),
        ).toEqual(expected);
      }
      live.leave();
      replayed.leave();
    }));

  it("sends nothing before the version it started from, although the cache is older", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods, faults } = server("api-1");
      await settle();
      faults.cacheLagMs = 1000;
      await pods.create(pod("a", "1"));
      await pods.create(pod("a", "2"));
      const watch = new WatchRecording(pods, { resourceVersion: "2" });
      const latest = new WatchRecording(pods, {
        sendInitialEvents: false,
        resourceVersionMatch: "NotOlderThan",
      });
      await settle();
      faults.cacheLagMs = 0;
      await settle();
      await pods.create(pod("a", "3"));
      await settle();
      expect([watch.summary, latest.summary]).toEqual([
        ["ADDED a/2@3", "ADDED a/3@4"],
        ["ADDED a/3@4"],
      ]);
      watch.leave();
      latest.leave();
    }));

  it("from nowhere waits for a lagging cache and is refused when that takes too long", () =>
    simulateStores(1, async ({ server, settle, simulation }) => {
      const { pods, faults } = server("api-1");
      await settle();
      faults.cacheLagMs = 2000;
      await pods.create(pod("a", "1"));
      const patient = new WatchRecording(pods);
      await simulation.sleep(2000);
      expect(patient.summary).toEqual(["ADDED a/1@2"]);
      faults.cacheLagMs = 10_000;
      await pods.create(pod("a", "2"));
      const refused = new WatchRecording(pods);
      await refused.done;
      expect(refused.summary).toEqual([
        "ERROR 504 Timeout: Too large resource version: 3, current: 2",
      ]);
      expect(refused.ending).toBe("end");
      patient.leave();
    }));
});

describe("a watch from a version that is too old", () => {
  /** 101 changes, the last of them long after the others: the window forgets the first. */
  const forgetFirst = async (pods: ConstructorParameters<typeof WatchRecording>[0]) => {
    for (let number = 0; number < 101; number++) await pods.create(pod("a", String(number)));
  };

  it("gets an ERROR event, as from real servers", () =>
    simulateStores(1, async ({ server, settle, simulation }) => {
      const { pods } = server("api-1");
      await settle();
      await forgetFirst(pods);
      await simulation.sleep(76_000);
      await pods.create(pod("b", "1"));
      await settle();
      const watch = new WatchRecording(pods, { resourceVersion: "2" });
      await watch.done;
      expect(watch.events).toEqual([
        {
          type: "ERROR",
          object: {
            kind: "Status",
            apiVersion: "v1",
            metadata: {},
            status: "Failure",
            message: "too old resource version: 2 (3)",
            reason: "Expired",
            code: 410,
          },
        },
      ]);
      const resumed = new WatchRecording(pods, { resourceVersion: "3" });
      await settle();
      expect(resumed.events).toHaveLength(100);
      resumed.leave();
    }));

  it("gets status 410 when the fault for it is set", () =>
    simulateStores(1, async ({ server, settle, simulation }) => {
      const { pods, faults } = server("api-1");
      await settle();
      await forgetFirst(pods);
      await simulation.sleep(76_000);
      await pods.create(pod("b", "1"));
      await settle();
      faults.expiredWatchAnswer = "status";
      const watch = new WatchRecording(pods, { resourceVersion: "2" });
      await watch.done;
      expect(watch.refusal).toMatchObject({ code: 410, reason: "Expired" });
      expect(watch.writes).toBe(0);
    }));

  it("is served within 75 seconds, however many changes there were", () =>
    simulateStores(1, async ({ server, settle, simulation }) => {
      const { pods } = server("api-1");
      await settle();
      await forgetFirst(pods);
      await simulation.sleep(74_000);
      await pods.create(pod("b", "1"));
      await settle();
      const watch = new WatchRecording(pods, { resourceVersion: "1" });
      await settle();
      expect(watch.events).toHaveLength(102);
      watch.leave();
    }));
});

describe("the end of a watch", () => {
  it("comes at the timeout the client asked for, with a bookmark two seconds before", () =>
    simulateStores(1, async ({ server, settle, simulation, writeElsewhere }) => {
      const { pods } = server("api-1");
      await settle();
      const watch = new WatchRecording(pods, {
        resourceVersion: "1",
        allowWatchBookmarks: true,
        timeoutSeconds: 30,
      });
      await settle();
      const startedAt = simulation.now();
      await writeElsewhere();
      await simulation.sleep(27_999);
      expect(watch.summary).toEqual([]);
      await simulation.sleep(2);
      expect(watch.summary).toEqual(["BOOKMARK @2"]);
      await watch.done;
      expect(simulation.now() - startedAt).toBe(30_000);
      expect([watch.ending, watch.summary]).toEqual(["end", ["BOOKMARK @2"]]);
    }));

  it("comes after 30 to 60 minutes when the client asked for none", () =>
    simulateStores(1, async ({ server, simulation }) => {
      const { pods } = server("api-1");
      const lastedMs = await Promise.all(
        Array.from({ length: 20 }, async () => {
          await new WatchRecording(pods).done;
          return simulation.now();
        }),
      );
      expect(Math.min(...lastedMs)).toBeGreaterThanOrEqual(30 * minuteMs);
      expect(Math.max(...lastedMs)).toBeLessThan(60 * minuteMs);
      expect(new Set(lastedMs).size).toBe(20);
    }));

  it("comes when the server stops", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods } = server("api-1");
      const watch = new WatchRecording(pods);
      await settle();
      pods.stop();
      pods.stop();
      await watch.done;
      expect(watch.ending).toBe("end");
    }));

  it("comes when the client does not read, and is counted", () =>
    simulateStores(1, async ({ server, settle, simulation }) => {
      const { pods, metrics } = server("api-1");
      const slow = new WatchRecording(pods);
      const quick = new WatchRecording(pods);
      await settle();
      slow.reading = false;
      const note = "x".repeat(1024 * 1024);
      for (const name of ["1", "2", "3", "4", "5", "6"])
        await pods.create(pod("a", name, { note }));
      await slow.done;
      expect([slow.ending, quick.ending]).toEqual(["end", undefined]);
      expect(quick.events).toHaveLength(6);
      const counted = await metrics.getSingleMetric("apiserver_terminated_watchers_total")?.get();
      expect(counted?.values).toEqual([{ labels: { group: "", resource: "pods" }, value: 1 }]);
      expect(simulation.logLines().map((line) => line.message)).toEqual([
        "Forcing pods watcher close due to unresponsiveness.",
      ]);
      quick.leave();
    }));
});

describe("bookmarks", () => {
  it("come about every minute on request, with the revision of the cache", () =>
    simulateStores(1, async ({ server, settle, simulation, writeElsewhere }) => {
      const { pods } = server("api-1");
      await settle();
      const options = { resourceVersion: "1", timeoutSeconds: 3600 };
      const wanted = new WatchRecording(pods, { ...options, allowWatchBookmarks: true });
      const unwanted = new WatchRecording(pods, options);
      for (let minute = 0; minute < 5; minute++) {
        await writeElsewhere();
        await simulation.sleep(61_250);
      }
      expect(wanted.summary).toEqual([
        "BOOKMARK @2",
        "BOOKMARK @3",
        "BOOKMARK @4",
        "BOOKMARK @5",
        "BOOKMARK @6",
      ]);
      expect(unwanted.summary).toEqual([]);
      wanted.leave();
      unwanted.leave();
    }));

  it("say nothing while nothing has happened since the start", () =>
    simulateStores(1, async ({ server, settle, simulation }) => {
      const { pods } = server("api-1");
      await settle();
      const options = { resourceVersion: "1", allowWatchBookmarks: true, timeoutSeconds: 3600 };
      const watch = new WatchRecording(pods, options);
      await simulation.sleep(10 * minuteMs);
      expect(watch.summary).toEqual([]);
      watch.leave();
    }));

  it("repeat an old version when the cache is frozen", () =>
    simulateStores(1, async ({ server, settle, simulation, writeElsewhere }) => {
      const { pods, faults } = server("api-1");
      await settle();
      const options = { resourceVersion: "1", allowWatchBookmarks: true, timeoutSeconds: 3600 };
      const watch = new WatchRecording(pods, options);
      await writeElsewhere();
      await settle();
      faults.cacheLagMs = Number.POSITIVE_INFINITY;
      await writeElsewhere();
      await simulation.sleep(2 * 61_250);
      expect(watch.summary).toEqual(["BOOKMARK @2", "BOOKMARK @2"]);
      watch.leave();
    }));
});

describe("faults of open watches", () => {
  it("a stalled watch is silent, its end included, and catches up afterwards", () =>
    simulateStores(1, async ({ server, settle, simulation }) => {
      const { pods, faults } = server("api-1");
      await settle();
      const options = { resourceVersion: "1", allowWatchBookmarks: true, timeoutSeconds: 100 };
      const stalled = new WatchRecording(pods, { ...options, clientName: "lockstep" });
      const other = new WatchRecording(pods, { ...options, clientName: "kubelet" });
      await settle();
      faults.stalledWatches = (watch) => watch.clientName === "lockstep";
      const late = new WatchRecording(pods, { ...options, clientName: "lockstep" });
      await pods.create(pod("a", "1"));
      await simulation.sleep(99_000);
      expect([stalled.summary, late.summary]).toEqual([[], []]);
      expect(other.summary).toEqual(["ADDED a/1@2", "BOOKMARK @2", "BOOKMARK @2"]);
      faults.stalledWatches = undefined;
      await settle();
      await pods.create(pod("a", "2"));
      await settle();
      const both = ["ADDED a/1@2", "ADDED a/2@3"];
      expect([stalled.summary, late.summary]).toEqual([both, both]);
      faults.stalledWatches = () => true;
      await simulation.sleep(10 * minuteMs);
      expect([stalled, late, other].map((watch) => watch.ending)).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      faults.stalledWatches = undefined;
      await Promise.all([stalled.done, late.done, other.done]);
      expect([stalled, late, other].map((watch) => watch.ending)).toEqual(["end", "end", "end"]);
    }));

  it("a reset breaks the chosen watches and no others", () =>
    simulateStores(1, async ({ server, settle }) => {
      const { pods, faults } = server("api-1");
      const chosen = new WatchRecording(pods, { clientName: "lockstep", namespace: "a" });
      const other = new WatchRecording(pods, { clientName: "lockstep", namespace: "b" });
      await settle();
      faults.resetWatches((watch) => watch.namespace === "a");
      await chosen.done;
      expect([chosen.ending, other.ending]).toEqual(["abort", undefined]);
      other.leave();
    }));
});

it("watchers of one change share its bytes and its encoding", () =>
  simulateStores(1, async ({ server, settle }) => {
    const { pods, metrics } = server("api-1");
    const watches = Array.from({ length: 100 }, () => new WatchRecording(pods));
    const written: Uint8Array[] = [];
    await settle();
    for (const watch of watches) watch.write = (bytes) => void written.push(bytes);
    await pods.create(pod("a", "1"));
    await settle();
    expect(new Set(written).size).toBe(1);
    expect(written).toHaveLength(100);
    const sent = await metrics.getSingleMetric("apiserver_watch_events_total")?.get();
    expect(sent?.values).toEqual([
      { labels: { group: "", version: "v1", resource: "pods" }, value: 100 },
    ]);
    for (const watch of watches) watch.leave();
  }));
