// A business cluster that answers lists with 200 and without the objects: its copies stay.
import { expect, test } from "vitest";
import { inSyncWorld, type RunningSyncer, type SyncWorld } from "./sync-world.ts";

/** Long enough for every list, watch and write of a quiet start. */
const settledMs = 5_000;
const copied = {
  slices: { "web-lab-1-0": ["10.1.0.1"], "api-lab-1-0": ["10.1.0.2"] },
  services: ["api", "web"],
};

function lose(world: SyncWorld, share: number): void {
  const { faults } = world.server("lab-1");
  faults.cache.lostFromLists = () => share;
  const failing = { match: { verbs: ["watch"] as const }, errors: { rate: 1, code: 500 as const } };
  faults.setRules(share > 0 ? [failing] : []);
  faults.cache.resetWatches();
}

/** Until a list of the services has come back without them. */
async function untilDoubted({ simulation }: SyncWorld, { registry }: RunningSyncer): Promise<void> {
  const isDoubted = async (): Promise<boolean> => {
    const metric = await registry.getSingleMetric("lockstep_reflector_doubted_objects")?.get();
    return (
      metric?.values.some(({ labels, value }) => {
        return labels["resource"] === "services" && value > 0;
      }) === true
    );
  };
  for (let second = 0; second < 60 && !(await isDoubted()); second += 1) {
    await simulation.sleep(1_000);
  }
  expect(await isDoubted()).toBe(true);
}

async function twoServices(world: SyncWorld): Promise<void> {
  await world.publish("lab-1", "web", ["10.1.0.1"]);
  await world.publish("lab-1", "api", ["10.1.0.2"]);
}

test("while it runs, a cluster that lists nothing loses no copy", () =>
  inSyncWorld(async (world) => {
    await twoServices(world);
    const syncer = world.startSyncer();
    await world.simulation.sleep(settledMs);
    lose(world, 1);
    await untilDoubted(world, syncer);
    lose(world, 0);
    await world.simulation.sleep(60_000);
    expect(await world.copies()).toEqual(copied);
    expect(syncer.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  }));

test("after a restart, a cluster that lists nothing loses no copy", () =>
  inSyncWorld(async (world) => {
    await twoServices(world);
    const first = world.startSyncer();
    await world.simulation.sleep(settledMs);
    await first.stop();
    lose(world, 1);
    const second = world.startSyncer();
    await world.simulation.sleep(15_000);
    lose(world, 0);
    await world.simulation.sleep(60_000);
    expect(await world.copies()).toEqual(copied);
    expect(second.writes).toEqual([]);
  }));

test("services that were deleted meanwhile are removed once the lists agree", () =>
  inSyncWorld(async (world) => {
    await twoServices(world);
    const first = world.startSyncer();
    await world.simulation.sleep(settledMs);
    await first.stop();
    for (const name of ["web", "api"]) {
      await world.call("lab-1", "DELETE", `/api/v1/namespaces/shop/services/${name}`);
    }
    world.startSyncer();
    await world.simulation.sleep(15_000);
    expect(await world.copies()).toEqual(copied);
    await world.simulation.sleep(15_000);
    expect(await world.copies()).toEqual({ slices: {}, services: [] });
  }));
