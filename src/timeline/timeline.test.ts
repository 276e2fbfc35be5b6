import { describe, expect, test } from "vitest";
import {
  ms,
  Observed,
  pod,
  published,
  replica,
  synced,
  web,
} from "../../tests/observer/observed.ts";
import type { WallMs } from "../environment/clock.ts";
import type { Journey } from "./journey.ts";
import { abandonAfterMs, goneMax, keptMax, settleMs } from "./journey-limits.ts";
import { Timeline } from "./timeline.ts";
import type { Hop, Witness } from "./witness.ts";

test("a leave is followed from the pod to every replica", () => {
  const seen = new Observed([pod, published, synced, replica("r1"), replica("r2")]);
  seen.baseline(pod, published, synced, replica("r1"), replica("r2"));
  seen.say(1_000, pod, "leave", { cause: "terminating" });
  seen.say(1_012, replica("r1"), "leave");
  seen.say(1_014, replica("r2"), "leave");
  seen.say(32_200, published, "leave");
  seen.say(32_300, synced, "leave");
  expect(seen.events).toMatchInlineSnapshot(`
    [
      "1000: shown pod: −10.0.0.1 shop/web  pod 0 · published … · synced … · routed … …",
      "1012: shown routed: −10.0.0.1 shop/web  pod 0 · published 12 ms… · synced 12 ms… · routed 12 ms 12 ms…",
      "1014: shown routed: −10.0.0.1 shop/web  pod 0 · published 14 ms… · synced 14 ms… · routed 12 14 ms",
      "32200: shown published: −10.0.0.1 shop/web  pod 0 · published 31.2 s · synced 31.2 s… · routed 12 14 ms",
      "32300: shown synced: −10.0.0.1 shop/web  pod 0 · published 31.2 s · synced 31.3 s · routed 12 14 ms",
      "32300: complete: −10.0.0.1 shop/web  pod 0 · published 31.2 s · synced 31.3 s · routed 12 14 ms",
    ]
  `);
  expect(seen.journeys.pending()).toEqual([]);
});

test("a source whose service is deleted has shown what its last steps show", () => {
  const seen = new Observed([pod, published]);
  seen.watermarks = { pod: 1e9, published: 1e9 };
  seen.say(1_000, pod, "join");
  seen.say(1_500, published, "join");
  // The slices never show the flap, so their removal is not clear at once.
  seen.say(12_000, pod, "leave");
  seen.say(13_000, pod, "join");
  seen.say(19_000, pod, "leave");
  seen.say(24_000, published, "leave");
  for (const witness of [published, pod]) seen.journeys.unfollow(witness, { ...web, isGone: true });
  seen.advance(60_000);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1500: complete: +10.0.0.1 shop/web  pod 0 · published 500 ms · routed ?",
      "24000: superseded: −10.0.0.1 shop/web  pod 0 · published ? · routed ? (superseded)",
      "24000: superseded: +10.0.0.1 shop/web  pod 0 · published ? · routed ? (superseded)",
      "24000: complete: −10.0.0.1 shop/web  pod 0 · published 5 s · routed ?",
    ]
  `);
});

test("a source that begins to follow while changes are in flight may show them all", () => {
  const seen = new Observed([pod, published, replica("r1")]);
  seen.watermarks = { pod: 1e9, published: 1e9 };
  seen.say(1_000, pod, "join");
  seen.say(1_500, published, "join");
  seen.say(2_000, pod, "leave");
  seen.journeys.follow(synced, web);
  seen.say(2_100, synced, "join");
  seen.say(2_400, published, "leave");
  seen.say(2_900, synced, "leave");
  seen.say(3_000, replica("r1"), "join");
  seen.say(3_100, replica("r1"), "leave");
  seen.advance(20_000);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "3000: superseded: +10.0.0.1 shop/web  pod 0 · published 500 ms · synced 1.1 s · routed 2 s (superseded)",
      "3100: complete: −10.0.0.1 shop/web  pod 0 · published 400 ms · synced 900 ms · routed 1.1 s",
    ]
  `);
});

test("proxies open no change before an observed cluster is listed", () => {
  const seen = new Observed([], { observesClusters: true });
  seen.journeys.follow(replica("r1"), web);
  seen.say(1_000, replica("r1"), "join", { uid: undefined });
  seen.advance(5_000);
  expect(seen.events).toEqual([]);
  expect(seen.inFlight).toEqual([]);
});

test("a pod watch that follows the service after the slices shows their change, and opens no second", () => {
  const seen = new Observed([published]);
  seen.say(1_000, published, "join");
  seen.advance(1_100);
  expect(seen.over).toHaveLength(1);
  seen.journeys.follow(pod, web);
  seen.say(1_500, pod, "join");
  seen.advance(20_000);
  seen.say(21_000, pod, "leave");
  seen.say(21_400, published, "leave");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1000: complete: +10.0.0.1 shop/web  pod ? · published ≥0 · routed ?",
      "21400: complete: −10.0.0.1 shop/web  pod 0 · published 400 ms · routed ?",
    ]
  `);
  expect(seen.inFlight).toEqual([]);
});

test("a journey keeps its cause, its pod and an origin that is an interval after a relist", () => {
  const over: unknown[] = [];
  const journeys = new Timeline({
    onEvent: (event) => event.type === "over" && over.push(event.journey),
  });
  journeys.follow(pod, web);
  journeys.follow(published, web);
  const endpoint = { ...web, address: "10.0.0.1", port: 8080, podUid: "a" };
  const join = { endpoint, direction: "join" } as const;
  journeys.report({ ...join, witness: published, at: ms(2_000) });
  journeys.report({
    ...join,
    witness: pod,
    at: ms(1_500),
    notBefore: ms(500),
    cause: "ready",
    podName: "web-0",
  });
  expect(over).toEqual([
    {
      id: 1,
      endpoint,
      podName: "web-0",
      direction: "join",
      cause: "ready",
      origin: { at: 1_500, notBefore: 500 },
      hops: [
        {
          hop: "pod",
          witness: "east",
          state: { type: "shown", lagMs: 0, range: { minMs: 0, maxMs: 1_000 } },
        },
        {
          hop: "published",
          witness: "east",
          state: { type: "shown", lagMs: 500, range: { minMs: 500, maxMs: 1_500 } },
        },
      ],
      outcome: "complete",
    },
  ]);
});

test("any witness may be the first, and the origin is the earliest of all", () => {
  const seen = new Observed([pod, published, replica("r1")]);
  seen.baseline(pod, published, replica("r1"));
  seen.say(1_000, replica("r1"), "leave");
  seen.say(1_030, pod, "leave");
  seen.say(1_040, published, "leave");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1040: complete: −10.0.0.1 shop/web  pod 30 ms · published 40 ms · routed before pod",
    ]
  `);
});

