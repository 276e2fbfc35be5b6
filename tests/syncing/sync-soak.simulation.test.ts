// Whatever happens to networks, API servers and the syncer itself, the access cluster ends up with
// what the pods say, and with nothing else changed.
import { expect } from "vitest";
import { namespacePolicy } from "../../src/decide/syncing/sync-policy.ts";
import { randomInt } from "../../src/environment/random.ts";
import { resyncEveryMs } from "../../src/outputs/slices/service-syncer.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { soakRules } from "./soak-rules.ts";
import { beginFault, counted, SoakWorld } from "./soak-world.ts";
import { inSyncWorld, type RunningSyncer, withoutSlices } from "./sync-world.ts";

/** A watch whose connection is silently dead is found within 15 s; an old cache within 90 s. */
const quietMs = 180_000;

/** Of a removal while everything answers: an event, a write, and messages of a millisecond each. */
const leaveWithinMs = 100;

/** A service, its Ingress and its secret, one after the other. */
const unexportWithinMs = 5_000;

forEachSeed(
  "under every fault the copies end up right, with no needless write and no touched neighbour",
  { seeds: 20 },
  (seed) =>
    inSyncWorld(async (world) => {
      const { random } = world.simulation;
      const soak = new SoakWorld(world);
      await soak.prepare();
      const form = (["slices", "both", "endpoints"] as const)[seed % 3] ?? "slices";
      const policy = namespacePolicy(new Set(["shop"]), {
        damping: seed % 2 === 0,
        ...(form === "both" ? { copyAs: form } : {}),
      });
      // Discovery decides between the others.
      const client = world.client("edge");
      const target = {
        cluster: "edge",
        client: form === "endpoints" ? withoutSlices(client) : client,
      };
      const start = () => world.startSyncer({ policy, target, rules: soakRules });
      const syncers: RunningSyncer[] = [start()];
      const ends = new Set<() => void>();
      for (let step = 0; step < 120; step += 1) {
        await world.simulation.sleep(randomInt(random, 1_500));
        await soak.step();
        if (randomInt(random, 12) === 0) ends.add(beginFault(world));
        if (randomInt(random, 6) === 0) {
          for (const end of ends) end();
          ends.clear();
        }
        if (randomInt(random, 25) === 0) {
          await syncers.at(-1)?.stop();
          syncers.push(start());
        }
      }
      for (const end of ends) end();
      await world.simulation.sleep(quietMs);
      expect(await soak.shown()).toEqual(form === "endpoints" ? {} : await soak.expected());
      expect(await soak.shownEndpoints()).toEqual(
        form === "slices" ? {} : await soak.expectedEndpoints(),
      );
      const services = await soak.services();
      expect(services.shown).toEqual(services.expected);
      expect(await soak.rules.shown()).toEqual(await soak.rules.expected());
      const last = syncers.at(-1);
      const before = last?.writes.length;
      await world.simulation.sleep(resyncEveryMs);
      expect(last?.writes.length).toBe(before);
      for (let removal = 0; removal < 10; removal += 1) {
        const left = await soak.leave();
        await world.simulation.sleep(leaveWithinMs);
        if (left !== undefined) expect(await soak.isReadyInTarget(left.address)).toBe(false);
      }
      for (const syncer of syncers) {
        expect(await counted(syncer, "lockstep_sync_noop_writes_total")).toBe(0);
      }
      await soak.unexportAll();
      await world.simulation.sleep(unexportWithinMs);
      expect(await soak.own()).toEqual([]);
      await soak.expectForeignUntouched();
    }, seed),
);
