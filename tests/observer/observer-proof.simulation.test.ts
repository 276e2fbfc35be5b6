// An observer of one to three clusters and of an access cluster, over thousands of histories: pods
// that come, flap, are labelled anew, go and hand on their addresses; services with and without
// selectors that come, go and select others, alone or with their namespace; slices over which endpoints
// are spread and moved, or Endpoints; replicas that come and go and may know only addresses; requests;
// API servers that are started again or whose caches freeze, bad lines, and observers that are started
// again. The judge knows what was delivered and what happened.
import { expect } from "vitest";
import { randomBetween } from "../../src/environment/random.ts";
import { applyFaultPlan, type FaultKind, randomFaultPlan } from "../../src/simulation/faults.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { judgeRun } from "./proof-judge.ts";
import { observerHost } from "./proof-run.ts";
import { ProofWorld } from "./proof-world.ts";

const kinds: readonly FaultKind[] = ["latency", "reset", "partition", "one-way", "stall"];
const troubleMs = 240_000;
/** Until a watch that was cut off is heard again, and one that is behind has listed. */
const recoveryMs = 240_000;

/** In some histories nothing goes wrong: there every endpoint must be exact. */
const calmOneIn = 4;

forEachSeed(
  "each change that was delivered has one journey, and none is invented",
  {
    seeds: 6,
    regressions: [
      9, 33, 92, 165, 330, 2417, 3834, 3865, 3899, 3914, 6538, 6901, 7010, 7733, 8854, 9433,
    ],
  },
  (seed) =>
    simulate({ seed }, async (simulation) => {
      const { random } = simulation;
      const isCalm = seed % calmOneIn === 0;
      const world = new ProofWorld(simulation, { isCalm });
      await world.furnish();
      await world.observe();
      await simulation.sleep(15_000);
      if (!isCalm) makeTrouble(simulation, world);
      const quietAt = simulation.now() + troubleMs;
      while (simulation.now() < quietAt) {
        await simulation.sleep(randomBetween(random, 0, 8_000));
        await world.act();
      }
      await world.settled();
      await simulation.sleep(recoveryMs);
      expect(world.run.observer.journeys.pending()).toEqual([]);
      await world.endRun();
      for (const run of world.runs) {
        const { endpoints, exact, untellable } = judgeRun(world, run);
        if (!isCalm || run !== world.runs[0]) continue;
        expect(exact + untellable).toBe(endpoints);
        expect(untellable, "the judge doubts too much").toBeLessThan(endpoints / 4);
      }
      await world.stop();
    }),
);

/** On the way to each cluster by itself. */
function makeTrouble(simulation: Simulation, world: ProofWorld): void {
  for (const { name } of [...world.clusters, world.access]) {
    const hosts = [observerHost, name];
    const plan = randomFaultPlan(simulation.random, { hosts, quietAfterMs: troubleMs, kinds });
    applyFaultPlan(simulation, plan);
  }
}