test("a flap that the controller follows late gives each change its own time", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(6_000, pod, "join");
  seen.say(15_000, published, "leave");
  seen.say(15_100, published, "join");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "15100: superseded: −10.0.0.1 shop/web  pod 0 · published 14 s · routed ? (superseded)",
      "15100: complete: +10.0.0.1 shop/web  pod 0 · published 9.1 s · routed ?",
    ]
  `);
});

test("a flap that the controller never shows is superseded and leaves nothing pending", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(1_200, pod, "join");
  seen.advance(1_200 + settleMs - 1);
  expect(seen.over).toEqual([]);
  seen.advance(1_200 + settleMs);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "11200: superseded: −10.0.0.1 shop/web  pod 0 · published passed · routed ? (superseded)",
      "11200: complete: +10.0.0.1 shop/web  pod 0 · published unchanged · routed ?",
    ]
  `);
});

test("a flap that is shown after all, long after, is no new change", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(2_000, pod, "join");
  seen.advance(2_000 + settleMs);
  seen.say(31_000, published, "leave");
  seen.say(32_000, published, "join");
  seen.advance(60_000);
  expect(seen.over).toHaveLength(2);
  expect(seen.journeys.pending()).toEqual([]);
  seen.say(70_000, pod, "leave");
  seen.say(70_300, published, "leave");
  expect(seen.over.slice(2)).toEqual([
    "70300: complete: −10.0.0.1 shop/web  pod 0 · published 300 ms · routed ?",
  ]);
});

test("one that shows half of a flap long after, and stays so, has yet to show the rest", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(2_000, pod, "join");
  seen.advance(2_000 + settleMs);
  seen.say(31_000, published, "leave");
  seen.advance(31_000 + settleMs);
  expect(seen.journeys.oldestPending(ms(50_000))).toEqual([
    { cluster: "east", hop: "published", direction: "join", ageMs: 19_000 },
  ]);
});

test("of three quick changes collapsed into one, the last gets the time it was shown at", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(1_100, pod, "join");
  seen.say(1_200, pod, "leave");
  seen.say(3_000, published, "leave");
  seen.advance(3_000 + settleMs);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "13000: superseded: −10.0.0.1 shop/web  pod 0 · published passed · routed ? (superseded)",
      "13000: superseded: +10.0.0.1 shop/web  pod 0 · published passed · routed ? (superseded)",
      "13000: complete: −10.0.0.1 shop/web  pod 0 · published 1.8 s · routed ?",
    ]
  `);
});

test("a step counts as shown when it is known what it shows, at once or later", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(1_100, pod, "join");
  seen.say(1_200, pod, "leave");
  seen.say(3_000, published, "leave");
  expect(seen.journeys.counts).toMatchObject({ opened: 3, shown: 0 });
  seen.advance(3_000 + settleMs);
  seen.say(20_000, pod, "join");
  seen.say(20_100, published, "join");
  expect(seen.journeys.counts).toMatchObject({ opened: 4, shown: 2 });
});

test("a witness that shows every change 30 s late gives each change its own time", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(2_000, pod, "join");
  seen.say(3_000, pod, "leave");
  for (const [at, direction] of [
    [31_000, "leave"],
    [32_000, "join"],
    [33_000, "leave"],
  ] as const) {
    seen.say(at, published, direction);
    seen.advance(at + 500);
  }
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "32500: superseded: −10.0.0.1 shop/web  pod 0 · published 30 s · routed ? (superseded)",
      "32500: superseded: +10.0.0.1 shop/web  pod 0 · published 30 s · routed ? (superseded)",
      "33000: complete: −10.0.0.1 shop/web  pod 0 · published 30 s · routed ?",
    ]
  `);
});

test("two changes that wait for the same watermark are looked at once for each passing of time", () => {
  const seen = new Observed([pod, published]);
  seen.watermarks = { pod: 2_500 };
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(2_000, pod, "join");
  seen.say(3_000, published, "leave");
  seen.advance(4_000);
  expect(seen.inFlight).toEqual([
    "leave a 1000: pod shown, published pending",
    "join a 2000: pod shown, published pending",
  ]);
  seen.watermarks = { pod: 3_001 };
  seen.advance(5_000);
  expect(seen.over).toEqual([
    "5000: superseded: −10.0.0.1 shop/web  pod 0 · published 2 s · routed ? (superseded)",
  ]);
});

test("a leave of something never seen is counted", () => {
  const seen = new Observed([pod, published]);
  seen.say(1_000, published, "leave");
  expect(seen.journeys.counts).toMatchObject({ unknown: 1, opened: 0 });
});

test("a replica that changes its mind alone and back opens nothing", () => {
  const seen = new Observed([pod, published, replica("r1")]);
  seen.baseline(pod, published, replica("r1"));
  seen.say(1_000, replica("r1"), "leave");
  seen.say(3_000, replica("r1"), "join");
  seen.advance(60_000);
  expect(seen.events).toEqual([]);
  expect(seen.journeys.counts).toMatchObject({ baseline: 3, opened: 0, shown: 0 });
  seen.say(69_000, pod, "leave");
  seen.say(69_001, replica("r1"), "leave");
  seen.say(69_002, published, "leave");
  expect(seen.over).toEqual([
    "69002: complete: −10.0.0.1 shop/web  pod 0 · published 2 ms · routed 1 ms",
  ]);
});

