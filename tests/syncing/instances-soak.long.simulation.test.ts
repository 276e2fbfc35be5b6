// Two instances of `lockstep sync` with one Lease, whose machines crash between any two writes, vanish and
// are replaced, under faults of networks and API servers and beside a client that reverts their writes:
// the access cluster ends up with what the pods say, and with nothing else changed.
import { expect } from "vitest";
import { type Random, randomInt } from "../../src/environment/random.ts";
import { StatusError } from "../../src/kube/client/client.ts";
import { defaultElectionTimes } from "../../src/kube/leader/leader-rules.ts";
import { resyncEveryMs } from "../../src/outputs/slices/service-syncer.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { beginFault, SoakWorld, soakServices } from "./soak-world.ts";
import { startSyncProgram } from "./sync-program.ts";
import { inSyncWorld, type SyncWorld, slicesPath } from "./sync-world.ts";

const file = `
sources: [lab-1, lab-2]
target: edge
namespaces: [shop]
probe: false
lease: shop/sync
ingresses:
  classes: { nginx: edge }
  hosts: [{ from: "*.business", to: "*.example" }]
  tlsSecrets: [shop/web-tls]
`;

/** A watch whose connection is silently dead is found within 15 s; an old cache within 90 s. */
const quietMs = 180_000;

/** Of a removal while everything answers: an event, a write, and messages of a millisecond each. */
const leaveWithinMs = 100;

/** A service, its Ingress and its secret, one after the other. */
const unexportWithinMs = 5_000;

type Program = Awaited<ReturnType<typeof startSyncProgram>>;

forEachSeed(
  "whichever instance ends at whatever moment, the copies end up right, and nothing is written twice",
  { seeds: 3, regressions: [75] },
  (seed) =>
    inSyncWorld(async (world) => {
      const { simulation } = world;
      const { random } = simulation;
      const soak = new SoakWorld(world);
      await soak.prepare();
      const pair = new Pair(world);
      await pair.start();
      const ends = new Set<() => void>();
      for (let step = 0; step < 100; step += 1) {
        await simulation.sleep(randomInt(random, 1_500));
        await soak.step();
        if (randomInt(random, 12) === 0) {
          for (const machine of machines) ends.add(beginFault(world, machine));
        }
        if (randomInt(random, 6) === 0) {
          for (const end of ends) end();
          ends.clear();
        }
        if (randomInt(random, 12) === 0) await pair.end();
        if (randomInt(random, 15) === 0) await meddle(world, random, pick(random, soakServices));
      }
      for (const end of ends) end();
      await pair.start();
      await simulation.sleep(quietMs);
      expect(await soak.shown()).toEqual(await soak.expected());
      const services = await soak.services();
      expect(services.shown).toEqual(services.expected);
      expect(await soak.rules.shown()).toEqual(await soak.rules.expected());
      const versions = await versionsOf(world);
      await simulation.sleep(resyncEveryMs);
      expect(await versionsOf(world)).toEqual(versions);
      for (const service of soakServices) await meddle(world, random, service);
      await simulation.sleep(leaveWithinMs);
      expect(await soak.shown()).toEqual(await soak.expected());
      for (let removal = 0; removal < 10; removal += 1) {
        const left = await soak.leave();
        await simulation.sleep(leaveWithinMs);
        if (left !== undefined) expect(await soak.isReadyInTarget(left.address)).toBe(false);
      }
      expect(simulation.logLines().filter(({ message }) => message.includes("no-op"))).toEqual([]);
      await soak.unexportAll();
      await simulation.sleep(unexportWithinMs);
      expect(await soak.own()).toEqual([]);
      await soak.expectForeignUntouched();
      await pair.stop();
    }, seed),
);

const machines = ["one", "two"] as const;
type Machine = (typeof machines)[number];

class Pair {
  readonly #world: SyncWorld;
  readonly #running = new Map<Machine, Program>();

  constructor(world: SyncWorld) {
    this.#world = world;
  }

  /** Those that do not run. */
  async start(): Promise<void> {
    for (const machine of machines) {
      if (this.#running.has(machine)) continue;
      this.#running.set(machine, await startSyncProgram(this.#world, machine, file));
    }
  }

  /** One of them, in one of three ways; sometimes it is soon started again. */
  async end(): Promise<void> {
    const { simulation } = this.#world;
    const { random } = simulation;
    const machine = pick(random, machines);
    const program = this.#running.get(machine);
    this.#running.delete(machine);
    const way = randomInt(random, 3);
    if (program !== undefined) {
      if (way === 0) await program.stop();
      else simulation.crash(machine, { vanish: way === 1 });
    }
    await simulation.sleep(randomInt(random, 2 * defaultElectionTimes.leaseDurationMs));
    if (randomInt(random, 3) > 0) await this.start();
  }

  async stop(): Promise<void> {
    for (const program of this.#running.values()) await program.stop();
  }
}

/** Another client empties or deletes the copies of a service. */
async function meddle(world: SyncWorld, random: Random, service: string): Promise<void> {
  for (const { metadata } of await world.slices()) {
    const { labels, name } = metadata;
    if (labels["kubernetes.io/service-name"] !== service) continue;
    if (labels["lockstep.dev/source-cluster"] === undefined) continue;
    const path = `${slicesPath}/${name}`;
    try {
      if (randomInt(random, 2) === 0) await world.call("edge", "DELETE", path);
      else await world.call("edge", "PATCH", path, { endpoints: [] });
    } catch (error) {
      // Sync may have removed it since it was listed.
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
  }
}

function pick<Item>(random: Random, items: readonly [Item, ...Item[]]): Item {
  return items[randomInt(random, items.length)] ?? items[0];
}

async function versionsOf(world: SyncWorld): Promise<readonly string[]> {
  const slices = await world.slices();
  return slices.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
}
