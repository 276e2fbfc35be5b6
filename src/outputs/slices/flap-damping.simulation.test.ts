import { expect, test } from "vitest";
import { inSyncWorld } from "../../../tests/syncing/sync-world.ts";
import { namespacePolicy } from "../../decide/syncing/sync-policy.ts";
import type { MonotonicMs } from "../../environment/clock.ts";
import { FlapDamping, firstWaitMs, flapWithinMs, leavesToDamp } from "./flap-damping.ts";

const flapping = ["10.1.0.1", "10.1.0.2"];
const steady = ["10.1.0.2"];

test("an endpoint that flaps leaves at once, and joins again only when it has been away for a while", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", flapping);
    const policy = namespacePolicy(new Set(["shop"]), { damping: true });
    const { writes } = world.startSyncer({ policy });
    await world.simulation.sleep(5_000);
    const shown = async () => (await world.copies()).slices["web-lab-1-0"]?.toSorted();
    for (let times = 1; times < leavesToDamp; times += 1) {
      await world.republish("lab-1", "web", steady);
      await world.simulation.sleep(20);
      expect(await shown()).toEqual(steady);
      await world.republish("lab-1", "web", flapping);
      await world.simulation.sleep(20);
      expect(await shown()).toEqual(flapping);
    }
    await world.republish("lab-1", "web", steady);
    await world.simulation.sleep(20);
    const before = writes.length;
    await world.republish("lab-1", "web", flapping);
    await world.simulation.sleep(20);
    expect(await shown()).toEqual(steady);
    await world.simulation.sleep(firstWaitMs);
    expect(await shown()).toEqual(flapping);
    expect(writes).toHaveLength(before + 1);
  }));

test("the only endpoint of a service never waits", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    world.startSyncer({ policy: namespacePolicy(new Set(["shop"]), { damping: true }) });
    await world.simulation.sleep(5_000);
    for (let times = 0; times < leavesToDamp + 2; times += 1) {
      await world.republish("lab-1", "web", []);
      await world.simulation.sleep(20);
      await world.republish("lab-1", "web", ["10.1.0.1"]);
      await world.simulation.sleep(20);
      expect((await world.copies()).slices["web-lab-1-0"]).toEqual(["10.1.0.1"]);
    }
  }));

test("the wait doubles with each leave, and old leaves are forgotten", () => {
  let now = 0;
  const damping = new FlapDamping({ monotonicMs: () => now as MonotonicMs });
  const leave = (): number => {
    damping.joined("a");
    damping.left("a");
    return damping.waitMs("a");
  };
  const waits = Array.from({ length: leavesToDamp + 5 }, leave);
  expect(waits).toEqual([0, 0, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  expect(damping.waitMs("b")).toBe(0);
  now += 30_000;
  expect(damping.waitMs("a")).toBe(30_000);
  now += flapWithinMs;
  expect(damping.waitMs("a")).toBe(0);
  expect(leave()).toBe(0);
});
