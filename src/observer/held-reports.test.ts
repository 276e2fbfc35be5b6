import { beforeEach, describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { Journey } from "../journeys/journey.ts";
import type { JourneyEvent } from "../journeys/journey-event.ts";
import type { Direction, Hop, WitnessReport } from "../journeys/witness.ts";
import { HeldReports } from "./held-reports.ts";

const endpoint = {
  cluster: "east",
  service: "shop/web",
  address: "10.0.0.1",
  port: 8080,
  podUid: "a",
};
const journey: Journey = {
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

/** The copies have shown a change. */
function shown(podUid = "a"): JourneyEvent {
  const hop = { hop: "synced", witness: "access", state: { type: "shown", lagMs: 0 } } as const;
  return { type: "shown", journey: { ...journey, endpoint: { ...endpoint, podUid } }, hop };
}

describe("what a watch tells late", () => {
  let nowMs = 0;
  let passed: string[] = [];
  let held: HeldReports;

  beforeEach(() => {
    nowMs = 60_000;
    passed = [];
    held = new HeldReports({
      clock: { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => 0 as WallMs },
      sink: {
        report: ({ witness, direction }) => passed.push(`${witness.hop} ${direction}`),
        follow: () => undefined,
        unfollow: () => undefined,
      },
    });
    held.onEvent(shown());
  });

  test.each([
    ["join", "leave"],
    ["leave", "join"],
  ] as const)("is of the past when it is taken back at once: a %s", (one, other) => {
    held.report(told("published", one, 40_000));
    held.report(told("published", other, 40_000));
    nowMs += 60_000;
    held.look();
    expect(passed).toEqual([]);
  });

  test("counts for how it ended, once it has told all", () => {
    for (const direction of ["leave", "join", "leave"] as const) {
      held.report(told("published", direction, 40_000));
    }
    held.look();
    expect(passed).toEqual([]);
    nowMs += 500;
    held.look();
    expect(passed).toEqual(["published leave"]);
  });

  test("ends with what it tells in time", () => {
    held.report(told("published", "leave", 40_000));
    held.report(told("published", "join", 40_000));
    held.report(told("published", "leave"));
    expect(passed).toEqual(["published leave"]);
  });

  test("is news when others have told nothing since, or when it is not taken back at once", () => {
    held.report(told("pod", "leave", 60_001));
    held.report(told("pod", "join", 40_000));
    nowMs += 500;
    held.report(told("pod", "leave", 60_001));
    expect(passed).toEqual(["pod leave", "pod join", "pod leave"]);
  });

  test("of a list is nothing when an endpoint only moved from one object to another", () => {
    held.report(told("published", "leave", 60_001));
    held.report(told("published", "join", 60_001));
    nowMs += 500;
    held.look();
    expect(passed).toEqual([]);
  });

  test("is no longer doubted when it is too long ago to be told now", () => {
    nowMs += 600_001;
    held.onEvent(shown("b"));
    held.report(told("pod", "join", 40_000));
    expect(passed).toEqual(["pod join"]);
  });
});
