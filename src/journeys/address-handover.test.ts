import { expect, test } from "vitest";
import { settleMs } from "./journey-limits.ts";
import { ms, Observed, pod, published, replica, web } from "./observed.contract.ts";
import type { Direction } from "./witness.ts";

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

test("that the address changed hands may be told the other way round", () => {
  const seen = new Observed([pod, replica("stock")]);
  seen.baseline(pod);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_500, pod, "join", { uid: "b" });
  seen.say(1_501, pod, "leave");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1501: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed unchanged",
      "1501: complete: +10.0.0.1 shop/web  pod 0 · published ? · routed unchanged",
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

test("who knows only addresses and is seen to begin with the next pod had the first one's all along", () => {
  const seen = new Observed([pod, published]);
  seen.baseline(pod, published);
  seen.say(1_000, pod, "leave");
  seen.journeys.follow(replica("stock"), web);
  seen.say(1_500, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(2_000, pod, "join", { uid: "b" });
  seen.say(2_010, published, "leave");
  seen.say(2_010, published, "join", { uid: "b" });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "2010: complete: −10.0.0.1 shop/web  pod 0 · published 1.01 s · routed unchanged",
      "2010: complete: +10.0.0.1 shop/web  pod 0 · published 10 ms · routed unchanged",
    ]
  `);
});

test("an address first shown by one who cannot tell whose it is goes to the pod that claims it", () => {
  const seen = new Observed([pod, published, replica("stock")]);
  seen.baseline(pod, published);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_100, replica("stock"), "leave", { uid: undefined });
  seen.say(1_200, replica("stock"), "join", { uid: undefined });
  seen.say(1_300, pod, "join", { uid: "b" });
  seen.say(1_400, published, "leave");
  seen.say(1_400, published, "join", { uid: "b" });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1300: withdrawn: +10.0.0.1 shop/web  pod never shown · published never shown · routed 0 (withdrawn)",
      "1400: complete: −10.0.0.1 shop/web  pod 0 · published 400 ms · routed 100 ms",
      "1400: complete: +10.0.0.1 shop/web  pod 100 ms · published 200 ms · routed before pod",
    ]
  `);
});

test("what one who knows only addresses said late, and nobody else shows, goes to the next pod as it was", () => {
  const seen = new Observed([pod, published, replica("stock")]);
  seen.baseline(pod, published);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_100, replica("stock"), "leave", { uid: undefined });
  seen.say(1_200, replica("stock"), "join", { uid: undefined, notBefore: ms(1_150) });
  seen.say(1_300, pod, "join", { uid: "b" });
  seen.say(1_400, published, "leave");
  seen.say(1_400, published, "join", { uid: "b" });
  expect(seen.lastOver?.origin).toEqual({ at: 1_200, notBefore: 1_150 });
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "1300: withdrawn: +10.0.0.1 shop/web  pod never shown · published never shown · routed ≥0 (withdrawn)",
      "1400: complete: −10.0.0.1 shop/web  pod 0 · published 400 ms · routed 100 ms",
      "1400: complete: +10.0.0.1 shop/web  pod ≥100 ms · published ≥200 ms · routed ≥0",
    ]
  `);
});

test("an address whose first owner nobody named, and who is gone, is of whoever has it now", () => {
  const seen = new Observed([published]);
  seen.journeys.follow(replica("stock"), { ...web, cluster: undefined });
  const stockSays = (atMs: number, direction: Direction): void => {
    seen.now = atMs;
    const unknown = { cluster: undefined, podUid: undefined };
    const endpoint = { ...web, ...unknown, address: "10.0.0.1", port: 8080 };
    seen.journeys.report({ witness: replica("stock"), direction, at: ms(atMs), endpoint });
  };
  stockSays(1_000, "join");
  stockSays(40_000, "leave");
  seen.advance(60_000);
  seen.say(70_000, published, "join", { uid: undefined });
  stockSays(70_200, "join");
  seen.say(80_000, published, "leave", { uid: undefined });
  stockSays(80_300, "leave");
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "60000: superseded: +10.0.0.1 shop/web  pod ? · published passed · routed ≥0 (superseded)",
      "60000: complete: −10.0.0.1 shop/web  pod ? · published unchanged · routed ≥0",
      "70200: complete: +10.0.0.1 shop/web  pod ? · published ≥0 · routed 200 ms",
      "80300: complete: −10.0.0.1 shop/web  pod ? · published ≥0 · routed 300 ms",
    ]
  `);
  expect(seen.lastOver?.endpoint.cluster).toBe("east");
});

test("what is over and nobody named does not keep an address from the pod that has it now", () => {
  // Requests are waited for, so what is over is not forgotten soon.
  const log = { hop: "traffic", name: "log" } as const;
  const seen = new Observed([pod, replica("stock"), log]);
  seen.baseline(pod);
  seen.say(0, replica("stock"), "join", { uid: undefined, baseline: true });
  seen.say(1_000, pod, "leave");
  seen.say(1_100, replica("stock"), "leave", { uid: undefined });
  // The service is gone for a while, and only the replica tells of it.
  seen.journeys.unfollow(pod, web);
  seen.say(20_000, replica("stock"), "join", { uid: undefined });
  const place = { service: web.service, address: "10.0.0.1", port: 8080 };
  seen.journeys.traffic({ witness: log, ...place, at: ms(20_500), failed: false });
  seen.advance(40_000);
  seen.journeys.follow(pod, web);
  seen.say(50_000, pod, "join", { uid: "b" });
  seen.say(60_000, pod, "leave", { uid: "b" });
  seen.say(60_400, replica("stock"), "leave", { uid: undefined });
  seen.advance(200_000);
  expect(seen.over).toMatchInlineSnapshot(`
    [
      "40000: complete: +10.0.0.1 shop/web  pod ? · published ? · routed ≥0 · traffic 500 ms",
      "200000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 100 ms · traffic no request",
      "200000: superseded: +10.0.0.1 shop/web  pod 0 · published ? · routed unchanged · traffic no request (superseded)",
      "200000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 400 ms · traffic no request",
    ]
  `);
});

test("who has shown an address before it was mistaken for a return has not shown it to the next pod", () => {
  const seen = new Observed([pod, replica("one"), replica("two")]);
  const byAddress = { uid: undefined };
  for (const name of ["one", "two"]) seen.say(0, replica(name), "join", byAddress);
  seen.say(10, pod, "join");
  seen.say(1_000, pod, "leave");
  seen.say(1_100, replica("one"), "leave", byAddress);
  seen.say(2_000, replica("one"), "join", byAddress);
  seen.advance(2_000 + settleMs);
  seen.say(20_000, pod, "join", { uid: "b" });
  expect(seen.over.slice(1)).toMatchInlineSnapshot(`
    [
      "12000: complete: −10.0.0.1 shop/web  pod 0 · published ? · routed 100 ms passed",
      "20000: withdrawn: +10.0.0.1 shop/web  pod never shown · published ? · routed 0 unchanged (withdrawn)",
      "20000: complete: +10.0.0.1 shop/web  pod 18 s · published ? · routed before pod unchanged",
    ]
  `);
});