test("once the cluster of an endpoint is known, no witness of another cluster is waited for", () => {
  const seen = new Observed([pod]);
  seen.journeys.follow({ hop: "pod", name: "west" }, { ...web, cluster: "west" });
  const endpoint = {
    ...web,
    cluster: undefined,
    address: "10.0.0.1",
    port: 8080,
    podUid: undefined,
  };
  seen.journeys.report({ witness: replica("stock"), direction: "join", at: ms(1_000), endpoint });
  seen.say(1_020, pod, "join");
  expect(seen.over).toEqual([
    "1020: complete: +10.0.0.1 shop/web  pod 20 ms · published ? · routed before pod",
  ]);
});

test("a hop beyond its budget is stuck, once, and may still come", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(0, pod, "leave");
  seen.advance(29_999);
  seen.advance(30_000);
  seen.advance(60_000);
  expect(seen.journeys.oldestPending(ms(60_000))).toEqual([
    { cluster: "east", hop: "published", direction: "leave", ageMs: 60_000 },
  ]);
  seen.say(646_000, published, "leave");
  expect(seen.events).toMatchInlineSnapshot(`
    [
      "0: shown pod: −10.0.0.1 shop/web  pod 0 · published … · routed ?",
      "30000: stuck published: −10.0.0.1 shop/web  pod 0 · published stuck 30 s… · routed ?",
      "646000: shown published: −10.0.0.1 shop/web  pod 0 · published 10 min 46 s · routed ?",
      "646000: complete: −10.0.0.1 shop/web  pod 0 · published 10 min 46 s · routed ?",
    ]
  `);
  expect(seen.journeys.oldestPending(ms(700_000))).toEqual([]);
});

test("a change that has been undone is not the oldest that is waited for", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(2_000, pod, "join");
  seen.advance(3_000);
  expect(seen.journeys.oldestPending(ms(3_000))).toEqual([
    { cluster: "east", hop: "published", direction: "join", ageMs: 1_000 },
  ]);
});

test("what is never shown is abandoned in the end", () => {
  const seen = new Observed([pod, published]);
  seen.say(0, pod, "join");
  seen.advance(abandonAfterMs);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "21600000: abandoned: +10.0.0.1 shop/web  pod 0 · published never shown · routed ? (abandoned)",
    ]
  `);
});

test("a replica that is gone is no longer waited for", () => {
  const seen = new Observed([pod, replica("r1")]);
  seen.baseline(pod, replica("r1"));
  seen.say(1_000, pod, "leave");
  seen.journeys.unfollow(replica("r1"), web);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed ?",
    ]
  `);
});

