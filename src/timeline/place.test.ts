import { describe, expect, test } from "vitest";
import { ms, Observed, pod, published, replica, web } from "../../tests/observer/observed.ts";
import { Change } from "./change.ts";
import { settleMs } from "./journey-limits.ts";
import type { Line } from "./line.ts";
import { Place } from "./place.ts";
import type { Direction } from "./witness.ts";

const spot = { ...web, address: "10.0.0.1", port: 8080, podUid: undefined };

describe("the changes that a witness of addresses can show", () => {
  let lastId = 0;

  function change(line: Line, direction: Direction, isDisagreement?: true): Change {
    lastId += 1;
    const times = { at: ms(lastId), aheadFrom: ms(lastId) };
    const one = new Change(lastId, line, {
      direction,
      ...times,
      ...(isDisagreement && { isDisagreement }),
    });
    line.own.push(one);
    return one;
  }

  const changesOf = (place: Place, line: Line, ...there: readonly string[]): readonly Change[] =>
    place.changesOf(line, {
      isReported: ({ endpoint }) => endpoint.podUid !== undefined,
      stateOf: ({ endpoint: { podUid = "" } }) => (there.includes(podUid) ? "join" : "leave"),
    });

  test("are those of the only pod that has the address", () => {
    const place = new Place();
    const address = place.add(spot);
    const a = place.add({ ...spot, podUid: "a" });
    const own = [change(a, "join"), change(a, "leave")];
    expect(changesOf(place, address)).toEqual(own);
    expect(changesOf(place, a)).toEqual(own);
  });

  test("are those after which another answer holds to whether any pod has the address", () => {
    const place = new Place();
    const address = place.add(spot);
    const a = place.add({ ...spot, podUid: "a" });
    const b = place.add({ ...spot, podUid: "b" });
    const first = change(a, "join");
    change(b, "join");
    change(a, "leave");
    const last = change(b, "leave");
    expect(changesOf(place, address)).toEqual([first, last]);
  });

  test("begin with pods that have had the address since before their first change", () => {
    const place = new Place();
    const address = place.add(spot);
    const a = place.add({ ...spot, podUid: "a" });
    const b = place.add({ ...spot, podUid: "b" });
    place.add({ ...spot, podUid: "c" });
    change(a, "leave");
    change(b, "join");
    expect(changesOf(place, address, "c")).toEqual([]);
    expect(changesOf(place, address)).toHaveLength(2);
  });

  test("hold one of which the beginning is unknown where it says how things are", () => {
    const place = new Place();
    const address = place.add(spot);
    const a = place.add({ ...spot, podUid: "a" });
    place.add({ ...spot, podUid: "b" });
    const late = change(a, "join", true);
    const left = change(a, "leave");
    expect(changesOf(place, address)).toEqual([late, left]);
  });

  test("of one cluster are of its pods, and of any cluster are of all pods", () => {
    const place = new Place();
    const ofEast = place.add(spot);
    const ofAny = place.add({ ...spot, cluster: undefined });
    const east = place.add({ ...spot, podUid: "a" });
    const west = place.add({ ...spot, cluster: "west", podUid: "w" });
    expect(place.coveringOf(east)).toEqual([ofEast, ofAny]);
    expect(place.coveringOf(west)).toEqual([ofAny]);
    expect(place.coveredBy(ofEast)).toEqual([east]);
    expect(place.coveredBy(ofAny)).toEqual([east, west, ofEast]);
    expect(place.coveredBy(east)).toEqual([]);
  });
});

test("a line is found by its pod or, without one, by its cluster, and not when it is removed", () => {
  const place = new Place();
  const lines = [{}, { cluster: undefined }, { podUid: "a" }, { podUid: "b" }].map((more) => {
    const endpoint = { ...spot, ...more };
    return { endpoint, line: place.add(endpoint) };
  });
  for (const { endpoint, line } of lines) expect(place.find(endpoint)).toBe(line);
  expect(place.find({ ...spot, cluster: "west" })).toBeUndefined();
  for (const { line } of lines.slice(0, 3)) place.remove(line);
  expect(place.lines).toEqual([lines[3]?.line]);
});

