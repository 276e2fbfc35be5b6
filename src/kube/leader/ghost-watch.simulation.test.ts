// An unknown process renews the leader lock for ever under the name of a pod that does not exist.
// Replicas must detect this within two lease durations, take the lock only if allowed, and never
// mistake another replica for a ghost.
import { expect } from "vitest";
import {
  type History,
  LeaseServer,
  Replica,
  testLock,
} from "../../../tests/leader/leader-world.ts";
import { randomBetween, randomInt } from "../../environment/random.ts";
import { randomFaultPlan } from "../../simulation/faults.ts";
import { forEachSeed } from "../../simulation/seeds.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import { simulate } from "../../simulation/simulation.ts";
import type { GhostReport } from "./ghost-check.ts";
import { GhostWatch } from "./ghost-watch.ts";
import { defaultElectionTimes } from "./leader-rules.ts";

const { leaseDurationMs } = defaultElectionTimes;
const names = ["one", "two"];

interface Seen {
  readonly by: string;
  readonly atMs: number;
  readonly report: GhostReport;
}

class World {
  readonly server = new LeaseServer();
  readonly seen: Seen[] = [];
  readonly replicas = new Map<string, Replica>();
  readonly #history: History = { reigns: [], writes: 0, lateWrites: [] };
  readonly #simulation: Simulation;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** A process with the identity of a pod that has been deleted. */
  startGhost(): Replica {
    const uid = this.#simulation.random.uuid();
    return this.#replica("ghost", uid, () => false);
  }

  /** A replica whose pod exists, with its watch on the lock. */
  start(name: string, mayDepose: boolean): void {
    const uid = this.#simulation.random.uuid();
    this.server.pods.set(name, uid);
    const replica = this.#replica(name, uid, (holder) => mayDepose && watch.confirms(holder));
    const { clock, timers, log } = replica.environment;
    const watch = new GhostWatch({
      client: replica.client,
      clock,
      timers,
      log,
      lock: testLock,
      form: "own",
      podNamespace: testLock.namespace,
      onGhost: (report) => this.seen.push({ by: name, atMs: this.#simulation.now(), report }),
    });
    // It ends with the simulation.
    void watch.run(new AbortController().signal);
    this.replicas.set(name, replica);
  }

  /** The process ends, then its pod is deleted; after a while another pod takes its place. */
  async replace(name: string): Promise<void> {
    const { random } = this.#simulation;
    this.replicas.get(name)?.crash({ vanish: random.next() < 0.5 });
    await this.#simulation.sleep(randomBetween(random, 0, 2_000));
    this.server.pods.delete(name);
    await this.#simulation.sleep(randomBetween(random, 0, 20_000));
    this.start(name, true);
  }

  #replica(name: string, uid: string, mayDepose: (holder: string) => boolean): Replica {
    const { server } = this;
    const simulation = this.#simulation;
    const history = this.#history;
    return new Replica({ simulation, server, name, uid, history, election: { mayDepose } });
  }
}

async function withGhost(
  seed: number,
  mayDepose: boolean,
  check: (world: World, ghost: Replica, watchedSinceMs: number) => void,
): Promise<void> {
  await simulate({ seed }, async (simulation) => {
    const world = new World(simulation);
    await world.server.listen(simulation.host("api"));
    const ghost = world.startGhost();
    await simulation.sleep(randomBetween(simulation.random, 1_000, 10_000));
    const watchedSinceMs = simulation.now();
    for (const name of names) world.start(name, mayDepose);
    await simulation.sleep(10 * leaseDurationMs);
    check(world, ghost, watchedSinceMs);
  });
}

forEachSeed(
  "a ghost is named within two lease durations and deposed for good",
  { seeds: 25 },
  async (seed) => {
    await withGhost(seed, true, ({ server, seen, replicas }, ghost, watchedSinceMs) => {
      const leaders = [...replicas.values()].filter((replica) => replica.election.isLeader());
      const first = seen[0];
      expect(first?.report.holder).toBe(ghost.identity);
      expect(first?.atMs).toBeLessThanOrEqual(watchedSinceMs + 2 * leaseDurationMs);
      expect(leaders.map((replica) => replica.identity)).toEqual([
        server.lease?.spec.holderIdentity,
      ]);
      expect(ghost.election.isLeader()).toBe(false);
      expect(ghost.election.leader()?.identity).toBe(leaders[0]?.identity);
    });
  },
);

forEachSeed("without permission a ghost is named and left alone", { seeds: 20 }, async (seed) => {
  await withGhost(seed, false, ({ server, seen, replicas }, ghost) => {
    expect(new Map(seen.map(({ by, report }) => [by, report.holder]))).toEqual(
      new Map(names.map((name) => [name, ghost.identity])),
    );
    expect(server.lease?.spec.holderIdentity).toBe(ghost.identity);
    expect([...replicas.values()].map(({ election }) => election.isLeader())).toEqual([
      false,
      false,
    ]);
  });
});

forEachSeed(
  "a living replica is never called a ghost, whatever the network does",
  // A last renewal that arrives after its pod is gone.
  { seeds: 25, regressions: [36] },
  async (seed) => {
    await simulate({ seed }, async (simulation) => {
      const world = new World(simulation);
      const { server } = world;
      await server.listen(simulation.host("api"));
      for (const name of names) world.start(name, true);
      const plan = randomFaultPlan(simulation.random, {
        hosts: [...names, "api"],
        quietAfterMs: 300_000,
        meanBetweenMs: 5_000,
      });
      for (const fault of plan.faults) {
        simulation.at(fault.atMs, () => fault.begin(simulation));
        simulation.at(fault.untilMs, () => fault.end(simulation));
      }
      while (simulation.now() < plan.quietAfterMs) {
        await simulation.sleep(randomBetween(simulation.random, 0, 40_000));
        await world.replace(names[randomInt(simulation.random, names.length)] ?? "one");
      }
      await simulation.sleep(plan.quietAfterMs + 4 * leaseDurationMs - simulation.now());
      expect(world.seen).toEqual([]);
      const identities = [...world.replicas.values()].map(({ identity }) => identity);
      expect(identities).toContain(server.lease?.spec.holderIdentity);
    });
  },
);

forEachSeed(
  "a holder that cannot be looked up is never called a ghost",
  { seeds: 20 },
  async (seed) => {
    await simulate({ seed }, async (simulation) => {
      const world = new World(simulation);
      world.server.podsAreForbidden = true;
      await world.server.listen(simulation.host("api"));
      const ghost = world.startGhost();
      await simulation.sleep(1_000);
      for (const name of names) world.start(name, true);
      await simulation.sleep(10 * leaseDurationMs);
      expect(world.seen).toEqual([]);
      expect(world.server.lease?.spec.holderIdentity).toBe(ghost.identity);
    });
  },
);