test("beyond the bound of pending journeys the oldest goes, and its end says so", () => {
  const seen = new Observed([pod, published], { pendingMax: 2 });
  for (const uid of ["a", "b", "c"]) seen.say(1, pod, "join", { uid, address: `10.0.0.${uid}` });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1: dropped: +10.0.0.a shop/web  pod 0 · published never shown · routed ? (dropped)",
    ]
  `);
  expect(seen.journeys.pending().map(({ endpoint }) => endpoint.podUid)).toEqual(["b", "c"]);
});

test("beyond the bound of endpoints new ones are counted and not followed", () => {
  const journeys = new Timeline({ onEvent: () => undefined, endpointsMax: 1 });
  journeys.follow(pod, web);
  for (const podUid of ["a", "b"]) {
    journeys.report({
      witness: pod,
      direction: "join",
      at: ms(1),
      endpoint: { ...web, address: "10.0.0.1", port: 8080, podUid },
    });
  }
  expect(journeys.counts).toMatchObject({ opened: 1, dropped: 1 });
});

test("an endpoint that has left everywhere is forgotten and makes room", () => {
  const journeys = new Timeline({ onEvent: () => undefined, endpointsMax: 1 });
  journeys.follow(pod, web);
  for (const podUid of ["a", "b"]) {
    for (const direction of ["join", "leave"] as const) {
      const endpoint = { ...web, address: "10.0.0.1", port: 8080, podUid };
      journeys.report({ witness: pod, direction, at: ms(1), endpoint });
    }
  }
  expect(journeys.counts).toMatchObject({ opened: 4, dropped: 0 });
});

test.each<[Hop, Witness]>([
  ["pod", pod],
  ["published", published],
])("a repeated %s report is counted and changes nothing", (_hop, witness) => {
  const seen = new Observed([pod, published]);
  seen.say(1, pod, "join");
  seen.say(2, published, "join");
  seen.say(3, witness, "join");
  expect(seen.journeys.counts).toMatchObject({ opened: 1, shown: 1, repeated: 1 });
  expect(seen.over).toHaveLength(1);
});

describe("a disagreement that was there when the observation began", () => {
  test("a dead address that is listed is a leave in flight, stuck where it is listed", () => {
    const seen = new Observed([pod, published, replica("r1")]);
    seen.baseline(published, replica("r1"));
    seen.advance(settleMs - 1);
    expect(seen.journeys.pending()).toEqual([]);
    seen.advance(settleMs);
    expect(seen.journeys.pending().map(({ origin }) => origin)).toEqual([
      { at: 0, notBefore: undefined, beforeStart: true },
    ]);
    seen.advance(30_000);
    seen.say(45_000, published, "leave");
    seen.say(46_000, replica("r1"), "leave");
    expect(seen.events).toMatchInlineSnapshot(`
      [
        "10000: found: −10.0.0.1 shop/web  pod unchanged · published ≥10 s… · routed ≥10 s…",
        "30000: stuck published: −10.0.0.1 shop/web  pod unchanged · published stuck ≥30 s… · routed ≥30 s…",
        "30000: stuck routed: −10.0.0.1 shop/web  pod unchanged · published stuck ≥30 s… · routed stuck ≥30 s…",
        "45000: shown published: −10.0.0.1 shop/web  pod unchanged · published ≥45 s · routed stuck ≥45 s…",
        "46000: shown routed: −10.0.0.1 shop/web  pod unchanged · published ≥45 s · routed ≥46 s",
        "46000: complete: −10.0.0.1 shop/web  pod unchanged · published ≥45 s · routed ≥46 s",
      ]
    `);
    expect(seen.lastOver?.hops.map(({ state }) => state)).toEqual([
      { type: "unchanged" },
      { type: "shown", lagMs: 45_000, range: { minMs: 45_000, maxMs: undefined } },
      { type: "shown", lagMs: 46_000, range: { minMs: 46_000, maxMs: undefined } },
    ]);
  });

  test("a ready pod that is not listed is a join in flight, once the pod watch follows the service", () => {
    const seen = new Observed([published]);
    seen.say(0, pod, "join", { baseline: true });
    seen.say(0, replica("r1"), "join", { baseline: true, address: "10.0.0.2", uid: "b" });
    seen.advance(60_000);
    expect(seen.journeys.pending()).toEqual([]);
    seen.journeys.follow(pod, web);
    seen.advance(60_000 + settleMs);
    expect(
      seen.journeys.pending().map(({ endpoint, direction }) => [endpoint.podUid, direction]),
    ).toEqual([["a", "join"]]);
  });

  test("a replica whose first list is behind a change in flight has yet to show it", () => {
    const seen = new Observed([pod, published]);
    seen.baseline(pod, published);
    seen.say(1_000, pod, "leave");
    seen.journeys.follow(replica("r2"), web);
    expect(seen.inFlight).toEqual(["leave a 1000: pod shown, published pending, r2 unchanged"]);
    seen.say(1_500, replica("r2"), "join", { baseline: true });
    expect(seen.inFlight).toEqual(["leave a 1000: pod shown, published pending, r2 pending"]);
    seen.say(1_600, published, "leave");
    seen.say(4_000, replica("r2"), "leave");
    expect(seen.over).toMatchInlineSnapshot(`
      [
        "4000: complete: −10.0.0.1 shop/web  pod 0 · published 600 ms · routed 3 s",
      ]
    `);
  });

  test("a replica that is new may be the first to show a change", () => {
    const seen = new Observed([published, synced]);
    seen.baseline(published, synced);
    seen.say(1_000, published, "leave");
    seen.journeys.follow(replica("r2"), web);
    seen.say(1_000 + settleMs, replica("r2"), "join");
    seen.say(1_001 + settleMs, published, "join");
    expect(seen.journeys.pending().at(-1)?.origin.at).toBe(1_000 + settleMs);
  });

  test("that is corrected while it is watched ends exactly, and began before the start", () => {
    const seen = new Observed([pod, published]);
    seen.baseline(pod);
    seen.say(1_000, published, "join");
    expect(seen.over).toEqual([
      "1000: complete: +10.0.0.1 shop/web  pod unchanged · published ≥1 s · routed ?",
    ]);
    expect(seen.lastOver?.origin).toEqual({ at: 0, notBefore: undefined, beforeStart: true });
    expect(seen.journeys.counts).toMatchObject({ baseline: 1, opened: 0, shown: 1 });
  });

  test("is in flight as soon as the watermark of the reference has passed the first lists", () => {
    const seen = new Observed([pod, published, replica("r1")]);
    seen.watermarks = { pod: 500 };
    for (const witness of [published, replica("r1")]) {
      seen.say(500, witness, "join", { baseline: true });
    }
    seen.advance(60_000);
    expect(seen.inFlight).toEqual([]);
    seen.watermarks = { pod: 501 };
    seen.advance(61_000);
    expect(seen.inFlight).toEqual(["leave a before 500: pod unchanged, published stuck, r1 stuck"]);
    expect(seen.journeys.oldestPending(ms(61_000))).toEqual([
      { cluster: "east", hop: "published", direction: "leave", ageMs: 60_500 },
      { cluster: "east", hop: "routed", direction: "leave", ageMs: 60_500 },
    ]);
  });

  test("is none where the first lists agree", () => {
    const seen = new Observed([pod, published, replica("r1")]);
    seen.watermarks = { pod: 1 };
    seen.baseline(pod, published, replica("r1"));
    seen.advance(60_000);
    expect([seen.inFlight, seen.events]).toEqual([[], []]);
  });

  test("is of the witnesses that disagree only, and of no other pod", () => {
    const seen = new Observed([pod, published, replica("r1"), replica("r2")]);
    seen.baseline(pod, published, replica("r1"));
    for (const witness of [pod, published, replica("r1"), replica("r2")]) {
      seen.say(0, witness, "join", { baseline: true, uid: "b", address: "10.0.0.2" });
    }
    seen.advance(settleMs);
    expect(seen.inFlight).toEqual([
      "join a before 0: pod unchanged, published unchanged, r1 unchanged, r2 pending",
    ]);
  });

  test("of a replica that begins behind a change that is over is in flight again", () => {
    const seen = new Observed([pod, published]);
    seen.baseline(pod, published);
    for (const witness of [pod, published]) seen.say(1_000, witness, "leave");
    expect(seen.over).toHaveLength(1);
    seen.journeys.follow(replica("r2"), web);
    seen.say(30_000, replica("r2"), "join", { baseline: true });
    seen.advance(30_000 + settleMs);
    expect(seen.inFlight).toEqual([
      "leave a before 30000: pod unchanged, published unchanged, r2 pending",
    ]);
    seen.say(45_000, replica("r2"), "leave");
    expect(seen.over.at(-1)).toMatchInlineSnapshot(
      `"45000: complete: −10.0.0.1 shop/web  pod unchanged · published unchanged · routed ≥15 s"`,
    );
    seen.advance(45_000 + settleMs);
    expect(seen.journeys.size).toBe(0);
  });

  test("is none of a replica that is lost, and is one when it is found again, since the change", () => {
    const seen = new Observed([pod, replica("r1")]);
    seen.baseline(pod, replica("r1"));
    seen.journeys.unfollow(replica("r1"), web);
    seen.say(1_000, pod, "leave");
    expect(seen.over).toHaveLength(1);
    seen.journeys.follow(published, web);
    seen.advance(1_000 + settleMs);
    expect([seen.over.length, seen.inFlight]).toEqual([1, []]);
    seen.journeys.follow(replica("r1"), web);
    seen.advance(1_000 + 2 * settleMs);
    expect(seen.inFlight).toEqual([
      "leave a before 1000: pod unchanged, published unchanged, r1 pending",
    ]);
  });

  test("ends when the reference comes to agree with the witness", () => {
    const seen = new Observed([pod, published]);
    seen.baseline(published);
    seen.advance(settleMs);
    expect(seen.inFlight).toEqual(["leave a before 0: pod unchanged, published pending"]);
    seen.say(20_000, pod, "join");
    seen.advance(20_000 + settleMs);
    expect(seen.inFlight).toEqual([]);
    expect(seen.over).toMatchInlineSnapshot(`
      [
        "20000: superseded: −10.0.0.1 shop/web  pod unchanged · published passed · routed ? (superseded)",
        "20000: complete: +10.0.0.1 shop/web  pod 0 · published unchanged · routed ?",
      ]
    `);
  });
});

describe("a replica that deviates alone", () => {
  function deviated(): Observed {
    const seen = new Observed([pod, published, replica("r1")]);
    seen.watermarks = { pod: 4_000 };
    seen.baseline(pod, published, replica("r1"));
    seen.advance(4_000);
    seen.say(5_000, replica("r1"), "leave");
    return seen;
  }

  test("for good has a change in flight since its step, once the watermark has passed", () => {
    const seen = deviated();
    seen.watermarks = { pod: 5_000 };
    seen.advance(40_000);
    expect(seen.inFlight).toEqual([]);
    seen.watermarks = { pod: 5_001 };
    seen.advance(41_000);
    expect(seen.inFlight).toEqual([
      "join a before 5000: pod unchanged, published unchanged, r1 stuck",
    ]);
    seen.say(60_000, replica("r1"), "join");
    expect(seen.over).toMatchInlineSnapshot(`
      [
        "60000: complete: +10.0.0.1 shop/web  pod unchanged · published unchanged · routed ≥55 s",
      ]
    `);
    expect(seen.inFlight).toEqual([]);
  });

  test("is matched to the pod's change if that is reported before the watermark has passed", () => {
    const seen = deviated();
    seen.say(5_300, pod, "leave");
    seen.say(5_400, published, "leave");
    expect(seen.over).toEqual([
      "5400: complete: −10.0.0.1 shop/web  pod 300 ms · published 400 ms · routed before pod",
    ]);
  });

  test("has found out by itself what the pod shows later, if it has stood by it", () => {
    const seen = deviated();
    seen.watermarks = { pod: 5_200 };
    seen.say(5_300, pod, "leave");
    seen.say(5_400, published, "leave");
    expect(seen.over).toEqual([
      "5400: complete: −10.0.0.1 shop/web  pod 300 ms · published 400 ms · routed before pod",
    ]);
  });

  test("and joins alone, where it never did before, opens nothing but a leave in flight", () => {
    const seen = new Observed([pod, replica("r1")]);
    seen.say(1_000, replica("r1"), "join");
    expect(seen.inFlight).toEqual([]);
    seen.advance(1_000 + settleMs);
    expect(seen.inFlight).toEqual(["leave a before 1000: pod unchanged, r1 pending"]);
    seen.say(20_000, replica("r1"), "leave");
    expect(seen.inFlight).toEqual([]);
    expect(seen.journeys.counts).toMatchObject({ opened: 0, shown: 1 });
  });
});

test("a join is superseded where the pod leaves before a replica shows the join", () => {
  const seen = new Observed([pod, replica("one"), replica("two")]);
  seen.say(0, pod, "join");
  seen.say(5, replica("one"), "join");
  seen.say(900, pod, "leave");
  seen.say(2_000, replica("two"), "join");
  seen.advance(2_001);
  expect(seen.over).toEqual([
    "2001: superseded: +10.0.0.1 shop/web  pod 0 · published ? · routed 5 ms 2 s (superseded)",
  ]);
  expect(seen.inFlight).toEqual(["leave a 900: pod shown, one pending, two pending"]);
});

test("a join is complete though one replica takes it back alone before another shows it", () => {
  const seen = new Observed([pod, replica("one"), replica("two")]);
  seen.say(0, pod, "join");
  seen.say(5, replica("one"), "join");
  seen.say(900, replica("one"), "leave");
  seen.say(2_000, replica("two"), "join");
  seen.say(6_000, replica("one"), "join");
  expect(seen.over).toEqual([
    "2000: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed 5 ms 2 s",
  ]);
});

test("a step that shows a flap's first half long after its end leaves the second half in flight", () => {
  const seen = new Observed([pod, published]);
  seen.watermarks = { pod: 100_000 };
  seen.baseline(pod, published);
  seen.say(75_000, pod, "leave");
  seen.watermarks = { pod: 79_000 };
  seen.say(80_000, pod, "join");
  seen.watermarks = { pod: 84_000 };
  seen.say(85_000, pod, "leave");
  seen.say(76_000, published, "leave");
  seen.advance(95_000);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "76000: superseded: −10.0.0.1 shop/web  pod 0 · published 1 s · routed ? (superseded)",
      "95000: superseded: +10.0.0.1 shop/web  pod 0 · published passed · routed ? (superseded)",
      "95000: complete: −10.0.0.1 shop/web  pod 0 · published unchanged · routed ?",
    ]
  `);
});