test("an address given to another pod is distinguished by the uid", () => {
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

test("a replica that knows addresses only shows neither half of a hand-over that it missed", () => {
  const seen = new Observed([pod, published, replica("stock")]);
  seen.baseline(pod, published);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_001, published, "leave");
  seen.say(1_500, pod, "join", { uid: "b" });
  seen.say(1_501, published, "join", { uid: "b" });
  seen.advance(1_499 + settleMs);
  expect(seen.over).toEqual([]);
  seen.advance(1_500 + settleMs);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "11500: complete: −10.0.0.1 shop/web  pod 0 · published 1 ms · routed passed",
      "11500: complete: +10.0.0.1 shop/web  pod 0 · published 1 ms · routed unchanged",
    ]
  `);
  seen.say(25_000, pod, "leave", { uid: "b" });
  seen.say(25_001, published, "leave", { uid: "b" });
  seen.say(28_000, replica("stock"), "leave", { uid: undefined });
  expect(seen.over.slice(2)).toMatchInlineSnapshot(`
    [
      "28000: complete: −10.0.0.1 shop/web  pod 0 · published 1 ms · routed 3 s",
    ]
  `);
});

test("a replica that knows addresses only is not waited for while another pod has the address", () => {
  const seen = new Observed([pod, replica("stock")]);
  seen.baseline(pod);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_500, pod, "join", { uid: "b" });
  seen.say(1_501, pod, "leave");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1500: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed passed",
      "1501: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed passed",
    ]
  `);
  seen.say(2_000, pod, "leave", { uid: "b" });
  seen.say(2_300, replica("stock"), "leave", { uid: undefined });
  expect(seen.over.at(-1)).toMatchInlineSnapshot(
    `"2300: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 300 ms"`,
  );
});

test("a replica that knows addresses only and shows both halves of a hand-over shows each pod's", () => {
  const seen = new Observed([pod, replica("stock")]);
  seen.baseline(pod);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_200, pod, "join", { uid: "b" });
  seen.say(1_300, replica("stock"), "leave", { uid: undefined });
  seen.say(1_400, replica("stock"), "join", { uid: undefined });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1400: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 300 ms",
      "1400: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed 200 ms",
    ]
  `);
});

test("a replica that knows neither pods nor clusters may be first, and shows the pod's changes", () => {
  const seen = new Observed([pod]);
  seen.journeys.follow(replica("stock"), { ...web, cluster: undefined });
  const anonymous = { uid: undefined, cluster: undefined };
  seen.say(1_000, replica("stock"), "join", anonymous);
  seen.say(1_020, pod, "join");
  seen.say(2_000, pod, "leave");
  seen.say(3_000, replica("stock"), "leave", anonymous);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1020: complete: +10.0.0.1 shop/web  pod 20 ms · published ? · routed before pod",
      "3000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 1 s",
    ]
  `);
});

test("what a replica that is gone has shown keeps no endpoint, and leaves of others are not its", () => {
  const seen = new Observed([pod, replica("stock"), replica("old")]);
  seen.baseline(pod);
  for (const name of ["stock", "old"]) {
    seen.say(0, replica(name), "join", { uid: undefined, baseline: true });
  }
  seen.journeys.unfollow(replica("old"), { ...web, forGood: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_100, replica("stock"), "leave", { uid: undefined });
  seen.say(2_000, pod, "join", { uid: "b" });
  seen.say(2_100, replica("stock"), "join", { uid: undefined });
  seen.say(3_000, pod, "leave", { uid: "b" });
  seen.say(3_300, replica("stock"), "leave", { uid: undefined });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1100: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 100 ms",
      "2100: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed 100 ms",
      "3300: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 300 ms",
    ]
  `);
  expect(seen.journeys.hasEndpoints(web)).toBe(false);
});

test("a replica that knows addresses only and begins during a hand-over has nothing to show", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.journeys.follow(replica("stock"), web);
  seen.say(1_500, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(2_000, pod, "join", { uid: "b" });
  seen.say(2_010, published, "leave");
  seen.say(2_010, published, "join", { uid: "b" });
  seen.advance(2_010 + settleMs);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "12010: complete: −10.0.0.1 shop/web  pod 0 · published 1.01 s · routed passed",
      "12010: complete: +10.0.0.1 shop/web  pod 0 · published 10 ms · routed unchanged",
    ]
  `);
});

