import { expect, it } from "vitest";
import type { Settings } from "../whatif/question.ts";
import { bindingConstraint } from "./constraint.ts";
import { noStretch, type Stretch } from "./interval-counters.ts";

const settings: Settings = {
  version: "1.17.3",
  qps: 20,
  burst: 30,
  workers: 5,
  resyncMs: 43_200_000,
  batchMs: 0,
  graceMs: 40_000,
  heartbeat: { by: "lease", minMs: 10_000, maxMs: 10_400 },
};

/** A hundred seconds. */
function stretch(fields: Partial<Stretch>, puts: number): Stretch {
  const load = { ...noStretch.load, PUT: puts };
  return { ...noStretch, durationMs: 100_000, requests: puts, keys: puts, load, ...fields };
}

// Of five workers, 500 s of work is all there is in a hundred seconds.
it.each([
  {
    name: "limiter",
    why: "workers wait for tokens",
    measured: stretch({ workMs: 495_000, serverMs: 8_000 }, 2_000),
    worstWaitMs: 60_000,
    writesPerSecond: undefined,
  },
  {
    name: "server",
    why: "the server writes all it can",
    measured: stretch({ workMs: 495_000, serverMs: 495_000 }, 4_200),
    worstWaitMs: 60_000,
    writesPerSecond: 43,
  },
  {
    name: "workers",
    why: "the server has room and nobody waits for tokens",
    measured: stretch({ workMs: 495_000, serverMs: 495_000 }, 700),
    worstWaitMs: 60_000,
    writesPerSecond: 43,
  },
  {
    name: "none",
    why: "nobody waits long enough to notice",
    measured: stretch({ workMs: 495_000, serverMs: 8_000 }, 2_000),
    worstWaitMs: 900,
    writesPerSecond: undefined,
  },
  {
    name: "none",
    why: "workers are idle, whatever made one change wait",
    measured: stretch({ workMs: 10_000, serverMs: 10_000 }, 100),
    worstWaitMs: 2_000,
    writesPerSecond: undefined,
  },
])("names $name when $why", ({ name, measured, worstWaitMs, writesPerSecond }) => {
  const constraint = bindingConstraint({
    stretch: measured,
    settings,
    queues: 1,
    writesPerSecond,
    worstWaitMs,
  });
  expect(constraint.name).toBe(name);
});

it("shows what it goes by", () => {
  const { evidence } = bindingConstraint({
    stretch: stretch({ workMs: 498_000, serverMs: 8_000 }, 2_000),
    settings,
    queues: 1,
    writesPerSecond: 40,
    worstWaitMs: 60_000,
  });
  expect(evidence).toEqual({
    busyShare: 0.996,
    tokenShare: 490_000 / 498_000,
    serverShare: 0.5,
    requestsPerSecond: 20,
    workMs: 249,
    answerMs: 4,
  });
});

it("knows nothing of a stretch in which nothing happened", () => {
  const options = { stretch: noStretch, settings, queues: 1, writesPerSecond: 40, worstWaitMs: 0 };
  expect(bindingConstraint(options)).toEqual({
    name: "none",
    evidence: {
      busyShare: 0,
      tokenShare: 0,
      serverShare: 0,
      requestsPerSecond: 0,
      workMs: 0,
      answerMs: 0,
    },
  });
});