describe("a witness that leaves a flap out", () => {
  test("and is ahead of the pod with the next change has shown that one", () => {
    const seen = new Observed([pod, published]);
    seen.say(0, pod, "join");
    seen.say(1_000, pod, "leave");
    seen.advance(1_000 + settleMs);
    seen.say(12_000, published, "join");
    seen.say(12_100, pod, "join");
    seen.say(14_000, pod, "leave");
    seen.say(14_100, published, "leave");
    expect(seen.over.slice(2)).toEqual([
      "12100: complete: +10.0.0.1 shop/web  pod 100 ms · published before pod · routed ?",
      "14100: complete: −10.0.0.1 shop/web  pod 0 · published 100 ms · routed ?",
    ]);
  });

  test("and reports it late from a list opens nothing, and shows what it reports next", () => {
    const seen = new Observed([pod, synced]);
    seen.baseline(pod, synced);
    seen.say(10_000, pod, "leave");
    seen.say(11_000, pod, "join");
    seen.advance(11_000 + settleMs);
    expect(seen.over).toHaveLength(2);
    seen.watermarks = { synced: 5_000 };
    seen.say(58_000, pod, "leave");
    for (const direction of ["leave", "join"] as const) {
      seen.say(60_000, synced, direction, { notBefore: ms(5_000) });
    }
    seen.say(62_000, synced, "leave");
    seen.watermarks = { synced: 61_000 };
    seen.advance(63_000);
    expect(seen.over.slice(2)).toEqual([
      "63000: complete: −10.0.0.1 shop/web  pod 0 · published ? · synced 4 s · routed ?",
    ]);
  });
});

