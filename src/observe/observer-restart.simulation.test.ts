// An observer that restarts while changes are in flight: with what the earlier run has kept, they go on.
import { expect, test } from "vitest";
import {
  inObserverWorld,
  type ObserverWorld,
  type Watching,
} from "../../tests/observer/observer-world.ts";
import { earlierChange, type JourneyRecord, journeyRecord } from "../timeline/journey-record.ts";

const cluster = "lab-1";

/** Two pods are gone and still listed, since `goneAt`; returns what the first run has kept of them. */
async function runUntilStopped(world: ObserverWorld) {
  const { timers, clock } = world.simulation.host("admin");
  await world.startCluster(cluster);
  await world.addService(cluster, "web");
  await world.addPod(cluster, "web-1", "10.0.0.1");
  await world.addPod(cluster, "web-2", "10.0.0.2");
  await world.publish(cluster, "web", ["10.0.0.1", "10.0.0.2"]);
  const first = await start(world);
  await timers.sleep(10_000);
  await world.removePod(cluster, "web-1");
  await world.removePod(cluster, "web-2");
  const goneAt = clock.monotonicMs();
  await timers.sleep(60_000);
  const { observer } = first;
  const kept = observer.journeys.pending().map((one) => journeyRecord(one, observer.run));
  await observer.stop();
  await timers.sleep(120_000);
  return { kept, goneAt };
}

async function start(world: ObserverWorld, earlier: readonly JourneyRecord[] = []) {
  const watching = world.watch({ clusters: [cluster], earlier });
  watching.observer.start();
  await watching.observer.waitForSync();
  await world.simulation.host("admin").timers.sleep(5_000);
  return watching;
}

function oldestLeave({ observer }: Watching, now: number): number | undefined {
  const oldest = observer.journeys.oldestPending(now as never);
  return oldest.find(({ hop, direction }) => hop === "published" && direction === "leave")?.ageMs;
}

test("the oldest change in flight is as old after a restart as it was before", () =>
  inObserverWorld(async (world) => {
    const { clock } = world.simulation.host("admin");
    const { kept, goneAt } = await runUntilStopped(world);
    expect(kept.map(({ podName, outcome }) => `${podName} ${outcome}`)).toEqual([
      "web-1 pending",
      "web-2 pending",
    ]);
    const second = await start(world, kept);
    const now = clock.monotonicMs();
    const trueAgeMs = now - goneAt;
    // The pods were removed one after the other, some milliseconds before.
    expect(oldestLeave(second, now)).toBeGreaterThanOrEqual(trueAgeMs);
    expect(oldestLeave(second, now)).toBeLessThan(trueAgeMs + 1_000);
    const stuck = second.events.filter(({ type }) => type === "stuck");
    expect(stuck.map(({ journey }) => journey.podName)).toEqual(["web-1", "web-2"]);
  }));

test("a change that goes on keeps its record, and its end is exact", () =>
  inObserverWorld(async (world) => {
    const { clock, timers } = world.simulation.host("admin");
    const { kept } = await runUntilStopped(world);
    const second = await start(world, kept);
    await world.publish(cluster, "web", []);
    const publishedAt = clock.monotonicMs();
    await timers.sleep(20_000);
    expect(second.observer.journeys.pending()).toEqual([]);
    const { run } = second.observer;
    const records = second.over.map((journey) => journeyRecord(journey, run));
    expect(records.map(({ id, originMs }) => [id, originMs])).toEqual(
      kept.map(({ id, originMs }) => [id, expect.closeTo(originMs, 3)]),
    );
    for (const { origin, hops, outcome } of second.over) {
      expect(outcome).toBe("complete");
      expect(origin.beforeStart).toBe(true);
      const state = hops.find(({ hop }) => hop === "published")?.state;
      const endedAt = state?.type === "shown" ? origin.at + state.lagMs : 0;
      expect(Math.abs(endedAt - publishedAt)).toBeLessThan(1_000);
    }
  }));

test("what ended between two runs is not in flight, and a later change is its own", () =>
  inObserverWorld(async (world) => {
    const { timers, clock } = world.simulation.host("admin");
    const { kept } = await runUntilStopped(world);
    await world.publish(cluster, "web", []);
    const second = await start(world, kept);
    expect(second.observer.journeys.pending()).toEqual([]);
    await world.publish(cluster, "web", ["10.0.0.1"]);
    await timers.sleep(20_000);
    const [wrong] = second.observer.journeys.pending();
    expect(wrong?.direction).toBe("leave");
    expect(wrong?.continues).toBeUndefined();
    expect(oldestLeave(second, clock.monotonicMs())).toBeLessThan(25_000);
  }));

test("a record is read by the clock of the new run", () => {
  const run = { name: "second", wallMs: 1_000_000, monotonicMs: 50 } as never;
  const record = { id: "first-1", originMs: 940_000, cluster: null, podUid: null } as never;
  expect(earlierChange(record, run)).toMatchObject({ record: "first-1", since: -59_950 });
});
