import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { journeyLine } from "./format.ts";
import { abandonAfterMs, type JourneyEvent, Journeys, settleMs } from "./journeys.ts";
import type { Direction, Hop, ServiceRef, Witness, WitnessReport } from "./witness.ts";

const web: ServiceRef = { cluster: "east", service: "shop/web" };
const pod: Witness = { hop: "pod", name: "east" };
const published: Witness = { hop: "published", name: "east" };
const synced: Witness = { hop: "synced", name: "access" };
const replica = (name: string): Witness => ({ hop: "routed", name });

const ms = (value: number) => value as MonotonicMs;

type Said = Partial<Omit<WitnessReport, "endpoint">> & {
  readonly uid?: string | undefined;
  readonly address?: string;
};

/** Journeys whose events are kept as lines. */
class Observed {
  readonly events: string[] = [];
  readonly journeys: Journeys;
  now = 0;

  constructor(followers: readonly Witness[], bounds: { readonly pendingMax?: number } = {}) {
    this.journeys = new Journeys({ onEvent: (event) => this.#note(event), ...bounds });
    for (const witness of followers) this.journeys.follow(witness, web);
  }

  say(at: number, witness: Witness, direction: Direction, said: Said = {}): void {
    this.now = at;
    const { uid, address, ...rest } = { uid: "a", address: "10.0.0.1", ...said };
    const endpoint = { ...web, address, port: 8080, podUid: uid };
    this.journeys.report({ witness, direction, at: ms(at), endpoint, ...rest });
  }

  baseline(...witnesses: readonly Witness[]): void {
    for (const witness of witnesses) this.say(0, witness, "join", { baseline: true });
  }

  advance(to: number): void {
    this.now = to;
    this.journeys.advance(ms(to));
  }

  #note(event: JourneyEvent): void {
    const line = journeyLine(event.journey, { now: ms(this.now), width: 200 });
    const what = event.type === "over" ? event.journey.outcome : `${event.type} ${event.hop.hop}`;
    this.events.push(`${this.now}: ${what}: ${line}`);
  }

  get over(): readonly string[] {
    return this.events.filter((event) => !/: (shown|stuck) /.test(event));
  }
}

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

test("a journey keeps its cause, its pod and an origin that is an interval after a relist", () => {
  const over: unknown[] = [];
  const journeys = new Journeys({
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
        { hop: "pod", witness: "east", state: { type: "shown", lagMs: 0 } },
        { hop: "published", witness: "east", state: { type: "shown", lagMs: 500 } },
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
      "1040: complete: −10.0.0.1 shop/web  pod 30 ms · published 40 ms · routed 0",
    ]
  `);
});

test("a flap that the controller follows late gives each change its own time", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(6_000, pod, "join");
  seen.say(31_000, published, "leave");
  seen.say(31_100, published, "join");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "31000: superseded: −10.0.0.1 shop/web  pod 0 · published 30 s · routed ? (superseded)",
      "31100: complete: +10.0.0.1 shop/web  pod 0 · published 25.1 s · routed ?",
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
      "3000: superseded: −10.0.0.1 shop/web  pod 0 · published 2 s · routed ? (superseded)",
      "13000: superseded: +10.0.0.1 shop/web  pod 0 · published passed · routed ? (superseded)",
      "13000: complete: −10.0.0.1 shop/web  pod 0 · published 1.8 s · routed ?",
    ]
  `);
});

test("a witness that is late but leaves nothing out is not taken to be done too early", () => {
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
      "31000: superseded: −10.0.0.1 shop/web  pod 0 · published 30 s · routed ? (superseded)",
      "32000: superseded: +10.0.0.1 shop/web  pod 0 · published 30 s · routed ? (superseded)",
      "33000: complete: −10.0.0.1 shop/web  pod 0 · published 30 s · routed ?",
    ]
  `);
});

test("what was under way before the observation began makes no journey", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod);
  seen.say(1_000, published, "join");
  expect(seen.events).toEqual([]);
  expect(seen.journeys.counts).toMatchObject({ baseline: 1, earlier: 1, opened: 0 });
});

test("a leave of something never seen is counted", () => {
  const seen = new Observed([pod, published]);
  seen.say(1_000, published, "leave");
  expect(seen.journeys.counts).toMatchObject({ unknown: 1, opened: 0 });
});

test("a replica that changes its mind alone withdraws the journey", () => {
  const seen = new Observed([pod, published, replica("r1")]);
  seen.baseline(pod, published, replica("r1"));
  seen.say(1_000, replica("r1"), "leave");
  seen.say(3_000, replica("r1"), "join");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "3000: withdrawn: −10.0.0.1 shop/web  pod never shown · published never shown · routed 0 (withdrawn)",
    ]
  `);
  seen.say(9_000, pod, "leave");
  seen.say(9_001, replica("r1"), "leave");
  seen.say(9_002, published, "leave");
  expect(seen.over.slice(1)).toMatchInlineSnapshot(`
    [
      "9002: complete: −10.0.0.1 shop/web  pod 0 · published 2 ms · routed 1 ms",
    ]
  `);
});

test("an address given to another pod is told apart by the uid", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.say(1_500, pod, "join", { uid: "b" });
  seen.say(2_000, published, "leave");
  seen.say(2_000, published, "join", { uid: "b" });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "2000: complete: −10.0.0.1 shop/web  pod 0 · published 1 s · routed ?",
      "2000: complete: +10.0.0.1 shop/web  pod 0 · published 500 ms · routed ?",
    ]
  `);
});

test("a proxy that knows only addresses cannot show that the address changed hands", () => {
  const seen = new Observed([pod, published, replica("stock")]);
  seen.baseline(pod, published);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_001, published, "leave");
  seen.say(1_500, pod, "join", { uid: "b" });
  seen.say(1_501, published, "join", { uid: "b" });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1500: complete: −10.0.0.1 shop/web  pod 0 · published 1 ms · routed unchanged",
      "1501: complete: +10.0.0.1 shop/web  pod 0 · published 1 ms · routed unchanged",
    ]
  `);
  seen.say(5_000, pod, "leave", { uid: "b" });
  seen.say(5_001, published, "leave", { uid: "b" });
  seen.say(8_000, replica("stock"), "leave", { uid: undefined });
  expect(seen.over.slice(2)).toMatchInlineSnapshot(`
    [
      "8000: complete: −10.0.0.1 shop/web  pod 0 · published 1 ms · routed 3 s",
    ]
  `);
});

test("a proxy that knows only addresses may be first; the pod's name comes later", () => {
  const seen = new Observed([pod]);
  seen.journeys.follow(replica("stock"), { ...web, cluster: undefined });
  const anonymous = { uid: undefined };
  seen.journeys.report({
    witness: replica("stock"),
    direction: "join",
    at: ms(1_000),
    endpoint: { ...web, cluster: undefined, address: "10.0.0.1", port: 8080, podUid: undefined },
  });
  seen.say(1_020, pod, "join");
  seen.say(2_000, pod, "leave");
  seen.say(3_000, replica("stock"), "leave", anonymous);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1020: complete: +10.0.0.1 shop/web  pod 20 ms · published ? · routed 0",
      "3000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 1 s",
    ]
  `);
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
  seen.advance(2_000);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "2000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed ?",
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
  const journeys = new Journeys({ onEvent: () => undefined, endpointsMax: 1 });
  journeys.follow(published, web);
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
  const journeys = new Journeys({ onEvent: () => undefined, endpointsMax: 1 });
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
  expect(seen.journeys.counts).toMatchObject({ opened: 1, matched: 1, repeated: 1 });
  expect(seen.over).toHaveLength(1);
});
