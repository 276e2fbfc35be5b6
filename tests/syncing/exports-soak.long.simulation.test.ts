// However exports change and conflict, and whatever happens to networks, API servers and the syncer,
// the imports and the conditions of the exports end up as the oracle merges them.
import { expect } from "vitest";
import { clusterSetNames } from "../../src/decide/syncing/copy-names.ts";
import { NamespaceSelection } from "../../src/decide/syncing/service-selection.ts";
import { namespacePolicy, type SyncPolicy } from "../../src/decide/syncing/sync-policy.ts";
import { randomInt } from "../../src/environment/random.ts";
import { resyncEveryMs } from "../../src/outputs/slices/service-syncer.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { ExportsWorld } from "./exports-world.ts";
import { beginFault, counted } from "./soak-world.ts";
import { type ClusterName, inSyncWorld, type RunningSyncer, type SyncWorld } from "./sync-world.ts";

/** A condition that could not be written is tried again within a minute after the last fault. */
const quietMs = 240_000;

interface Form {
  readonly target: ClusterName;
  readonly policy: SyncPolicy;
}

const beside = namespacePolicy(new Set(), {
  selection: new NamespaceSelection(new Set(), { exports: true }),
  imports: "beside",
});

const derived = namespacePolicy(new Set(), {
  selection: new NamespaceSelection(new Set(), { exports: "only" }),
  imports: "derived",
  names: clusterSetNames,
});

/** In the last one, the target is a source too. */
const forms: readonly Form[] = [
  { target: "edge", policy: beside },
  { target: "edge", policy: derived },
  { target: "lab-2", policy: derived },
];

function start(world: SyncWorld, { target, policy }: Form): RunningSyncer {
  const clients = (["lab-1", "lab-2"] as const).map(
    (cluster) => [cluster, world.client(cluster)] as const,
  );
  return world.startSyncer({
    policy,
    target: world.cluster(target),
    writeClient: world.client(target),
    exportStatusClients: new Map(clients),
  });
}

forEachSeed(
  "under every fault imports and conditions end up as merged, with no needless write",
  { seeds: 4 },
  (seed) =>
    inSyncWorld(async (world) => {
      const { random } = world.simulation;
      const form = forms[seed % forms.length] ?? { target: "edge", policy: beside };
      const exports = new ExportsWorld(world, form.target);
      await exports.prepare();
      const syncers: RunningSyncer[] = [start(world, form)];
      const ends = new Set<() => void>();
      for (let round = 0; round < 4; round += 1) {
        for (let step = 0; step < 20; step += 1) {
          await world.simulation.sleep(randomInt(random, 1_500));
          await exports.step();
          if (randomInt(random, 12) === 0) ends.add(beginFault(world));
          if (randomInt(random, 6) === 0) {
            for (const end of ends) end();
            ends.clear();
          }
          if (randomInt(random, 20) === 0) {
            await syncers.at(-1)?.stop();
            syncers.push(start(world, form));
          }
        }
        for (const end of ends) end();
        ends.clear();
        await world.simulation.sleep(quietMs);
        expect(await exports.shownImports()).toEqual(await exports.expectedImports());
        expect(await exports.shownConditions()).toEqual(await exports.expectedConditions());
        for (const { shown, held } of await exports.addresses()) expect(shown).toEqual(held);
      }
      const before = syncers.at(-1)?.writes.length;
      await world.simulation.sleep(resyncEveryMs);
      expect(syncers.at(-1)?.writes.length).toBe(before);
      await exports.unexportAll();
      await world.simulation.sleep(quietMs);
      expect(await exports.owned()).toEqual([]);
      for (const syncer of syncers) {
        expect(await counted(syncer, "lockstep_sync_noop_writes_total")).toBe(0);
      }
    }, seed),
);
