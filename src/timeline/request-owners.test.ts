import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { journeyLine } from "./format.ts";
import type { Journey } from "./journey.ts";
import { trafficQuietMs } from "./journey-limits.ts";
import { Timeline } from "./timeline.ts";
import type { Direction, ServiceRef, TrafficReport, Witness } from "./witness.ts";

const web: ServiceRef = { cluster: "east", service: "shop/web" };
const pod: Witness = { hop: "pod", name: "east" };
const published: Witness = { hop: "published", name: "east" };
const log: Witness = { hop: "traffic", name: "access.log" };

const ms = (value: number) => value as MonotonicMs;

interface Said {
  readonly uid?: string;
  readonly service?: string;
}

/** Journeys with an access log beside them; the `traffic` hops and the ends, as lines. */
class Logged {
  readonly lines: string[] = [];
  last: Journey | undefined;
  readonly journeys = new Timeline({
    onEvent: (event) => {
      this.last = event.journey;
      if (event.type === "shown" && event.hop.hop !== "traffic") return;
      const line = journeyLine(event.journey, { now: ms(this.#now), width: 200 });
      this.lines.push(`${this.#now}: ${event.type}: ${line.slice(line.indexOf("  ") + 2)}`);
    },
  });
  #now = 0;

  constructor(services: readonly string[] = [web.service]) {
    for (const service of services) {
      for (const witness of [pod, published, log])
        this.journeys.follow(witness, { ...web, service });
    }
  }

  say(at: number, witness: Witness, direction: Direction, said: Said = {}): this {
    this.#now = at;
    const { uid = "a", service = web.service } = said;
    const endpoint = { ...web, service, address: "10.0.0.1", port: 8080, podUid: uid };
    this.journeys.report({ witness, direction, at: ms(at), endpoint });
    return this;
  }

  /** Both hops at once. */
  change(at: number, direction: Direction, said: Said = {}): this {
    return this.say(at, pod, direction, said).say(at, published, direction, said);
  }

  request(at: number, more: Partial<TrafficReport> = {}): this {
    this.journeys.traffic({
      witness: log,
      service: web.service,
      address: "10.0.0.1",
      port: 8080,
      at: ms(at),
      failed: false,
      ...more,
    });
    return this;
  }

  advance(to: number): this {
    this.#now = to;
    this.journeys.advance(ms(to));
    return this;
  }
}

test("the first request shows that an address joined", () => {
  const seen = new Logged().change(1_000, "join").request(900).request(1_250).request(1_300);
  expect(seen.lines).toMatchInlineSnapshot(`
    [
      "1000: shown: pod 0 · published 0 · routed ? · traffic 250 ms",
      "1000: over: pod 0 · published 0 · routed ? · traffic 250 ms",
    ]
  `);
  expect(seen.journeys.requestCounts).toEqual({ joined: 1, left: 0, ordinary: 1, unknown: 1 });
});

test("the last request shows that an address left, and failed ones are counted", () => {
  const seen = new Logged().change(1_000, "join").request(1_001).change(5_000, "leave");
  seen
    .request(4_999)
    .request(5_000)
    .request(6_000, { failed: true })
    .request(5_500, { failed: true });
  seen.advance(6_000 + trafficQuietMs - 1);
  expect(seen.journeys.pending()).toHaveLength(1);
  seen.advance(6_000 + trafficQuietMs);
  expect(seen.lines.slice(2)).toMatchInlineSnapshot(`
    [
      "81000: shown: pod 0 · published 0 · routed ? · traffic 1 s, 2 failed",
      "81000: over: pod 0 · published 0 · routed ? · traffic 1 s, 2 failed",
    ]
  `);
  expect(seen.last?.traffic).toEqual({ requests: 3, failed: 2, lastFailedAt: 6_000 });
});

test("a change without any request is shown in words, is never stuck, and delays nothing else", () => {
  const seen = new Logged().change(1_000, "join");
  seen.advance(60_000).advance(1_000 + trafficQuietMs);
  expect(seen.lines).toMatchInlineSnapshot(`
    [
      "76000: over: pod 0 · published 0 · routed ? · traffic no request",
    ]
  `);
  expect(seen.journeys.oldestPending(ms(60_000))).toEqual([]);
});

test("requests neither make an origin nor end the wait for other hops", () => {
  const seen = new Logged().say(1_000, pod, "join").request(1_100);
  seen.advance(20_000);
  expect(seen.journeys.oldestPending(ms(20_000))).toEqual([
    { cluster: "east", hop: "published", direction: "join", ageMs: 19_000 },
  ]);
  seen.say(21_000, published, "join");
  expect(seen.lines).toMatchInlineSnapshot(`
    [
      "1000: shown: pod 0 · published … · routed ? · traffic 100 ms",
      "21000: over: pod 0 · published 20 s · routed ? · traffic 100 ms",
    ]
  `);
});

test("a request belongs to the pod that had the address when it was sent, however late it is reported", () => {
  const seen = new Logged().change(1_000, "join").request(1_001);
  seen.change(5_000, "leave").change(7_000, "join", { uid: "b" });
  seen.request(8_000).request(6_000, { failed: true }).request(7_500);
  seen.advance(8_000 + trafficQuietMs);
  expect(seen.lines.slice(2)).toMatchInlineSnapshot(`
    [
      "7000: shown: pod 0 · published 0 · routed ? · traffic 1 s",
      "7000: over: pod 0 · published 0 · routed ? · traffic 1 s",
      "83000: shown: pod 0 · published 0 · routed ? · traffic 1 s, 1 failed",
      "83000: over: pod 0 · published 0 · routed ? · traffic 1 s, 1 failed",
    ]
  `);
});

test("without a service in the log the address and the time decide, also between services", () => {
  const seen = new Logged(["shop/web", "shop/api"]).change(1_000, "join").request(1_001);
  seen.change(5_000, "leave").change(7_000, "join", { uid: "b", service: "shop/api" });
  const service = undefined;
  seen.request(6_000, { service, failed: true }).request(7_100, { service });
  seen.advance(7_100 + trafficQuietMs);
  expect(seen.lines.slice(2)).toMatchInlineSnapshot(`
    [
      "7000: shown: pod 0 · published 0 · routed ? · traffic 100 ms",
      "7000: over: pod 0 · published 0 · routed ? · traffic 100 ms",
      "82100: shown: pod 0 · published 0 · routed ? · traffic 1 s, 1 failed",
      "82100: over: pod 0 · published 0 · routed ? · traffic 1 s, 1 failed",
    ]
  `);
});

test("a pod that two services share gets a request that names neither for both", () => {
  const seen = new Logged(["shop/web", "shop/all"]);
  seen.change(1_000, "join").change(1_000, "join", { service: "shop/all" });
  seen.request(1_500, { service: undefined });
  expect(seen.lines.filter((line) => line.includes("shown"))).toHaveLength(2);
  expect(seen.journeys.pending()).toEqual([]);
});

test("of two pods that seem to have an address, or both had it, the later one gets the request", () => {
  const seen = new Logged().change(1_000, "join").request(1_001);
  seen.change(2_000, "join", { uid: "b" }).request(2_500);
  seen.change(3_000, "leave", { uid: "a" }).change(4_000, "leave", { uid: "b" });
  seen.request(5_000, { failed: true });
  const left = seen.journeys.pending().map(({ endpoint, traffic }) => [endpoint.podUid, traffic]);
  expect(left).toEqual([
    ["a", undefined],
    ["b", { requests: 1, failed: 1, lastFailedAt: 5_000 }],
  ]);
});

test("of two clusters with the same service and address the one whose log it is gets the request", () => {
  const seen = new Logged();
  const west = { ...web, cluster: "west" };
  const endpoint = { ...west, address: "10.0.0.1", port: 8080, podUid: "w" };
  seen.journeys.follow({ hop: "pod", name: "west" }, west);
  seen.journeys.follow({ hop: "traffic", name: "west.log" }, west);
  seen.journeys.report({
    witness: { hop: "pod", name: "west" },
    direction: "join",
    at: ms(2_000),
    endpoint,
  });
  seen.change(1_000, "join").request(3_000);
  expect(seen.journeys.pending().map(({ endpoint: { cluster } }) => cluster)).toEqual(["west"]);
});

test("a log that is no longer read is no longer waited for", () => {
  const seen = new Logged().change(1_000, "join");
  expect(seen.journeys.pending()).toHaveLength(1);
  seen.journeys.unfollow(log, web);
  expect(seen.journeys.pending()).toEqual([]);
});

test("with too many pending, one that only waits for requests is complete and not dropped", () => {
  const over: unknown[] = [];
  const journeys = new Timeline({
    onEvent: ({ type, journey }) => type === "over" && over.push([journey.id, journey.outcome]),
    pendingMax: 1,
  });
  for (const witness of [pod, log]) journeys.follow(witness, web);
  for (const port of [1, 2]) {
    const endpoint = { ...web, address: "10.0.0.1", port, podUid: "a" };
    journeys.report({ witness: pod, direction: "join", at: ms(port), endpoint });
  }
  expect(over).toEqual([[1, "complete"]]);
});

test("requests to addresses without a known owner are counted and belong to nothing", () => {
  const seen = new Logged().request(500).request(600, { service: undefined, address: "10.9.9.9" });
  expect(seen.journeys.requestCounts).toEqual({ joined: 0, left: 0, ordinary: 0, unknown: 2 });
});

test("a request while the pod was back is not of the leave before, which still waits for its last", () => {
  const logged = new Logged();
  logged.change(0, "join").change(1_000, "leave");
  logged.request(1_100);
  logged.change(3_000, "join").request(4_000).change(20_000, "leave");
  logged.request(10_000);
  logged.journeys.advance(ms(20_000 + 2 * trafficQuietMs));
  expect(logged.lines).toMatchInlineSnapshot(`
    [
      "3000: shown: pod 0 · published 0 · routed ? · traffic 1 s",
      "3000: over: pod 0 · published 0 · routed ? · traffic 1 s",
      "20000: over: pod 0 · published 0 · routed ? · traffic no request (superseded)",
      "20000: shown: pod 0 · published 0 · routed ? · traffic 100 ms",
      "20000: over: pod 0 · published 0 · routed ? · traffic 100 ms (superseded)",
      "20000: over: pod 0 · published 0 · routed ? · traffic no request",
    ]
  `);
});
