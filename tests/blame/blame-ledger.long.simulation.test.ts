// Every incident that loses requests, saved as `lockstep incident --save` saves it, and blamed from the
// saved files alone: each lost request of the stock side as the ledger has it, and on the hop that the
// incident makes late.
import { describe, expect, test } from "vitest";
import { playFight } from "../../src/lab/incidents/apiserver-fight/play.ts";
import type { FightSettings } from "../../src/lab/incidents/apiserver-fight/settings.ts";
import { playFlaps } from "../../src/lab/incidents/heartbeat-flap/play.ts";
import { playResyncStorm } from "../../src/lab/incidents/resync-storm/play.ts";
import type { OpenStage } from "../../src/lab/incidents/stage.ts";
import { playThrottledController } from "../../src/lab/incidents/throttled-controller/play.ts";
import { VirtualStages } from "../../src/lab/incidents/virtual-stage.ts";
import { Recording } from "../../src/lab/saved/recording.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import { simulate } from "../../src/simulation/simulation.ts";
import { expectJudged, type JudgedFolder } from "./ledger-judge.ts";

const folder = "/saved";

/**
 * The verdicts of each stage on the stock side; on Lockstep's side, only that no verdict is wrong.
 */
async function judged(
  play: (open: OpenStage) => Promise<unknown>,
  seed = 1,
): Promise<readonly JudgedFolder[]> {
  const recording = new Recording();
  await play(new VirtualStages({ seed, recording }).open);
  return await simulate({ seed: 1 }, async (simulation) => {
    const operator = simulation.host("operator");
    await recording.write(operator.files, folder);
    const stages = (await operator.files.list(folder)).filter((name) => name.startsWith("stage-"));
    const folders = stages.length === 0 ? [folder] : stages.map((name) => `${folder}/${name}`);
    const results: JudgedFolder[] = [];
    for (const one of folders) {
      results.push(await expectJudged(operator, one, "stock"));
      await expectJudged(operator, one, "lockstep");
    }
    return results;
  });
}

function playFightWith(settings: Partial<FightSettings>) {
  return (open: OpenStage) =>
    open((stage) =>
      playFight(stage, {
        servers: 3,
        profile: "1.9",
        mechanism: "cut-off",
        silence: { minMs: 15_000, maxMs: 30_000 },
        releases: 1,
        pauseMs: 1_000,
        ...settings,
      }),
    );
}

test("replicas that hear of nothing: every lost request was routed late", async () => {
  const [result] = await judged(playFightWith({}));
  const { lost = 0, logged, blamed } = result ?? {};
  expect(lost).toBeGreaterThan(0);
  expect(logged).toBe(lost);
  expect(blamed).toEqual({ "routed late": lost });
});

describe.runIf(isThorough(process.env))("at length", () => {
  test("a controller that cannot keep up: published late", async () => {
    const limits = { "kube-api-qps": 2, "kube-api-burst": 4 };
    const options = { releaseOnly: true, services: 96, workers: 4, limits };
    const [result] = await judged((open) => playThrottledController(open, options));
    const { lost = 0, logged, blamed } = result ?? {};
    expect(lost).toBeGreaterThan(100);
    expect(logged).toBe(lost);
    expect(blamed).toEqual({ "published late": lost });
  });

  test("a queue full of resyncs: published late", async () => {
    const cluster = {
      services: 80,
      headless: 70,
      limits: { workers: 2, qps: 5, burst: 10 },
      minResyncMs: 60_000,
      resyncFactor: 1.25,
      raised: undefined,
    };
    const [result] = await judged((open) =>
      playResyncStorm(open, { fix: false, settings: () => cluster }),
    );
    const { lost = 0, logged, blamed } = result ?? {};
    expect(lost).toBeGreaterThan(10);
    expect(logged).toBe(lost);
    expect(blamed).toEqual({ "published late": lost });
  });

  test("a node that dies without a report: shown late", async () => {
    const late = {
      profile: "1.7",
      gaps: { status: { minMs: 20_000, maxMs: 50_000 } },
      nodes: 2,
      forMs: 600_000,
      graceMs: 40_000,
      monitorMs: 5_000,
    } as const;
    const [, dead] = await judged((open) =>
      playFlaps(open, { late, trafficMs: 60_000, withLeases: false }),
    );
    const { lost = 0, logged = 0, blamed } = dead ?? {};
    expect(lost).toBeGreaterThan(10);
    // After two timeouts of 5 s a client of 10 s may leave as the answer comes: logged as answered.
    expect(logged).toBeGreaterThan(lost - 2);
    expect(blamed).toEqual({ "shown late": logged });
  });
});
