import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { Journeys } from "./journeys.ts";
import type { Direction, Witness } from "./witness.ts";

const pods: Witness = { hop: "pod", name: "east" };
const proxy: Witness = { hop: "routed", name: "proxy" };
const web = { cluster: "east", service: "shop/web" };

function world(limits: { readonly endpointsMax: number; readonly pendingMax: number }) {
  const over: string[] = [];
  const journeys = new Journeys({
    ...limits,
    onEvent: ({ type, journey: { direction, endpoint, outcome } }) => {
      if (type === "over") over.push(`${direction} ${endpoint.address} ${outcome}`);
    },
  });
  journeys.follow(pods, web);
  journeys.follow(proxy, { cluster: undefined, service: web.service });
  const say = (witness: Witness, direction: Direction, address: string, atMs: number): void => {
    const isPod = witness === pods;
    const podUid = isPod ? `uid of ${address}` : undefined;
    const endpoint = { ...web, ...(!isPod && { cluster: undefined }), address, port: 80, podUid };
    const at = atMs as MonotonicMs;
    journeys.report({ witness, endpoint, direction, at, baseline: atMs === 0 });
  };
  return { journeys, over, say };
}

const known = (index: number): string => `10.0.0.${index}`;
const stranger = (index: number): string => `192.0.2.${index}`;

test("endpoints that only a proxy names take half the room and give it up to a cluster's", () => {
  const { journeys, over, say } = world({ endpointsMax: 10, pendingMax: 100 });
  for (let index = 1; index <= 200; index += 1) say(proxy, "join", stranger(index), 0);
  expect(journeys.counts).toMatchObject({ baseline: 5, dropped: 195, dismissed: 0 });
  for (let index = 1; index <= 10; index += 1) say(pods, "join", known(index), 0);
  expect(journeys.counts).toMatchObject({ baseline: 15, dropped: 195, dismissed: 5 });
  say(pods, "join", known(11), 0);
  expect(journeys.counts).toMatchObject({ dropped: 196, dismissed: 5 });
  for (let index = 1; index <= 10; index += 1) say(proxy, "join", known(index), 0);
  say(pods, "leave", known(1), 1_000);
  say(proxy, "leave", known(1), 2_000);
  expect(over).toEqual([`leave ${known(1)} complete`]);
});

test("what only a proxy still routes to is pending, but never instead of what a cluster tells", () => {
  const { journeys, over, say } = world({ endpointsMax: 100, pendingMax: 8 });
  for (let index = 1; index <= 20; index += 1) say(proxy, "join", stranger(index), 0);
  for (let index = 1; index <= 4; index += 1) {
    say(pods, "join", known(index), 0);
    say(proxy, "join", known(index), 0);
  }
  journeys.advance(20_000 as MonotonicMs);
  expect(journeys.pending().map(({ endpoint }) => endpoint.address)).toEqual(
    [1, 2, 3, 4].map(stranger),
  );
  expect(journeys.counts).toMatchObject({ dropped: 0, dismissed: 16 });
  for (let index = 1; index <= 4; index += 1) say(pods, "leave", known(index), 21_000);
  expect(journeys.pending()).toHaveLength(8);
  expect(over).toEqual([]);
});

test("one that a cluster comes to know is no stranger any more", () => {
  const { journeys, say } = world({ endpointsMax: 4, pendingMax: 100 });
  for (const index of [1, 2]) say(proxy, "join", known(index), 0);
  for (const index of [1, 2]) say(pods, "join", known(index), 0);
  for (const index of [1, 2, 3]) say(proxy, "join", stranger(index), 0);
  expect(journeys.counts).toMatchObject({ baseline: 6, dropped: 1, dismissed: 0 });
});
