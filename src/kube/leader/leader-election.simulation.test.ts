// Replicas compete for one lock on machines and a network with every fault of the simulator. At all
// times, at most one leads, and no leader's write is sent after its deadline. After the faults,
// there is one leader, and all agree on it.
import { expect } from "vitest";
import {
  type History,
  LeaseServer,
  type Reign,
  Replica,
} from "../../../tests/leader/leader-world.ts";
import { randomBetween, randomInt } from "../../environment/random.ts";
import { uniformLatency } from "../../simulation/network/link.ts";
import { forEachSeed } from "../../simulation/seeds.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import { simulate } from "../../simulation/simulation.ts";
import { defaultElectionTimes } from "./leader-rules.ts";

const names = ["one", "two", "three"];
const faults = 60;
/** Slow enough that replicas read and write past each other even when nothing is broken. */
const farAway = uniformLatency(1, 1_000);
const { leaseDurationMs } = defaultElectionTimes;

class World {
  readonly history: History = { reigns: [], writes: 0, lateWrites: [] };
  readonly server = new LeaseServer();
  readonly replicas = new Map<string, Replica>();
  readonly simulation: Simulation;

  constructor(simulation: Simulation) {
    this.simulation = simulation;
  }

  start(name: string): void {
    const { simulation, server, history } = this;
    if (this.replicas.has(name)) return;
    const uid = this.simulation.random.uuid();
    server.pods.set(name, uid);
    this.replicas.set(name, new Replica({ simulation, server, name, uid, history }));
  }

  /** One thing that goes wrong, or right again. */
  disturb(): void {
    const { network, random } = this.simulation;
    const name = names[randomInt(random, names.length)] ?? "one";
    const latency = uniformLatency(0, randomBetween(random, 1, 9_000));
    const wallSkewMs = randomBetween(random, -3_600_000, 3_600_000);
    const disturbances = [
      () => network.partition(name, "api"),
      () => network.partitionOneWay(name, "api"),
      () => network.partitionOneWay("api", name),
      () => network.heal(name, "api"),
      () => network.resetConnections(name, "api"),
      () => network.stall(name, "api", "all"),
      () => network.stall("api", name, "all"),
      () => this.#unstall(name),
      () => network.setLatency(name, "api", latency),
      () => this.simulation.setWallSkew(name, wallSkewMs),
      () => this.#crashOrStart(name),
    ];
    disturbances[randomInt(random, disturbances.length)]?.();
  }

  calm(): void {
    const { network } = this.simulation;
    for (const name of names) {
      network.heal(name, "api");
      this.#unstall(name);
      network.setLatency(name, "api", undefined);
      this.start(name);
    }
  }

  #crashOrStart(name: string): void {
    const replica = this.replicas.get(name);
    if (replica === undefined) {
      this.start(name);
      return;
    }
    replica.crash({ vanish: this.simulation.random.next() < 0.5 });
    this.replicas.delete(name);
  }

  #unstall(name: string): void {
    this.simulation.network.unstall(name, "api");
    this.simulation.network.unstall("api", name);
  }
}

/** Pairs of reigns of which the second began before the first had ended. */
function overlaps(reigns: readonly Reign[]): string[] {
  const sorted = [...reigns].sort((a, b) => a.from - b.from);
  return sorted.flatMap((reign, index) =>
    sorted
      .slice(index + 1)
      .filter((later) => later.from < reign.to)
      .map((later) => `${reign.replica} ${reign.from}–${reign.to}, ${later.replica} ${later.from}`),
  );
}

forEachSeed(
  "no two replicas lead at once and no write leaves late, whatever breaks",
  {},
  async (seed) => {
    await simulate({ seed, latency: farAway }, async (simulation) => {
      const world = new World(simulation);
      const { history, server } = world;
      await server.listen(simulation.host("api"));
      for (const name of names) world.start(name);
      for (let count = 0; count < faults; count++) {
        await simulation.sleep(randomBetween(simulation.random, 0, 8_000));
        world.disturb();
      }
      world.calm();
      await simulation.sleep(4 * leaseDurationMs);

      const replicas = [...world.replicas.values()];
      const leaders = replicas.filter((replica) => replica.election.isLeader());
      const holder = server.lease?.spec.holderIdentity;
      expect({
        overlaps: overlaps(history.reigns),
        lateWrites: history.lateWrites,
        leaders: leaders.map((replica) => replica.identity),
        believed: replicas.map((replica) => replica.election.leader()?.identity),
        hasWritten: history.writes > 0,
      }).toEqual({
        overlaps: [],
        lateWrites: [],
        leaders: [holder],
        believed: names.map(() => holder),
        hasWritten: true,
      });
      await Promise.all(replicas.map((replica) => replica.stop()));
      expect(server.lease?.spec.holderIdentity).toBe("");
    });
  },
);
