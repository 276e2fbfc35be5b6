import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { Journeys } from "./journeys.ts";
import type { Direction, Hop } from "./witness.ts";

const web = { cluster: "east", service: "shop/web" };

function world() {
  const over: string[] = [];
  const journeys = new Journeys({
    onEvent: ({ type, journey: { direction, outcome, hops } }) => {
      const states = hops.map(({ hop, witness, state }) => `${hop} ${witness} ${state.type}`);
      if (type === "over") over.push(`${direction} ${outcome}: ${states.join(", ")}`);
    },
  });
  journeys.follow({ hop: "pod", name: "east" }, web);
  for (const name of ["one", "two"]) journeys.follow({ hop: "routed", name }, web);
  const say = (hop: Hop, name: string, direction: Direction, atMs: number): void => {
    const endpoint = { ...web, address: "10.0.0.1", port: 80, podUid: "a" };
    journeys.report({ witness: { hop, name }, endpoint, direction, at: atMs as MonotonicMs });
  };
  return { over, say, journeys };
}

test("a join is complete though one replica mistrusts the pod before another has it", () => {
  const { over, say } = world();
  say("pod", "east", "join", 0);
  say("routed", "one", "join", 5);
  say("routed", "one", "leave", 900);
  say("routed", "two", "join", 2_000);
  say("routed", "one", "join", 6_000);
  expect(over).toEqual([
    "join complete: pod east shown, routed one shown, routed two shown",
    "leave withdrawn: pod east pending, routed one shown, routed two pending",
  ]);
});

test("a join is superseded where the pod itself has left before a replica has it", () => {
  const { over, say } = world();
  say("pod", "east", "join", 0);
  say("routed", "one", "join", 5);
  say("pod", "east", "leave", 900);
  say("routed", "two", "join", 2_000);
  expect(over).toEqual(["join superseded: pod east shown, routed one shown, routed two shown"]);
});

test("what one replica has taken back another takes back too, also when nobody sees the pods", () => {
  const { over, say, journeys } = world();
  say("routed", "one", "join", 0);
  say("routed", "two", "join", 5);
  say("routed", "one", "leave", 900);
  journeys.unfollow({ hop: "pod", name: "east" }, web);
  say("routed", "two", "leave", 1_000);
  expect(over).toEqual(["join withdrawn: pod east pending, routed one shown, routed two shown"]);
  expect(journeys.pending()).toEqual([]);
});

test("what only a replica has shown that is gone for good nobody will show", () => {
  const { over, say, journeys } = world();
  say("routed", "one", "join", 0);
  journeys.unfollow({ hop: "routed", name: "one" }, { ...web, forGood: true });
  expect(over).toEqual(["join withdrawn: pod east pending, routed one shown, routed two pending"]);
  expect(journeys.pending()).toEqual([]);
});

test("nor what it has sent requests to", () => {
  const { over, say, journeys } = world();
  const log = { hop: "traffic", name: "log" } as const;
  journeys.follow(log, web);
  say("routed", "one", "join", 0);
  const at = 10 as MonotonicMs;
  const place = { service: web.service, address: "10.0.0.1", port: 80 };
  journeys.traffic({ witness: log, ...place, at, failed: false });
  journeys.unfollow({ hop: "routed", name: "one" }, { ...web, forGood: true });
  expect(over).toEqual([
    "join withdrawn: pod east pending, routed one shown, routed two pending, traffic log shown",
  ]);
});

test("what another replica has shown too is still waited for", () => {
  const { over, say, journeys } = world();
  say("routed", "one", "join", 0);
  say("routed", "two", "join", 5);
  journeys.unfollow({ hop: "routed", name: "one" }, { ...web, forGood: true });
  say("pod", "east", "join", 30);
  expect(over).toEqual(["join complete: pod east shown, routed one shown, routed two shown"]);
});
