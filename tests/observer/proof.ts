// One history of the proof: an observer of one to three clusters and of an access cluster while pods
// come, flap, are labelled again, go and hand on their addresses; services with and without selectors
// come, go and select others, alone or with their namespace; slices over which endpoints are spread and
// moved, or Endpoints; replicas that come and go and may know only addresses; requests; API servers that
// restart or whose caches freeze, bad lines, and observers that restart. Judged by the oracle.
import { ok } from "node:assert/strict";
import { randomBetween } from "../../src/environment/random.ts";
import { applyFaultPlan, type FaultKind, randomFaultPlan } from "../../src/simulation/faults.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { judgePending, judgeRun } from "./oracle.ts";
import { observerHost } from "./proof-run.ts";
import { ProofWorld } from "./proof-world.ts";

const kinds: readonly FaultKind[] = ["latency", "reset", "partition", "one-way", "stall"];
const troubleMs = 240_000;
/** Time until a watch that was cut off is connected again, and one that is behind has listed. */
const recoveryMs = 240_000;

/** In some histories nothing goes wrong: there every endpoint must be exact. */
const calmOneIn = 4;

/** Of the endpoints of a calm history so many are delivered as they were; of the rest less is known. */
const exactShare = 0.5;

export function prove(seed: number): Promise<void> {
  return simulate({ seed }, async (simulation) => {
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
    judgePending(world, world.run);
    await world.endRun();
    for (const run of world.runs) {
      const { endpoints, exact } = judgeRun(world, run);
      if (!isCalm || run !== world.runs[0]) continue;
      ok(
        exact >= endpoints * exactShare,
        `only ${exact} of ${endpoints} endpoints could be judged`,
      );
    }
    await world.stop();
  });
}

/** On the way to each cluster by itself. */
function makeTrouble(simulation: Simulation, world: ProofWorld): void {
  for (const { name } of [...world.clusters, world.access]) {
    const hosts = [observerHost, name];
    const plan = randomFaultPlan(simulation.random, { hosts, quietAfterMs: troubleMs, kinds });
    applyFaultPlan(simulation, plan);
  }
}
