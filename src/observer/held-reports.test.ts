import { beforeEach, describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { Journey } from "../journeys/journey.ts";
import type { JourneyEvent } from "../journeys/journey-event.ts";
import type { Direction, Hop, WitnessReport } from "../journeys/witness.ts";
import { HeldReports } from "./held-reports.ts";

const service = { cluster: "east", service: "shop/web" };
const endpoint = { ...service, address: "10.0.0.1", port: 8080, podUid: "a" };

/** A leave that began at 50 s. */
const journey: Journey = {
  id: 1,
  endpoint,
  podName: "web-1",
  direction: "leave",
  cause: "deleted",
  origin: { at: 50_000 as MonotonicMs, notBefore: undefined },
  hops: [{ hop: "synced", witness: "access", state: { type: "shown", lagMs: 0 } }],
  outcome: "complete",
};

/** The copies have shown it, and nobody else. */
function shown(podUid = "a"): JourneyEvent {
  const [hop] = journey.hops;
  if (hop === undefined) throw new Error("it is shown by the copies");
  return { type: "shown", journey: { ...journey, endpoint: { ...endpoint, podUid } }, hop };
}

describe("what a watch tells late", () => {
  let nowMs = 0;
  let passed: string[] = [];
  let open: string[] = [];
  let held: HeldReports;

  beforeEach(() => {
    nowMs = 60_000;
    passed = [];
    open = [];
    held = new HeldReports({
      clock: { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => 0 as WallMs },
      awaits: ({ witness, direction }) => open.includes(`${witness.hop} ${direction}`),
      sink: {
        report: ({ witness, direction }) => passed.push(`${witness.hop} ${direction}`),
        follow: () => passed.push("follow"),
        unfollow: () => passed.push("unfollow"),
      },
    });
  });

  function tell(hop: Hop, direction: Direction, more: Partial<WitnessReport> = {}): void {
    const witness = { hop, name: "east" };
    held.report({ witness, endpoint, direction, at: nowMs as MonotonicMs, ...more });
  }

  const since = (at: number) => ({ notBefore: at as MonotonicMs });

  function pass(ms: number): void {
    nowMs += ms;
    held.look();
  }

  test.each([
    ["join", "leave"],
    ["leave", "join"],
  ] as const)(
    "is of the past when others have told since and it is taken back: a %s",
    (...told) => {
      held.onEvent(shown());
      for (const direction of told) {
        tell("published", direction, since(40_000));
        nowMs += 100;
      }
      pass(60_000);
      expect(passed).toEqual([]);
    },
  );

  test("is what happened, in order, when nobody has told of anything since", () => {
    held.onEvent(shown());
    for (const direction of ["join", "leave", "join"] as const) {
      tell("pod", direction, since(50_001));
      nowMs += 100;
    }
    expect(passed).toEqual([]);
    pass(2_000);
    expect(passed).toEqual(["pod join", "pod leave", "pod join"]);
  });

  test("counts for how it ended when it comes at once", () => {
    for (const direction of ["leave", "join", "leave"] as const) tell("pod", direction, since(1));
    pass(1_999);
    expect(passed).toEqual([]);
    pass(1);
    expect(passed).toEqual(["pod leave"]);
  });

  test("passes at once when it shows what is open, and the rest is then of the past", () => {
    held.onEvent(shown());
    open = ["pod leave"];
    tell("pod", "leave", since(40_000));
    expect(passed).toEqual(["pod leave"]);
    open = [];
    nowMs += 100;
    tell("pod", "join", since(40_000));
    nowMs += 100;
    tell("pod", "leave", since(40_000));
    pass(2_000);
    expect(passed).toEqual(["pod leave"]);
  });

  test("counts for how it ended, whatever has been opened while it was held back", () => {
    tell("published", "leave", since(40_000));
    tell("published", "join", since(40_000));
    open = ["published leave"];
    pass(2_000);
    expect(passed).toEqual([]);
  });

  test("of a list is nothing when an endpoint only moved from one object to another", () => {
    open = ["published leave"];
    tell("published", "leave", { ...since(60_000), partOf: "list" });
    nowMs += 100;
    tell("published", "join", { ...since(60_000), partOf: "list" });
    pass(2_000);
    expect(passed).toEqual([]);
  });

  test("of a pod and of its service is nothing when one takes back what the other makes", () => {
    tell("pod", "join", since(40_000));
    nowMs += 1_000;
    tell("pod", "leave", { ...since(40_000), partOf: "service" });
    pass(2_000);
    expect(passed).toEqual([]);
  });

  test("holds back what others say of the address, and all is told in order", () => {
    tell("pod", "leave", since(40_000));
    nowMs += 100;
    tell("routed", "leave");
    nowMs += 100;
    tell("published", "leave");
    expect(passed).toEqual([]);
    pass(2_000);
    expect(passed).toEqual(["pod leave", "routed leave", "published leave"]);
  });

  test("is told before its service is unfollowed, and not if that comes back", () => {
    const witness = { hop: "pod", name: "east" } as const;
    tell("pod", "leave", since(40_000));
    held.unfollow(witness, service);
    pass(2_000);
    expect(passed).toEqual(["pod leave", "unfollow"]);
    tell("pod", "join", since(40_000));
    held.unfollow(witness, service);
    held.follow(witness, service);
    pass(2_000);
    expect(passed).toEqual(["pod leave", "unfollow", "follow", "pod join"]);
  });

  test("is told when nothing more will be", () => {
    tell("pod", "leave", since(40_000));
    held.end();
    expect(passed).toEqual(["pod leave"]);
  });

  test("may be in time for all that the watch knows, but others have told of a change before", () => {
    held.onEvent(shown());
    tell("pod", "leave");
    tell("pod", "join");
    pass(2_000);
    expect(passed).toEqual([]);
    tell("pod", "leave");
    pass(2_000);
    expect(passed).toEqual(["pod leave"]);
  });

  test("is no longer doubted when it is too long ago to be told now", () => {
    held.onEvent(shown());
    nowMs += 600_001;
    held.onEvent(shown("b"));
    tell("pod", "join");
    expect(passed).toEqual(["pod join"]);
  });
});