describe("a service that no cluster is known to have", () => {
  test("has the changes that a proxy shows, and nothing else is waited for", () => {
    const seen = new Observed([replica("r1")]);
    seen.say(0, replica("r1"), "join");
    expect(seen.over).toEqual(["0: complete: +10.0.0.1 shop/web  pod ? · published ? · routed ≥0"]);
  });

  test("and turns up in a cluster a moment later has one join and not two", () => {
    const seen = new Observed([replica("r1")]);
    seen.say(0, replica("r1"), "join");
    seen.journeys.follow(pod, web);
    seen.say(50, pod, "join");
    seen.advance(60_000);
    expect(seen.journeys.counts).toMatchObject({ opened: 1, shown: 1 });
    expect(seen.over).toHaveLength(1);
    seen.say(70_000, pod, "leave");
    seen.say(70_100, replica("r1"), "leave");
    expect(seen.over.at(-1)).toBe(
      "70100: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 100 ms",
    );
  });
});

describe("a service that is deleted", () => {
  function deleted(): Observed {
    const all = [pod, published, synced, replica("r1")];
    const seen = new Observed(all);
    seen.baseline(...all);
    for (const witness of [pod, published]) {
      seen.say(1_000, witness, "leave");
      seen.journeys.unfollow(witness, { ...web, isGone: true });
    }
    return seen;
  }

  test("is in flight as long as copies and replicas stay behind", () => {
    const seen = deleted();
    expect(seen.journeys.isService(web.service)).toBe(false);
    seen.say(2_000, replica("r1"), "leave");
    seen.advance(31_000);
    expect(seen.inFlight).toMatchInlineSnapshot(`
      [
        "leave a 1000: pod shown, published shown, synced stuck, r1 shown",
      ]
    `);
    seen.say(50_000, synced, "leave");
    expect(seen.over).toMatchInlineSnapshot(`
      [
        "50000: complete: −10.0.0.1 shop/web  pod 0 · published 0 · synced 49 s · routed 1 s",
      ]
    `);
    expect(seen.journeys.hasEndpoints(web)).toBe(false);
  });

  test("has no changes of its own that only copies make", () => {
    const seen = deleted();
    for (const witness of [synced, replica("r1")]) seen.say(2_000, witness, "leave");
    expect(seen.over).toHaveLength(1);
    expect(seen.journeys.counts).toMatchObject({ opened: 1 });
  });

  test("has none that a replica makes which knows neither pods nor clusters", () => {
    const seen = new Observed([pod]);
    const anonymous = { uid: undefined, cluster: undefined };
    seen.journeys.follow(replica("stock"), { ...web, cluster: undefined });
    seen.baseline(pod);
    seen.say(0, replica("stock"), "join", { ...anonymous, baseline: true });
    seen.say(1_000, pod, "leave");
    seen.journeys.unfollow(pod, { ...web, isGone: true });
    for (const [at, direction] of [
      [2_000, "leave"],
      [3_000, "join"],
      [4_000, "leave"],
    ] as const) {
      seen.say(at, replica("stock"), direction, anonymous);
    }
    seen.advance(4_000 + settleMs);
    expect([seen.over.length, seen.inFlight]).toEqual([1, []]);
    expect(seen.journeys.counts).toMatchObject({ opened: 1 });
  });
});

describe("a replica that is gone for good", () => {
  test("has shown what its unclear steps most likely show", () => {
    const seen = new Observed([pod, replica("r1")]);
    seen.baseline(pod, replica("r1"));
    seen.say(1_000, pod, "leave");
    seen.say(1_100, pod, "join");
    seen.say(1_200, pod, "leave");
    seen.say(3_000, replica("r1"), "leave");
    expect(seen.over).toEqual([]);
    seen.journeys.unfollow(replica("r1"), { ...web, forGood: true });
    expect(seen.over).toMatchInlineSnapshot(`
      [
        "3000: superseded: −10.0.0.1 shop/web  pod 0 · published ? · routed ? (superseded)",
        "3000: superseded: +10.0.0.1 shop/web  pod 0 · published ? · routed ? (superseded)",
        "3000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 1.8 s",
      ]
    `);
  });

  test("keeps no endpoint, and what it alone has shown is no change", () => {
    const seen = new Observed([pod, replica("one"), replica("two")]);
    seen.say(0, replica("one"), "join");
    seen.journeys.unfollow(replica("one"), { ...web, forGood: true });
    seen.advance(60_000);
    expect([seen.events, seen.inFlight]).toEqual([[], []]);
    expect(seen.journeys.size).toBe(0);
  });

  test("is not waited for, but the others are", () => {
    const seen = new Observed([pod, replica("one"), replica("two")]);
    seen.say(0, replica("one"), "join");
    seen.say(5, replica("two"), "join");
    seen.journeys.unfollow(replica("one"), { ...web, forGood: true });
    seen.say(30, pod, "join");
    expect(seen.over).toEqual([
      "30: complete: +10.0.0.1 shop/web  pod 25 ms · published ? · routed before pod",
    ]);
  });
});