test("an address that a replica shows before the next pod is reported is that pod's", () => {
  const seen = new Observed([pod, published, replica("stock")]);
  seen.baseline(pod, published);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_100, replica("stock"), "leave", { uid: undefined });
  seen.say(1_200, replica("stock"), "join", { uid: undefined, notBefore: ms(1_150) });
  seen.say(1_300, pod, "join", { uid: "b" });
  seen.say(1_400, published, "leave");
  seen.say(1_400, published, "join", { uid: "b" });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1400: complete: −10.0.0.1 shop/web  pod 0 · published 400 ms · routed 100 ms",
      "1400: complete: +10.0.0.1 shop/web  pod ≥100 ms · published ≥200 ms · routed ≥0",
    ]
  `);
  expect(seen.lastOver?.origin).toEqual({ at: 1_200, notBefore: 1_150 });
});

test("an address that two replicas list while no pod has it is in flight until a pod has it again", () => {
  const seen = new Observed([pod, replica("one"), replica("two")]);
  const byAddress = { uid: undefined };
  for (const name of ["one", "two"]) seen.say(0, replica(name), "join", byAddress);
  seen.say(10, pod, "join");
  seen.say(1_000, pod, "leave");
  seen.say(1_100, replica("one"), "leave", byAddress);
  seen.say(2_000, replica("one"), "join", byAddress);
  seen.advance(2_000 + settleMs);
  expect(seen.inFlight).toMatchInlineSnapshot(`
    [
      "leave a before 2000: pod unchanged, one pending, two pending",
    ]
  `);
  seen.say(20_000, pod, "join", { uid: "b" });
  seen.advance(20_000 + settleMs);
  expect(seen.over.slice(1)).toMatchInlineSnapshot(`
    [
      "12000: superseded: −10.0.0.1 shop/web  pod 0 · published ? · routed 100 ms passed (superseded)",
      "20000: complete: −10.0.0.1 shop/web  pod unchanged · published ? · routed passed passed",
      "20000: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed unchanged unchanged",
    ]
  `);
  expect(seen.inFlight).toEqual([]);
});

test("an address that only a proxy listed is of the endpoint that a cluster reports there later", () => {
  const seen = new Observed([published]);
  seen.journeys.follow(replica("stock"), { ...web, cluster: undefined });
  const anonymous = { uid: undefined, cluster: undefined };
  seen.say(1_000, replica("stock"), "join", anonymous);
  seen.say(40_000, replica("stock"), "leave", anonymous);
  seen.advance(60_000);
  seen.say(70_000, published, "join", { uid: undefined });
  seen.say(70_200, replica("stock"), "join", anonymous);
  seen.say(80_000, published, "leave", { uid: undefined });
  seen.say(80_300, replica("stock"), "leave", anonymous);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "70200: complete: +10.0.0.1 shop/web  pod ? · published ≥0 · routed 200 ms",
      "80300: complete: −10.0.0.1 shop/web  pod ? · published ≥0 · routed 300 ms",
    ]
  `);
});

test("a replica that shows an address is not expected to show its pod by name as well", () => {
  const seen = new Observed([pod, replica("stock")]);
  seen.say(1_000, pod, "join");
  seen.say(1_100, replica("stock"), "join", { uid: undefined });
  expect(seen.over).toHaveLength(1);
  seen.journeys.follow(replica("r2"), web);
  seen.say(2_000, replica("r2"), "join", { baseline: true });
  seen.advance(2_000 + settleMs);
  expect([seen.over.length, seen.inFlight]).toEqual([1, []]);
});

test("a replica that listed an address before any cluster had the service shows its later changes", () => {
  const seen = new Observed([replica("stock")]);
  seen.say(0, replica("stock"), "join", { uid: undefined });
  seen.journeys.follow(pod, web);
  seen.say(50, pod, "join");
  seen.say(20_000, pod, "leave");
  seen.say(20_300, replica("stock"), "leave", { uid: undefined });
  expect(seen.over.at(-1)).toBe(
    "20300: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 300 ms",
  );
});
