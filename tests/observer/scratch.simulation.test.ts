import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { randomBetween } from "../../src/environment/random.ts";
import { applyFaultPlan, type FaultKind, randomFaultPlan } from "../../src/simulation/faults.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { judgeRun as judgeNew } from "./oracle.ts";
import { judgeRun as judgeOld } from "./proof-judge.ts";
import { observerHost } from "./proof-run.ts";
import { ProofWorld } from "./proof-world.ts";

const kinds: readonly FaultKind[] = ["latency", "reset", "partition", "one-way", "stall"];
const troubleMs = 240_000;
const recoveryMs = 240_000;
const { FROM = "1", TO = "20", STEP = "1", OUT = "/tmp/seeds.log", JUDGE = "new" } = process.env;
const judgeRun = JUDGE === "new" ? judgeNew : judgeOld;

test("seeds", { timeout: 1e8 }, async () => {
  const failed: number[] = [];
  for (let seed = Number(FROM); seed <= Number(TO); seed += Number(STEP)) {
    try {
      await run(seed);
    } catch (error) {
      failed.push(seed);
      let text = "";
      for (let e: any = error; e; e = e.cause)
        text += `${e.message}\n----\n${e.expected === undefined ? "" : `EXPECTED\n${e.expected}\nFOUND\n${e.actual}\n`}`;
      appendFileSync(OUT, `\n===== seed ${seed}\n${text}\n`);
    }
  }
  appendFileSync(
    OUT,
    `\nRANGE ${FROM}-${TO} step ${STEP}: failed ${failed.length}: ${failed.join(" ")}\n`,
  );
  console.log("failed", failed);
});

async function run(seed: number): Promise<void> {
  await simulate({ seed }, async (simulation) => {
    const { random } = simulation;
    const isCalm = seed % 4 === 0;
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
    const pend = world.run.observer.journeys.pending();
    if (pend.length > 0)
      throw new Error(
        `PENDING now ${simulation.now()}\n${pend.map((one) => JSON.stringify(one)).join("\n")}`,
      );
    await world.endRun();
    for (const one of world.runs) {
      const { endpoints, exact } = judgeRun(world, one);
      if (isCalm && one === world.runs[0]) expect(exact).toBeGreaterThan(endpoints * 0.7);
    }
    await world.stop();
  });
}

function makeTrouble(simulation: Simulation, world: ProofWorld): void {
  for (const { name } of [...world.clusters, world.access]) {
    const hosts = [observerHost, name];
    const plan = randomFaultPlan(simulation.random, { hosts, quietAfterMs: troubleMs, kinds });
    applyFaultPlan(simulation, plan);
  }
}
