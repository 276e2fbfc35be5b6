// Observers that start in the middle of each incident: each must show soon what pods, published objects
// and proxies disagree about, and when that ended. In the incidents a ledger judges an observer that
// was there from the beginning; these were not.
import { describe, expect, test } from "vitest";
import { allIncidents } from "../../src/lab/incidents/all-incidents.ts";
import { playFight } from "../../src/lab/incidents/apiserver-fight/play.ts";
import { playGhostLeader } from "../../src/lab/incidents/ghost-leader/play.ts";
import { playDeadNode, playFlappingShop } from "../../src/lab/incidents/heartbeat-flap/play.ts";
import { playResyncStorm } from "../../src/lab/incidents/resync-storm/play.ts";
import { playThrottledController } from "../../src/lab/incidents/throttled-controller/play.ts";
import { forEachSeed, isThorough } from "../../src/simulation/seeds.ts";
import { judgeStarts, type StartedIncident } from "./late-starts.ts";
import type { Judged } from "./started-observer.ts";

/** A kernel of little patience; see the tests of the incident. */
const fight: StartedIncident = {
  lastsMs: 40_000,
  form: "endpoints",
  play: (stage) =>
    playFight(stage, {
      servers: 3,
      profile: "1.9",
      mechanism: "cut-off",
      silence: { minMs: 15_000, maxMs: 30_000 },
      releases: 1,
      pauseMs: 1_000,
    }),
};

/** A storm of 16 s: (15 − 2) ÷ 0.8. */
const storm: StartedIncident = {
  lastsMs: 75_000,
  form: "endpoints",
  play: (stage) =>
    playResyncStorm((play) => play(stage), {
      fix: false,
      settings: () => ({
        services: 18,
        headless: 15,
        limits: { workers: 2, qps: 0.8, burst: 2 },
        minResyncMs: 40_000,
        resyncFactor: 1.25,
        raised: undefined,
      }),
    }),
};

/** The queue goes round in 35 s, where 30 s would be in time. */
const throttled: StartedIncident = {
  lastsMs: 120_000,
  form: "endpoints",
  play: (stage) =>
    playThrottledController((play) => play(stage), {
      releaseOnly: true,
      services: 35,
      workers: 3,
      limits: { "kube-api-qps": 1, "kube-api-burst": 2 },
    }),
};

/** On nodes so few that the only pod of the backend often goes with its machine. */
const ghost: StartedIncident = {
  lastsMs: 90_000,
  form: "endpointslices",
  play: (stage) =>
    playGhostLeader((play) => play(stage), {
      fix: false,
      profile: "1.33",
      nodes: 3,
      replicas: 2,
      ingresses: 1,
      electionTtlMs: 8_000,
      statusUpdateIntervalMs: 10_000,
      formerTransitions: 1,
      untilReleaseMs: 10_000,
      heldMs: 10_000,
    }),
};

const gap = { minMs: 10_000, maxMs: 30_000 };
const grace = { graceMs: 20_000, monitorMs: 5_000 };

const flap: StartedIncident = {
  lastsMs: 90_000,
  form: "endpoints",
  play: (stage) =>
    playFlappingShop(stage, {
      ...grace,
      profile: "1.7",
      gaps: { status: gap },
      nodes: 1,
      forMs: 90_000,
    }),
};

const deadNode: StartedIncident = {
  lastsMs: 60_000,
  form: "endpointslices",
  play: (stage) => playDeadNode(stage, { ...grace, profile: "1.33" }),
};

interface Case {
  readonly plays: readonly StartedIncident[];
  /** Of the usual number of seeds. */
  readonly seeds: number;
  /** The checks that must have run at least once, over all seeds. */
  readonly judged: readonly (keyof Judged)[];
}

const cases: ReadonlyMap<string, Case> = new Map([
  // Its API servers fight over the service `kubernetes`, which has no pods to disagree with.
  [
    "apiserver-fight",
    { plays: [fight], seeds: 0.2, judged: ["routed", "inFlight", "ended", "withoutPods"] },
  ],
  [
    "resync-storm",
    { plays: [storm], seeds: 0.2, judged: ["published", "routed", "inFlight", "ended"] },
  ],
  [
    "throttled-controller",
    { plays: [throttled], seeds: 0.2, judged: ["published", "routed", "inFlight", "ended"] },
  ],
  // Only statuses go wrong in it: a stock replica is behind a pod for less than 5 s.
  ["ghost-leader", { plays: [ghost], seeds: 0.4, judged: ["routed", "ended"] }],
  // Endpoints are published at once; stock is behind the pods, and Lockstep disbelieves them.
  [
    "heartbeat-flap",
    { plays: [flap, deadNode], seeds: 0.2, judged: ["routed", "inFlight", "ended"] },
  ],
]);

/** The others take seconds each. */
const cheapest = "apiserver-fight";

test("observers start in every incident", () => {
  expect([...cases.keys()]).toEqual(allIncidents.map(({ name }) => name));
});

const played = [...cases].filter(([name]) => name === cheapest || isThorough(process.env));

describe.each(played)("%s", (name, { plays, seeds, judged: expected }) => {
  const judged: Judged = { published: 0, routed: 0, inFlight: 0, ended: 0, withoutPods: 0 };

  forEachSeed(
    `${name}: what disagrees at a start is in flight within seconds, and ends when it does`,
    { seeds },
    async (seed) => {
      for (const play of plays) await judgeStarts(seed, judged, play);
    },
  );

  test("there was something to judge", () => {
    expect(expected.filter((one) => judged[one] === 0)).toEqual([]);
  });
});