describe("endpoints that only proxies name", () => {
  const stock = replica("stock");
  const byAddress = { cluster: undefined, uid: undefined } as const;
  const known = (index: number) => ({ uid: `uid-${index}`, address: `10.0.0.${index}` });
  const stranger = (index: number) => ({ ...byAddress, address: `192.0.2.${index}` });

  function bounded(limits: {
    readonly endpointsMax: number;
    readonly pendingMax: number;
  }): Observed {
    const seen = new Observed([pod], limits);
    seen.journeys.follow(stock, { ...web, cluster: undefined });
    return seen;
  }

  const listed = { baseline: true } as const;

  test("take half the room and give it up to those of a cluster", () => {
    const seen = bounded({ endpointsMax: 10, pendingMax: 100 });
    for (let index = 1; index <= 200; index += 1) {
      seen.say(0, stock, "join", { ...stranger(index), ...listed });
    }
    expect(seen.journeys.counts).toMatchObject({ baseline: 5, dropped: 195, dismissed: 0 });
    for (let index = 1; index <= 10; index += 1) {
      seen.say(0, pod, "join", { ...known(index), ...listed });
    }
    expect(seen.journeys.counts).toMatchObject({ baseline: 15, dropped: 195, dismissed: 5 });
    seen.say(0, pod, "join", { ...known(11), ...listed });
    expect(seen.journeys.counts).toMatchObject({ dropped: 196, dismissed: 5 });
  });

  test("are in flight where they are dead, in half of what may be in flight", () => {
    const seen = bounded({ endpointsMax: 100, pendingMax: 8 });
    for (let index = 1; index <= 20; index += 1) {
      seen.say(0, stock, "join", { ...stranger(index), ...listed });
    }
    for (let index = 1; index <= 4; index += 1) {
      seen.say(0, pod, "join", { ...known(index), ...listed });
      seen.say(0, stock, "join", { ...known(index), ...byAddress, ...listed });
    }
    seen.advance(20_000);
    const addresses = seen.journeys.pending().map(({ endpoint }) => endpoint.address);
    expect(addresses).toEqual([1, 2, 3, 4].map((index) => stranger(index).address));
    expect(seen.journeys.counts).toMatchObject({ dropped: 0, dismissed: 16 });
    for (let index = 1; index <= 4; index += 1) seen.say(21_000, pod, "leave", known(index));
    expect(seen.journeys.pending()).toHaveLength(8);
    expect(seen.over).toEqual([]);
  });

  test("are no strangers any more when a cluster comes to know them", () => {
    const seen = bounded({ endpointsMax: 8, pendingMax: 100 });
    for (const index of [1, 2]) {
      seen.say(0, stock, "join", { ...known(index), ...byAddress, ...listed });
      seen.say(0, pod, "join", { ...known(index), ...listed });
    }
    for (const index of [3]) {
      seen.say(0, pod, "join", { ...known(index), ...listed });
      seen.say(0, stock, "join", { ...known(index), ...byAddress, ...listed });
    }
    for (const index of [1, 2, 3]) seen.say(0, stock, "join", { ...stranger(index), ...listed });
    expect(seen.journeys.counts).toMatchObject({ baseline: 8, dropped: 1, dismissed: 0 });
  });
});

describe("what is kept", () => {
  test("is nothing of pods that came and went", () => {
    const seen = new Observed([pod, published, replica("r1")]);
    seen.journeys.follow(replica("stock"), { ...web, cluster: undefined });
    for (let index = 0; index < 200; index += 1) {
      const one = { uid: `uid-${index}`, address: `10.0.${index % 7}.${index}` };
      const byAddress = { address: one.address, uid: undefined, cluster: undefined };
      for (const [offset, direction] of [
        [0, "join"],
        [500, "leave"],
      ] as const) {
        const at = index * 1_000 + offset;
        seen.say(at, pod, direction, one);
        seen.say(at + 1, published, direction, one);
        seen.say(at + 2, replica("r1"), direction, one);
        seen.say(at + 3, replica("stock"), direction, byAddress);
      }
      seen.advance(index * 1_000 + 900);
    }
    expect(seen.over).toHaveLength(400);
    seen.advance(300_000);
    expect(seen.journeys.size).toBe(0);
    expect(seen.journeys.hasEndpoints(web)).toBe(false);
  });

  test("are at most so many pods that are gone and that some replica still lists", () => {
    const seen = new Observed([pod]);
    seen.journeys.follow(replica("r1"), web);
    seen.journeys.unfollow(replica("r1"), web);
    for (let index = 0; index < goneMax + 10; index += 1) {
      const one = { uid: `uid-${index}`, address: `10.0.0.${index}` };
      seen.say(index, pod, "join", one);
      seen.say(index, replica("r1"), "join", one);
      seen.say(index, pod, "leave", one);
    }
    for (const later of [1, 2]) seen.advance(goneMax + 20 + settleMs + later);
    expect(seen.journeys.size).toBe(goneMax);
  });

  test("gives way to new pods where it is of pods that are gone", () => {
    const seen = new Observed([pod], { endpointsMax: 2 });
    for (const [index, uid] of ["a", "b", "c", "d"].entries()) {
      const at = index * 2 * settleMs;
      seen.say(at, pod, "join", { uid });
      seen.say(at, replica("r1"), "join", { uid });
      seen.say(at, pod, "leave", { uid });
      seen.advance(at + settleMs);
    }
    expect(seen.journeys.counts).toMatchObject({ opened: 8, dropped: 0, dismissed: 0 });
    expect(seen.journeys.size).toBe(2);
  });

  test("are at most so many flaps of one pod, the newest", () => {
    const seen = new Observed([pod, published]);
    seen.baseline(pod, published);
    for (let index = 0; index < keptMax + 4; index += 1) {
      seen.say(1_000 + index, pod, index % 2 === 0 ? "leave" : "join");
    }
    expect(seen.journeys.pending()).toHaveLength(keptMax);
    expect(seen.over).toHaveLength(4);
    expect(seen.over[0]).toBe(
      "1032: dropped: −10.0.0.1 shop/web  pod 0 · published never shown · routed ? (dropped)",
    );
    seen.advance(1_000 + keptMax + 4 + settleMs);
    expect(seen.inFlight).toEqual([]);
  });
});

