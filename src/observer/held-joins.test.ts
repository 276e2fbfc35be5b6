import { beforeEach, describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { Journey } from "../journeys/journey.ts";
import type { Direction, Hop, WitnessReport } from "../journeys/witness.ts";
import { HeldJoins } from "./held-joins.ts";

const endpoint = {
  cluster: "east",
  service: "shop/web",
  address: "10.0.0.1",
  port: 8080,
  podUid: "a",
};
const leave: Journey = {
  id: 1,
  endpoint,
  podName: "web-1",
  direction: "leave",
  cause: "deleted",
  origin: { at: 50_000 as MonotonicMs, notBefore: undefined },
  hops: [],
  outcome: "complete",
};

function told(hop: Hop, direction: Direction, notBefore?: number): WitnessReport {
  const late = notBefore === undefined ? {} : { notBefore: notBefore as MonotonicMs };
  const at = 100_000 as MonotonicMs;
  return { witness: { hop, name: "east" }, endpoint, direction, at, ...late };
}

describe("a join of an endpoint that has left", () => {
  let nowMs = 0;
  let passed: string[] = [];
  let held: HeldJoins;

  beforeEach(() => {
    nowMs = 60_000;
    passed = [];
    held = new HeldJoins({
      clock: { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => 0 as WallMs },
      sink: {
        report: ({ witness, direction }) => passed.push(`${witness.hop} ${direction}`),
        follow: () => undefined,
        unfollow: () => undefined,
      },
    });
    held.onEvent({ type: "over", journey: leave });
  });

  test("is of the past when it may have been before that and is taken back", () => {
    held.report(told("published", "join", 40_000));
    held.report(told("published", "leave", 40_000));
    nowMs += 60_000;
    held.look();
    expect(passed).toEqual([]);
  });

  test("is so when it is not taken back", () => {
    held.report(told("published", "join", 40_000));
    held.look();
    expect(passed).toEqual([]);
    nowMs += 5_000;
    held.look();
    expect(passed).toEqual(["published join"]);
  });

  test("comes after the one that shows it to be there again", () => {
    held.report(told("published", "join", 40_000));
    held.report(told("pod", "join"));
    expect(passed).toEqual(["pod join", "published join"]);
  });

  test("is news when it was later, and so is what other witnesses say then", () => {
    held.report(told("published", "join", 60_001));
    held.report(told("synced", "join", 40_000));
    held.report(told("synced", "leave"));
    expect(passed).toEqual(["published join", "synced join", "synced leave"]);
  });

  test("is no longer doubted when it is too long ago to be told now", () => {
    nowMs += 600_001;
    held.onEvent({ type: "over", journey: { ...leave, endpoint: { ...endpoint, podUid: "b" } } });
    held.report(told("published", "join", 40_000));
    expect(passed).toEqual(["published join"]);
  });
});
