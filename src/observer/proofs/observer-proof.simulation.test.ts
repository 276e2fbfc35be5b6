import { expect } from "vitest";
import { randomBetween } from "../../environment/random.ts";
import { applyFaultPlan, type FaultKind, randomFaultPlan } from "../../simulation/faults.ts";
import { forEachSeed } from "../../simulation/seeds.ts";
import { simulate } from "../../simulation/simulation.ts";
import { judgeRun } from "./proof-judge.contract.ts";
import { observerHost, ProofWorld } from "./proof-world.contract.ts";

const kinds: readonly FaultKind[] = ["latency", "reset", "partition", "one-way", "stall"];
const troubleMs = 240_000;
/** Until a watch that was cut off is heard again, and one that is behind has listed. */
const recoveryMs = 240_000;

forEachSeed(
  "each change that was delivered has one journey, and none is invented",
  { seeds: 10 },
  (seed) =>
    simulate({ seed }, async (simulation) => {
      const { random } = simulation;
      const world = new ProofWorld(simulation);
      await world.furnish();
      await world.observe();
      await simulation.sleep(15_000);
      const hosts = [observerHost, ...world.clusters.map(({ name }) => name), "access"];
      if (seed % 3 !== 0) {
        const plan = randomFaultPlan(random, { hosts, quietAfterMs: troubleMs, kinds });
        applyFaultPlan(simulation, plan);
      }
      const quietAt = simulation.now() + troubleMs;
      while (simulation.now() < quietAt) {
        await simulation.sleep(randomBetween(random, 0, 8_000));
        await world.act();
        if (random.next() < 0.02) {
          await world.endRun();
          await world.observe();
        }
      }
      await world.settled();
      await simulation.sleep(recoveryMs);
      await world.settled();
      expect(world.run.observer.journeys.pending()).toEqual([]);
      await world.endRun();
      const judged = world.runs.map((run) => judgeRun(world, run));
      console.log(seed, JSON.stringify(judged));
      for (const { server } of [...world.clusters, world.access]) await server.stop();
    }),
);