describe("the pod's name and cluster", () => {
  test("are learnt from the witness that knows them", () => {
    const seen = new Observed([pod]);
    seen.say(1_000, replica("r1"), "join", { cluster: undefined });
    seen.say(1_010, pod, "join");
    expect(seen.lastOver?.endpoint).toMatchObject({ cluster: "east", podUid: "a" });
  });

  test("say where a copy's pod is", () => {
    const seen = new Observed([pod]);
    seen.baseline(pod);
    const at = { ...web, address: "10.0.0.1", port: 8080, podUid: "a" };
    expect(seen.journeys.locate({ ...at, address: "192.0.2.9" })).toEqual(at);
    seen.say(0, replica("r1"), "join", { uid: "x", address: "10.9.9.9", baseline: true });
    const other = { ...at, address: "10.9.9.9", podUid: "x" };
    expect(seen.journeys.locate(other)).toBeUndefined();
    expect(seen.journeys.hasEndpoints(web)).toBe(true);
    expect(seen.journeys.hasEndpoints({ ...web, cluster: "west" })).toBe(false);
  });
});

test("a controller that is ahead of the pod watch through a whole flap gives two journeys, not four", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, published, "leave");
  seen.say(2_000, published, "join");
  seen.say(3_000, pod, "leave");
  seen.say(3_001, pod, "join");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "3001: superseded: −10.0.0.1 shop/web  pod 2 s · published before pod · routed ? (superseded)",
      "3001: complete: +10.0.0.1 shop/web  pod 1 s · published before pod · routed ?",
    ]
  `);
});

test("an endpoint that flaps for days keeps only what is current", () => {
  const seen = new Observed([pod, published]);
  for (let round = 0; round < 50; round += 1) {
    for (const [offset, direction] of [
      [0, "join"],
      [100, "leave"],
    ] as const) {
      seen.say(round * 1_000 + offset, pod, direction);
      seen.say(round * 1_000 + offset + 1, published, direction);
    }
  }
  expect(seen.over).toHaveLength(100);
  expect(new Set(seen.over.map((line) => line.replace(/^\d+: /, "").replace(/[+−]/, "")))).toEqual(
    new Set(["complete: 10.0.0.1 shop/web  pod 0 · published 1 ms · routed ?"]),
  );
});

test("one that begins to be observed after many changes shows the current one", () => {
  const seen = new Observed([pod, published]);
  seen.say(1_000, pod, "join");
  seen.say(1_001, published, "join");
  seen.say(2_000, pod, "leave");
  seen.say(3_000, pod, "join");
  seen.journeys.follow(replica("r1"), web);
  seen.say(3_500, replica("r1"), "join");
  seen.advance(3_000 + settleMs);
  expect(seen.over.at(-1)).toBe(
    "13000: complete: +10.0.0.1 shop/web  pod 0 · published unchanged · routed 500 ms",
  );
});

test("of two that show it at the same instant the one who saw it happen makes the origin", () => {
  const seen = new Observed([pod, published]);
  seen.say(5_000, pod, "join", { notBefore: ms(1_000) });
  seen.say(5_000, published, "join");
  expect(seen.lastOver?.origin).toEqual({ at: 5_000, notBefore: undefined });
});

test("a replica that says which ports it shows is not waited for at others", () => {
  const seen = new Observed([pod]);
  seen.journeys.follow(replica("r1"), { ...web, ports: [8080] });
  seen.say(1_000, pod, "join", { port: 9090 });
  expect(seen.over).toEqual(["1000: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed ?"]);
});

test("a replica is not waited for at ports that it turns out not to route to", () => {
  const seen = new Observed([pod, replica("r1")]);
  seen.say(1_000, pod, "join");
  seen.say(1_000, pod, "join", { port: 9090 });
  seen.advance(1_010);
  seen.journeys.follow(replica("r1"), { ...web, ports: [8080] });
  seen.say(1_010, replica("r1"), "join");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1010: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed ?",
      "1010: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed 10 ms",
    ]
  `);
  seen.say(5_000, pod, "leave", { port: 9090 });
  seen.say(5_000, pod, "leave");
  expect(seen.journeys.pending().map(({ endpoint }) => endpoint.port)).toEqual([8080]);
});

test("a hop that is learnt from a list has a lag that is an upper bound", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(10_000, pod, "leave");
  seen.say(70_000, published, "leave", { notBefore: ms(12_000) });
  expect(seen.lastOver?.hops.map(({ state }) => state)).toEqual([
    { type: "shown", lagMs: 0 },
    { type: "shown", lagMs: 60_000, range: { minMs: 2_000, maxMs: 60_000 } },
  ]);
});

test("the cluster's own time stands beside the origin, with the difference of the clocks taken out", () => {
  const over: Journey[] = [];
  const anchor = { wallMs: 1_000_000 as WallMs, monotonicMs: ms(0) };
  const journeys = new Timeline({
    anchor,
    onEvent: (event) => event.type === "over" && over.push(event.journey),
  });
  journeys.follow(pod, web);
  // The cluster's clock is a minute ahead of ours; the last change arrives four seconds late.
  for (const [index, lateMs] of [0, 0, 0, 4_000].entries()) {
    const endpoint = { ...web, address: `10.0.0.${index}`, port: 8080, podUid: `${index}` };
    const at = ms(index * 10_000 + lateMs);
    const clusterStamp = { at: (1_060_000 + index * 10_000) as WallMs, by: "n1" };
    journeys.report({ witness: pod, direction: "join", endpoint, at, clusterStamp });
  }
  expect(journeys.clockSkew("east")).toEqual({ lowMs: -61_000, highMs: -60_000 });
  expect(over.map(({ clusterTime }) => clusterTime)).toEqual([
    { at: 1_060_000 },
    { at: 1_070_000 },
    { at: 1_080_000, beforeOriginMs: { minMs: 0, maxMs: 1_000 } },
    { at: 1_090_000, beforeOriginMs: { minMs: 3_000, maxMs: 5_000 } },
  ]);
  expect(journeys.clockSkew("west")).toBeUndefined();
});
