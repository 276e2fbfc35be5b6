import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { Journey } from "./journey.ts";
import { journeyRecord } from "./journey-record.ts";

const run = { name: "run", wallMs: 1_000_000 as WallMs, monotonicMs: 500 as MonotonicMs };

const journey: Journey = {
  id: 7,
  endpoint: {
    cluster: "east",
    service: "shop/web",
    address: "10.0.0.1",
    port: 8080,
    podUid: undefined,
  },
  podName: undefined,
  direction: "leave",
  cause: "terminating",
  origin: { at: 600 as MonotonicMs, notBefore: undefined },
  hops: [
    { hop: "pod", witness: "east", state: { type: "shown", lagMs: 0 } },
    { hop: "published", witness: "east", state: { type: "pending" } },
  ],
  outcome: "pending",
};

const record = {
  id: "run-7",
  cluster: "east",
  service: "shop/web",
  address: "10.0.0.1",
  port: 8080,
  podUid: null,
  podName: null,
  direction: "leave",
  cause: "terminating",
  originMs: 1_000_100,
  originNotBeforeMs: null,
  outcome: "pending",
  hops: [
    { hop: "pod", witness: "east", state: "shown", lagMs: 0 },
    { hop: "published", witness: "east", state: "pending", lagMs: null },
  ],
};

test("a record has wall times, and null where nothing is known", () => {
  expect(journeyRecord(journey, run)).toStrictEqual(record);
});

test("a record carries what is known only within bounds, the cluster's time and lost requests", () => {
  const at = 600 as MonotonicMs;
  const full: Journey = {
    ...journey,
    origin: { at, notBefore: 100 as MonotonicMs, beforeStart: true },
    hops: [
      {
        hop: "pod",
        witness: "east",
        state: { type: "shown", lagMs: 5, range: { minMs: 1, maxMs: undefined } },
      },
      { hop: "traffic", witness: "log", state: { type: "quiet" } },
    ],
    clusterTime: { at: 998_000 as WallMs, beforeOriginMs: { minMs: 100, maxMs: 2_100 } },
    traffic: { requests: 3, failed: 1, lastFailedAt: 700 as MonotonicMs },
  };
  expect(journeyRecord(full, run)).toStrictEqual({
    ...record,
    originNotBeforeMs: 999_600,
    originBeforeStart: true,
    hops: [
      {
        hop: "pod",
        witness: "east",
        state: "shown",
        lagMs: 5,
        lagRangeMs: { min: 1, max: null },
      },
      { hop: "traffic", witness: "log", state: "quiet", lagMs: null },
    ],
    clusterTimeMs: 998_000,
    clusterBeforeOriginMs: { min: 100, max: 2_100 },
    traffic: { requests: 3, failed: 1, lastFailedMs: 1_000_200 },
  });
});
