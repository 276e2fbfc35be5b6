import { expect, test } from "vitest";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Journey } from "../../timeline/journey.ts";
import type { TrafficResult } from "../traffic/traffic-result.ts";
import { lagSeries, lostSeries } from "./usual-findings.ts";

/** The observer's clock was at 1,050,000 when the stage had been open for 50 s. */
const instant = { observer: at(1_050_000), stageMs: 50_000 };

function at(ms: number): MonotonicMs {
  return ms as MonotonicMs;
}

function journey(originMs: number, publishedMs: number, ours: number): Journey {
  const shown = (hop: "pod" | "published" | "routed", witness: string, lagMs: number) =>
    ({ hop, witness, state: { type: "shown", lagMs } }) as const;
  return {
    id: originMs,
    endpoint: { cluster: "blue", service: "default/shop", address: "", port: 80, podUid: "" },
    podName: undefined,
    direction: "leave",
    cause: undefined,
    origin: { at: at(originMs), notBefore: undefined },
    hops: [
      shown("pod", "blue", 0),
      shown("published", "blue", publishedMs),
      shown("routed", "stock-1", publishedMs + 1_000),
      { hop: "routed", witness: "stock-2", state: { type: "pending" } },
      shown("routed", "lockstep-1", ours),
    ],
    outcome: "complete",
  };
}

function request(entry: string, doneAtMs: number, status: number): TrafficResult {
  return {
    number: doneAtMs,
    entry,
    host: "shop.example",
    target: "/",
    sentAt: at(doneAtMs - 1),
    doneAt: at(doneAtMs),
    outcome: { kind: "answered", status },
    pod: undefined,
    replica: undefined,
    upstreams: [],
  };
}

test("a change is drawn at its origin, on the time of the stage, once for each witness", () => {
  const series = lagSeries([journey(1_030_000, 20_000, 3), journey(1_010_000, 9_000, 2)], instant);
  expect(series.map(({ id, side, points }) => ({ id, side, points }))).toEqual([
    {
      id: "lag-published",
      side: undefined,
      points: [
        [10_000, 9_000],
        [30_000, 20_000],
      ],
    },
    {
      id: "lag-routed-stock",
      side: "stock",
      points: [
        [10_000, 10_000],
        [30_000, 21_000],
      ],
    },
    {
      id: "lag-routed-lockstep",
      side: "lockstep",
      points: [
        [10_000, 2],
        [30_000, 3],
      ],
    },
  ]);
});

test("lost requests are counted up, in the order in which their clients knew", () => {
  const results = [
    request("stock", 1_020_000, 504),
    request("lockstep", 1_010_000, 200),
    request("stock", 1_010_000, 200),
    request("stock", 1_015_000, 502),
  ];
  expect(lostSeries(results, instant).map(({ side, points }) => ({ side, points }))).toEqual([
    {
      side: "stock",
      points: [
        [10_000, 0],
        [15_000, 1],
        [20_000, 2],
      ],
    },
    { side: "lockstep", points: [[10_000, 0]] },
  ]);
});
