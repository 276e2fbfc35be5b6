import { beforeEach, describe, expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { aheadMs, keptMs, settleMs } from "./journey-limits.ts";
import { Journeys } from "./journeys.ts";
import type { Direction, Hop, Witness } from "./witness.ts";

const web = { cluster: "east", service: "shop/web" };
const pod: Witness = { hop: "pod", name: "east" };
const published: Witness = { hop: "published", name: "east" };
const endpoint = { ...web, address: "10.0.0.1", port: 80, podUid: "a" };
const copies: Witness = { hop: "synced", name: "access" };
const replica: Witness = { hop: "routed", name: "r1" };

let journeys: Journeys;
let over: string[];
let heldSince: MonotonicMs | undefined;
/** By the name of the hop; nobody can say where none is given. */
let provedAt: Partial<Record<Hop, number>>;

beforeEach(() => {
  over = [];
  heldSince = undefined;
  provedAt = {};
  journeys = new Journeys({
    heldSince: () => heldSince,
    provedAt: ({ hop }) => provedAt[hop] as MonotonicMs | undefined,
    onEvent: ({ type, journey: { direction, outcome, hops, origin } }) => {
      const states = hops.map(({ hop, state }) => `${hop} ${state.type}`);
      if (type === "over") over.push(`${direction} ${origin.at} ${outcome}: ${states.join(", ")}`);
    },
  });
});

function say(
  atMs: number,
  witness: Witness,
  direction: Direction,
  { since }: { readonly since?: number } = {},
): void {
  const at = atMs as MonotonicMs;
  const late = since === undefined ? {} : { notBefore: since as MonotonicMs };
  journeys.report({ witness, endpoint, direction, at, ...late });
}

function pass(toMs: number): void {
  journeys.advance(toMs as MonotonicMs);
}

/** The pod joined, and flaps at each of these instants for a second, of which the copies say nothing. */
function flap(...atMs: readonly number[]): void {
  for (const witness of [pod, copies]) journeys.follow(witness, web);
  for (const witness of [pod, copies]) say(0, witness, "join");
  for (const at of atMs) {
    say(at, pod, "leave");
    say(at + 1_000, pod, "join");
    pass(at + 1_000 + settleMs);
  }
  over = [];
}

test("who left a flap out and is ahead of the pod with the next change has shown that one", () => {
  for (const witness of [pod, published]) journeys.follow(witness, web);
  say(0, pod, "join");
  say(1_000, pod, "leave");
  pass(1_000 + settleMs);
  say(12_000, published, "join");
  say(12_100, pod, "join");
  say(14_000, pod, "leave");
  say(14_100, published, "leave");
  expect(over.slice(2)).toEqual([
    "join 12000 complete: pod shown, published shown",
    "leave 14000 complete: pod shown, published shown",
  ]);
});

test("of a service that is new a proxy may tell first, and the cluster a moment later", () => {
  journeys.follow(replica, web);
  say(0, replica, "join");
  journeys.follow(pod, web);
  say(50, pod, "join");
  expect(over).toEqual(["join 0 complete: pod shown, routed shown"]);
});

test("of a service that only a proxy tells of nobody else is waited for", () => {
  journeys.follow(replica, web);
  say(0, replica, "join");
  pass(aheadMs - 1);
  expect(over).toEqual([]);
  pass(aheadMs);
  expect(over).toEqual(["join 0 complete: routed shown"]);
});

describe("who was cut off", () => {
  test("tells of changes that are over, and nothing is made of that", () => {
    flap(10_000, 30_000);
    for (const direction of ["leave", "join", "leave", "join"] as const) {
      say(60_000, copies, direction, { since: 5_000 });
    }
    expect(journeys.pending()).toEqual([]);
    expect(over).toEqual([]);
    expect(journeys.counts).toMatchObject({ opened: 5, matched: 5 });
  });

  test("tells of them and then of what is under way", () => {
    flap(10_000);
    say(58_000, pod, "leave");
    for (const direction of ["leave", "join"] as const) {
      say(60_000, copies, direction, { since: 5_000 });
    }
    say(62_000, copies, "leave");
    expect(over).toEqual(["leave 58000 complete: pod shown, synced shown"]);
  });

  test("is not taken to tell of what it had left out long before, while it was heard", () => {
    flap(10_000);
    say(60_000, copies, "leave", { since: 11_000 + settleMs });
    say(60_500, pod, "leave", { since: 59_000 });
    expect(over).toEqual(["leave 60000 complete: pod shown, synced shown"]);
  });

  test("or tells of what comes next, where it may have left a flap out by then", () => {
    for (const witness of [pod, replica]) journeys.follow(witness, web);
    say(0, pod, "join");
    say(1_000, pod, "leave");
    // Between being asked twice the replica had its while to show the flap.
    say(1_500 + settleMs, replica, "join", { since: 900 + settleMs });
    say(1_600 + settleMs, pod, "join");
    say(40_000, pod, "leave");
    say(40_300, replica, "leave");
    pass(40_300 + settleMs);
    expect(over).toEqual([
      "join 0 superseded: pod shown, routed passed",
      "leave 1000 superseded: pod shown, routed passed",
      "join 11500 superseded: pod shown, routed shown",
      "leave 40000 complete: pod shown, routed shown",
    ]);
  });

  test("tells of what had begun, and not of what began long after it was told", () => {
    flap(10_000, 30_000);
    provedAt = { synced: 5_000 };
    for (const direction of ["leave", "join"] as const) {
      say(60_000, copies, direction, { since: 5_000 });
    }
    say(75_000, pod, "leave");
    say(76_000, copies, "leave");
    for (const at of [80_000, 85_000]) say(at, pod, at === 80_000 ? "join" : "leave");
    provedAt = { synced: 95_000 };
    pass(95_000);
    expect(over).toEqual([
      "leave 75000 superseded: pod shown, synced shown",
      "join 80000 superseded: pod shown, synced passed",
      "leave 85000 complete: pod shown, synced unchanged",
    ]);
  });

  test("may also have left it out: what it then tells by itself is of what comes next", () => {
    flap(10_000);
    say(60_000, copies, "leave", { since: 5_000 });
    say(60_001, pod, "leave");
    say(65_000, pod, "join");
    say(66_000, copies, "join");
    pass(66_000 + settleMs);
    expect(over).toEqual([
      "leave 60000 superseded: pod shown, synced shown",
      "join 65000 complete: pod shown, synced shown",
    ]);
  });

  test("tells in time again what nobody else has told, though it is open what it told before", () => {
    for (const witness of [pod, copies]) journeys.follow(witness, web);
    for (const at of [0, 10_000, 12_000]) say(at, copies, at === 10_000 ? "leave" : "join");
    pass(30_000);
    say(40_000, pod, "join", { since: -1_000 });
    say(60_000, pod, "leave");
    expect(journeys.pending().map(({ direction, origin }) => [direction, origin.at])).toEqual([
      ["leave", 60_000],
    ]);
  });

  test("is right about its own pods, whether anybody else shows it or not", () => {
    flap();
    for (const at of [10_000, 11_000]) say(at, copies, at === 10_000 ? "leave" : "join");
    pass(30_000);
    over = [];
    say(60_000, pod, "leave", { since: 5_000 });
    expect(journeys.pending()).toEqual([]);
    pass(60_000 + settleMs);
    expect(journeys.pending().map(({ direction, origin }) => ({ direction, origin }))).toEqual([
      { direction: "leave", origin: { at: 60_000, notBefore: 5_000 } },
    ]);
    say(80_000, copies, "leave");
    expect(over).toEqual(["leave 60000 complete: pod shown, synced shown"]);
  });

  test("is said to have missed what is over, where it has said nothing of the endpoint yet", () => {
    journeys.follow(copies, web);
    say(0, copies, "join");
    pass(aheadMs);
    const word = { witness: published, endpoint, direction: "join", at: 9_000 as MonotonicMs };
    expect(journeys.missedSince({ ...word, direction: "join" })).toBe(0);
    expect(journeys.missedSince({ ...word, witness: replica, direction: "join" })).toBe(undefined);
  });

  test("is said to have missed the rest, as long as it is open what it told", () => {
    flap(10_000, 30_000);
    say(60_000, copies, "leave", { since: 5_000 });
    const word = { witness: copies, endpoint, direction: "join" } as const;
    expect(journeys.missedSince({ ...word, at: 61_000 as MonotonicMs })).toBe(5_000);
  });

  test("may fall silent before it has told all: what it told was then of the first changes", () => {
    flap(10_000, 30_000);
    say(60_000, copies, "leave", { since: 5_000 });
    pass(60_000 + settleMs);
    for (const direction of ["join", "leave", "join"] as const) {
      say(90_000, copies, direction, { since: 5_000 });
    }
    expect(journeys.pending()).toEqual([]);
    expect(over).toEqual([]);
  });

  test("is said to have missed changes, since it was last heard, until it shows something", () => {
    flap(10_000);
    const word = { witness: copies, endpoint, direction: "leave" } as const;
    expect(journeys.missedSince({ ...word, at: 60_000 as MonotonicMs })).toBe(0);
    expect(journeys.missedSince({ ...word, witness: pod, at: 60_000 as MonotonicMs })).toBe(
      undefined,
    );
    expect(journeys.missedSince({ ...word, at: (11_000 + keptMs) as MonotonicMs })).toBe(undefined);
    say(60_000, pod, "leave");
    say(61_000, copies, "leave");
    expect(journeys.missedSince({ ...word, at: 62_000 as MonotonicMs })).toBe(undefined);
  });
});

describe("a while of silence", () => {
  test("is over when something is said, also if that is held back", () => {
    flap(10_000);
    say(30_000, pod, "leave");
    say(31_000, pod, "join");
    heldSince = 40_000 as MonotonicMs;
    pass(31_000 + settleMs);
    heldSince = undefined;
    say(40_000, copies, "leave");
    say(42_000, copies, "join");
    expect(over).toEqual([
      "leave 30000 superseded: pod shown, synced shown",
      "join 31000 complete: pod shown, synced shown",
    ]);
  });

  test("has passed for whoever is asked after it, before anything else is told", () => {
    flap();
    say(10_000, pod, "leave");
    say(11_000, pod, "join");
    const word = { witness: copies, endpoint, direction: "leave" } as const;
    const at = (11_000 + settleMs) as MonotonicMs;
    expect(journeys.missedSince({ ...word, at: (at - 1) as MonotonicMs })).toBe(undefined);
    expect(journeys.missedSince({ ...word, at })).toBe(0);
  });
});

describe("a cluster that was cut off", () => {
  test("tells late of what others show only then, rather than of what was over before", () => {
    journeys.follow(replica, web);
    for (const at of [0, 8_000]) say(at, replica, at === 0 ? "join" : "leave");
    pass(20_000);
    for (const witness of [pod, published]) journeys.follow(witness, web);
    provedAt = { pod: 14_000 };
    say(30_000, pod, "join", { since: 14_000 });
    say(34_000, published, "join");
    say(34_500, replica, "join");
    provedAt = { pod: 50_000 };
    pass(60_000);
    expect(over.slice(2)).toEqual([
      "join 30000 complete: pod shown, published shown, routed shown",
    ]);
  });

  test("may have told the rest, and proved it, in words that are held back", () => {
    journeys.follow(replica, web);
    for (const at of [0, 20_000]) say(at, replica, at === 0 ? "join" : "leave");
    pass(40_000);
    journeys.follow(pod, web);
    provedAt = { pod: 40_000 };
    say(50_000, pod, "join", { since: -1_000 });
    provedAt = { pod: 70_000 };
    heldSince = 75_000 as MonotonicMs;
    pass(76_000);
    heldSince = undefined;
    say(75_000, pod, "leave", { since: 40_000 });
    pass(90_000);
    expect(over).toEqual(["join 0 complete: routed shown", "leave 20000 complete: routed shown"]);
    expect(journeys.pending()).toEqual([]);
  });

  test("is not taken at its word until it is proved that all has been told", () => {
    journeys.follow(replica, { ...web, cluster: undefined });
    say(0, replica, "join");
    pass(1_000);
    provedAt = { published: 0 };
    journeys.follow(published, web);
    pass(1_000 + 3 * settleMs);
    expect(journeys.pending()).toEqual([]);
    provedAt = { published: 30_000 };
    pass(1_000 + 4 * settleMs);
    expect(journeys.pending().map(({ direction, origin }) => ({ direction, origin }))).toEqual([
      { direction: "leave", origin: { at: 1_000, notBefore: undefined, beforeStart: true } },
    ]);
  });

  test("tells later what makes it agree, and nothing is made of how it stood", () => {
    journeys.follow(replica, { ...web, cluster: undefined });
    say(0, replica, "join");
    pass(1_000);
    provedAt = { published: 0 };
    journeys.follow(published, web);
    pass(1_000 + settleMs);
    say(20_000, published, "join", { since: -1_000 });
    provedAt = { published: 30_000 };
    pass(60_000);
    expect(journeys.pending()).toEqual([]);
    expect(journeys.counts).toMatchObject({ opened: 1, matched: 1 });
  });
});

test("a replica that was silent may tell late of a pod that came and went meanwhile", () => {
  const toAll = { ...web, cluster: undefined };
  for (const witness of [pod, published]) journeys.follow(witness, web);
  journeys.follow(replica, toAll);
  journeys.unfollow(replica, toAll);
  for (const direction of ["join", "leave"] as const) {
    for (const witness of [pod, published]) say(1_000, witness, direction);
  }
  journeys.follow(replica, toAll);
  say(5_000, replica, "join", { since: 500 });
  say(5_600, replica, "leave");
  expect(journeys.counts).toMatchObject({ opened: 2 });
  expect(over).toHaveLength(2);
  journeys.unfollow(replica, { ...toAll, forGood: true });
  pass(5_600 + keptMs);
  expect(journeys.hasEndpoints(web)).toBe(false);
});

describe("of an endpoint that came and went", () => {
  /** As a cluster tells that was cut off all the time. */
  function tellAll(atMs: number): void {
    for (const witness of [published, pod]) {
      say(atMs, witness, "join", { since: 0 });
      say(atMs, witness, "leave", { since: 0 });
    }
  }

  function comeAndGo(atMs: number): void {
    say(atMs, copies, "join");
    say(atMs, copies, "leave");
  }

  beforeEach(() => journeys.follow(copies, web));

  test("its cluster tells when it is back, and nothing is made of that", () => {
    comeAndGo(1_000);
    pass(1_000 + aheadMs);
    tellAll(60_000);
    expect(over).toEqual([
      "join 1000 superseded: synced shown",
      "leave 1000 complete: synced shown",
    ]);
    expect(journeys.counts).toMatchObject({ opened: 2, matched: 4 });
  });

  test("nothing is kept when it is too long ago", () => {
    comeAndGo(1_000);
    pass(1_000 + keptMs);
    tellAll(2_000 + keptMs);
    expect(journeys.counts).toMatchObject({ opened: 4, matched: 2 });
  });
});
