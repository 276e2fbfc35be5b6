import { expect, test } from "vitest";
import type { Journey } from "../../src/server/api.ts";
import { filterOf, matches, queryOf } from "./journey-filter.ts";
import { journeyAt, journeyPath, lagText, pathText, readingOf } from "./journey-path.ts";

const start = 1_700_000_000_000;
const reading = readingOf({ slowMs: 2_000 });

type Hop = Journey["hops"][number];

function shown(hop: Hop["hop"], witness: string, lagMs: number): Hop {
  return { hop, witness, state: "shown", lagMs };
}

function waiting(hop: Hop["hop"], witness: string, state: "pending" | "stuck" = "pending"): Hop {
  return { hop, witness, state, lagMs: null };
}

function journey(hops: Hop[], outcome: Journey["outcome"] = "complete"): Journey {
  return {
    id: "1",
    cluster: "alpha",
    service: "shop/web",
    address: "10.0.0.1",
    port: 80,
    podUid: null,
    podName: null,
    direction: "leave",
    cause: "terminating",
    originMs: start,
    originNotBeforeMs: null,
    outcome,
    hops,
  };
}

const over = journey([
  shown("pod", "alpha", 0),
  shown("published", "alpha", 29_700),
  shown("routed", "lockstep-1", 7.6),
  shown("routed", "lockstep-2", 9.6),
  shown("routed", "stock-1", 30_400),
  shown("traffic", "log", 90_000),
]);

test("segments follow each other in time, and the label is the first hop that --slow calls late", () => {
  const { segments, label, level } = journeyPath(over, reading, start + 60_000);
  expect(segments).toEqual([
    { part: "lockstep", fromMs: 0, toMs: 9.6, level: "fine", isWaiting: false },
    { part: "published", fromMs: 9.6, toMs: 29_700, level: "late", isWaiting: false },
    { part: "proxy", fromMs: 29_700, toMs: 30_400, level: "late", isWaiting: false },
  ]);
  expect([label, level]).toEqual(["EndpointSlices 29.7 s", "late"]);
  const patient = readingOf({ slowMs: 30_000 });
  expect(journeyPath(over, patient, start + 60_000)).toMatchObject({
    label: "stock (model) 30.4 s",
    segments: [{ level: "fine" }, { level: "fine" }, { level: "late" }],
  });
  expect(journeyPath(over, readingOf({ slowMs: 60_000 }), start).level).toBe("fine");
});

test("a hop that waits grows with time: fine, late, then stuck", () => {
  const at = (ageMs: number, state: "pending" | "stuck") => {
    const hops = [
      shown("pod", "alpha", 0),
      waiting("routed", "stock-1", state),
      waiting("published", "alpha", state),
    ];
    const { segments, label, level } = journeyPath(
      journey(hops, "pending"),
      reading,
      start + ageMs,
    );
    return [label, level, segments.at(-1)?.toMs, segments.at(-1)?.isWaiting];
  };
  expect(at(400, "pending")).toEqual(["EndpointSlices 400 ms, waiting", "fine", 400, true]);
  expect(at(24_100, "pending")).toEqual(["EndpointSlices 24 s, waiting", "late", 24_100, true]);
  expect(at(41_000, "stuck")).toEqual(["EndpointSlices 41 s, stuck", "stuck", 41_000, true]);
});

test("requests are never late, and a path has no point of an unknown time", () => {
  const hops = [shown("pod", "alpha", 0), waiting("traffic", "log", "stuck")];
  expect(journeyPath(journey(hops, "pending"), reading, start + 90_000).level).toBe("fine");
});

test("the kind of a replica is read from the list of the server before its name", () => {
  const { kindOf } = readingOf({
    slowMs: 2_000,
    replicas: [
      { name: "stock-1", kind: "lockstep", state: "connected", reportedAt: null, problem: null },
    ],
  });
  expect([kindOf("stock-1"), kindOf("stock-2"), kindOf("edge-1")]).toEqual([
    "lockstep",
    "stock",
    "other",
  ]);
});

test("a lag with a range says which end it is", () => {
  const hop: Hop = {
    ...shown("published", "alpha", 5_000),
    lagRangeMs: { min: 3_000, max: 5_000 },
  };
  expect(lagText(hop, over)).toBe("≤ 5 s");
  expect(lagText(hop, { ...over, originNotBeforeMs: start - 10 })).toBe("≥ 5 s");
});

test("the path in words names every source", () => {
  expect(pathText(over, reading, start)).toBe(
    "pod after 0 ms; EndpointSlices after 29.7 s; lockstep-1 after 7.6 ms; lockstep-2 after 9.6 ms; " +
      "stock-1 after 30.4 s; requests after 1 min 30 s",
  );
});

test("a journey at an earlier time has only what had been shown until then", () => {
  expect(journeyAt(over, start - 1)).toBeUndefined();
  const states = (ageMs: number) => journeyAt(over, start + ageMs)?.hops.map(({ state }) => state);
  expect(states(8)).toEqual(["shown", "pending", "shown", "pending", "pending", "pending"]);
  expect(states(30_000)).toEqual(["shown", "shown", "shown", "shown", "stuck", "pending"]);
  expect(journeyAt(over, start + 30_000)?.outcome).toBe("pending");
  expect(journeyAt(over, start + 90_000)).toEqual(over);
});

test("filters are the same in the address and on a live journey", () => {
  const filter = filterOf(new URLSearchParams("service=shop/web&hop=published&minLagMs=2000&x=1"));
  expect(queryOf(filter).toString()).toBe("service=shop%2Fweb&hop=published&minLagMs=2000");
  expect(matches(over, filter, start)).toBe(true);
  expect(matches(over, { ...filter, hop: "synced" }, start)).toBe(false);
  expect(matches(over, { service: "shop/cart" }, start)).toBe(false);
  const pending = journey([waiting("published", "alpha")], "pending");
  expect([1_000, 3_000].map((ms) => matches(pending, filter, start + ms))).toEqual([false, true]);
});
