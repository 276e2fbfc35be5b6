import { expect, test } from "vitest";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { HopState, Journey } from "../../timeline/journey.ts";
import type { Direction, Hop } from "../../timeline/witness.ts";
import type { HopChange } from "./hop-ledger.ts";
import { AccuracyCounters } from "./observer-accuracy.ts";

const since = 0 as MonotonicMs;

function happened(hop: Hop, witness: string, direction: Direction, at: number): HopChange {
  return { hop, witness, address: "10.0.0.1", direction, at: at as MonotonicMs };
}

function seen(direction: Direction, originMs: number, lags: readonly number[]): Journey {
  const places = [
    ["pod", "blue"],
    ["published", "blue"],
    ["routed", "stock-1"],
  ] as const;
  return {
    id: originMs,
    endpoint: { cluster: "blue", service: "s/w", address: "10.0.0.1", port: 1, podUid: "a" },
    podName: undefined,
    direction,
    cause: undefined,
    origin: { at: originMs as MonotonicMs, notBefore: undefined },
    hops: places.slice(0, lags.length).map(([hop, witness], index) => {
      const state: HopState = { type: "shown", lagMs: lags[index] ?? 0 };
      return { hop, witness, state };
    }),
    outcome: "complete",
  };
}

const leave = [
  happened("pod", "blue", "leave", 1_000),
  happened("published", "blue", "leave", 9_000),
  happened("routed", "stock-1", "leave", 10_000),
];

test("an observer that is late by as much at every hop is exact, and finds the same hop late", () => {
  const meter = new AccuracyCounters();
  meter.add({ journeys: [seen("leave", 1_003, [0, 8_000, 9_000])], ledger: leave, since });
  const exact = { compared: 1, p50Ms: 0, p99Ms: 0, maxMs: 0 };
  expect(meter.result()).toEqual({
    changes: 1,
    missed: 0,
    invented: 0,
    hops: [
      { hop: "pod", ...exact },
      { hop: "published", ...exact },
      { hop: "routed", ...exact },
    ],
    slowestHop: { observed: "published", ledger: "published" },
  });
});

test("a missed change, an invented one and a wrong lag are different errors", () => {
  const meter = new AccuracyCounters();
  const journeys = [seen("leave", 1_000, [0, 8_005]), seen("join", 20_000, [0])];
  meter.add({ journeys, ledger: leave, since });
  const { missed, invented, hops } = meter.result();
  expect({ missed, invented }).toEqual({ missed: 1, invented: 1 });
  expect(hops.map(({ hop, maxMs }) => [hop, maxMs])).toEqual([
    ["pod", 0],
    ["published", 5],
  ]);
});

test("a replica that finds out by itself is ahead of the pods, and makes the origin", () => {
  const meter = new AccuracyCounters();
  const ledger = [
    happened("routed", "stock-1", "leave", 500),
    happened("pod", "blue", "leave", 31_000),
    happened("published", "blue", "leave", 31_001),
  ];
  meter.add({ journeys: [seen("leave", 500, [30_500, 30_501, 0])], ledger, since });
  const { missed, invented, slowestHop } = meter.result();
  expect({ missed, invented }).toEqual({ missed: 0, invented: 0 });
  expect(slowestHop).toEqual({ observed: "pod", ledger: "pod" });
});

test("a replica that leaves a flap out has shown the last change", () => {
  const meter = new AccuracyCounters();
  const ledger = [
    happened("pod", "blue", "leave", 1_000),
    happened("pod", "blue", "join", 2_000),
    happened("pod", "blue", "leave", 3_000),
    happened("published", "blue", "leave", 3_500),
  ];
  const journeys = [
    seen("leave", 1_000, [0]),
    seen("join", 2_000, [0]),
    seen("leave", 3_000, [0, 500]),
  ];
  meter.add({ journeys, ledger, since });
  const { changes, missed, invented } = meter.result();
  expect({ changes, missed, invented }).toEqual({ changes: 3, missed: 0, invented: 0 });
});
