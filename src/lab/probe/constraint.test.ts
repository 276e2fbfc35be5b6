import { expect, it } from "vitest";
import { bindingConstraint, type ConstraintFacts } from "./constraint.ts";

/** A hundred seconds of five workers, which together have 500 s. */
const facts: ConstraintFacts = {
  durationMs: 100_000,
  workers: 5,
  workMs: 495_000,
  requests: 2_000,
  serverMs: 8_000,
  writes: 2_000,
  writesPerSecond: undefined,
  worstWaitMs: 60_000,
};

const slowServer = { serverMs: 495_000, writesPerSecond: 43 };

it.each([
  { name: "limiter", why: "workers wait for tokens", measured: {} },
  {
    name: "server",
    why: "the server writes as much as it can",
    measured: { ...slowServer, requests: 4_200, writes: 4_200 },
  },
  {
    name: "workers",
    why: "the server has room and no worker waits for tokens",
    measured: { ...slowServer, requests: 700, writes: 700 },
  },
  { name: "none", why: "no change waits for a second", measured: { worstWaitMs: 900 } },
  {
    name: "none",
    why: "workers are idle, although one change waited",
    measured: { workMs: 10_000, serverMs: 10_000, requests: 100, writes: 100, worstWaitMs: 2_000 },
  },
  {
    name: "none",
    why: "nothing was written",
    measured: { workMs: 0, serverMs: 0, requests: 0, writes: 0 },
  },
])("names $name when $why", ({ name, measured }) => {
  expect(bindingConstraint({ ...facts, ...measured }).name).toBe(name);
});

it("shows its measurements", () => {
  const { evidence } = bindingConstraint({ ...facts, workMs: 498_000, writesPerSecond: 40 });
  expect(evidence).toEqual({
    busyShare: 0.996,
    tokenShare: 490_000 / 498_000,
    serverShare: 0.5,
    requestsPerSecond: 20,
    workMs: 249,
    answerMs: 4,
  });
});

it("names nothing for an empty interval", () => {
  const empty = { durationMs: 0, workMs: 0, requests: 0, serverMs: 0, writes: 0, worstWaitMs: 0 };
  expect(bindingConstraint({ ...facts, ...empty, writesPerSecond: 40 })).toEqual({
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
