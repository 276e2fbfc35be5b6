import { expect, test } from "vitest";
import { change, tell } from "../../../../tests/cli/watched-changes.ts";
import type { HopTime, Journey } from "../../../timeline/journey.ts";
import { shownHops } from "./change-line.ts";
import { WatchTally } from "./tally.ts";

const slow = { slowMs: 2_000 };

test("changes in flight are counted by what is alike, step by step, and forgotten when over", () => {
  const tally = new WatchTally(slow);
  const hops = { pod: 0, published: "pending", routed: "pending" } as const;
  const pending = { outcome: "pending", hops } as const;
  for (const id of [1, 2, 3]) tell(tally, change({ id, ...pending }));
  tell(tally, change({ id: 4, ...pending, direction: "join", cause: "ready" }));
  tell(tally, change({ id: 2, outcome: "pending", hops: { ...hops, published: 40 } }));
  const groups = () =>
    tally.inFlight.groups().map(({ direction, count, shownAt }) => {
      return `${direction} ${shownAt.get("published")}/${count}`;
    });
  expect(groups()).toEqual(["leave 1/3", "join 0/1"]);
  for (const id of [1, 2, 3, 4]) tell(tally, change({ id, hops: { pod: 0, published: 50 } }));
  expect(groups()).toEqual([]);
  expect([tally.inFlight.size, tally.changes]).toEqual([0, 4]);
});

test("a change is stuck until it is over, and is remembered to have been", () => {
  const tally = new WatchTally(slow);
  const stuck = change({
    outcome: "pending",
    hops: { pod: 0, published: "stuck", routed: "stuck" },
  });
  tell(tally, change({ outcome: "pending", hops: { pod: 0, published: "pending" } }));
  for (const hop of stuck.hops.slice(1)) tally.onEvent({ type: "stuck", journey: stuck, hop });
  expect([tally.inFlight.stuck, tally.everStuck]).toEqual([1, 1]);
  expect(tally.inFlight.stuckOnes(5)).toEqual([stuck]);
  expect(tally.inFlight.isAnyStuckAt("routed", "leave")).toBe(true);
  expect(tally.inFlight.isAnyStuckAt("routed", "join")).toBe(false);
  tell(tally, change({ hops: { pod: 0, published: 61_000, routed: 62_000 } }));
  expect([tally.inFlight.stuck, tally.everStuck, tally.slow]).toEqual([0, 1, 1]);
});

test("the slowest five are kept, by the last hop that showed them", () => {
  const tally = new WatchTally(slow);
  for (const [index, lag] of [10, 90, 30, 70, 50, 20, 80].entries()) {
    tell(tally, change({ id: index + 1, hops: { pod: 0, published: 5, routed: lag } }));
  }
  const lags = tally.slowest.map(({ hops }) => hops.at(-1)?.state);
  expect(lags).toEqual([90, 80, 70, 50, 30].map((lagMs) => ({ type: "shown", lagMs })));
});

test("the slowest are as they ended, also where their lag is in no figure", () => {
  const tally = new WatchTally(slow);
  const range = { minMs: 300, maxMs: undefined };
  const inexact = (id: number): Journey => {
    const state = { type: "shown", lagMs: 300, range } as const;
    return { ...change({ id, hops: {} }), hops: [{ hop: "published", witness: "alpha", state }] };
  };
  tell(tally, inexact(1));
  tell(tally, change({ id: 2, hops: { pod: 0, published: 200 } }));
  tell(tally, change({ id: 3, hops: { pod: 0, published: 400 } }));
  expect(tally.slowest.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
    "3 complete",
    "1 complete",
    "2 complete",
  ]);
});

test("a change of which no lag is known is none of the slowest", () => {
  const tally = new WatchTally(slow);
  tell(tally, change({ id: 1, hops: { published: 0 } }));
  tell(tally, change({ id: 2, hops: { pod: 0 } }));
  expect(tally.slowest).toEqual([]);
});

test("a lag since an unknown moment is in no figure, nor one known within wide bounds only", () => {
  const tally = new WatchTally(slow);
  let id = 0;
  const shown = (lagMs: number, minMs: number, maxMs: number | undefined): void => {
    id += 1;
    const journey = change({ id, outcome: "pending", hops: {} });
    const hop: HopTime = {
      hop: "routed",
      witness: "r1",
      state: { type: "shown", lagMs, range: { minMs, maxMs } },
    };
    tally.onEvent({ type: "shown", journey: { ...journey, hops: [hop] }, hop });
  };
  // It began before the start, or some time before a list told of it.
  shown(300, 300, undefined);
  shown(30, 0, 1_300);
  // The proxy was asked a minute before, and a second before.
  shown(60_000, 300, 60_000);
  shown(1_300, 300, 1_300);
  expect(tally.lags("routed", "leave")?.count).toBe(1);
  expect(tally.lags("routed", "leave")?.maxMs).toBe(1_300);
});

test("a change is not slow because the watch that told of it was interrupted", () => {
  const tally = new WatchTally(slow);
  const journey = change({ outcome: "pending", notBeforeMs: 0, hops: { published: 0 } });
  const range = { minMs: 0, maxMs: 40_000 };
  const hop: HopTime = {
    hop: "pod",
    witness: "alpha",
    state: { type: "shown", lagMs: 3_000, range },
  };
  tally.onEvent({ type: "shown", journey: { ...journey, hops: [hop, ...journey.hops] }, hop });
  expect([tally.changes, tally.slow]).toEqual([1, 0]);
});

test("a hop that told first only because no pod is heard has no figure", () => {
  const tally = new WatchTally(slow);
  tell(tally, change({ id: 1, hops: { published: 0, routed: 70 } }));
  expect(tally.lags("published", "leave")).toBeUndefined();
  expect(tally.lags("routed", "leave")?.maxMs).toBe(70);
  expect(tally.cluster("alpha")?.lags.leave.maxMs).toBe(70);
});

test("what is published without a pod behind it has no figure at the hop where it begins", () => {
  const tally = new WatchTally(slow);
  const withPod = change({ hops: { published: 0, routed: 70 } });
  tell(tally, { ...withPod, endpoint: { ...withPod.endpoint, podUid: undefined } });
  expect(tally.lags("published", "leave")).toBeUndefined();
  expect(tally.lags("routed", "leave")?.maxMs).toBe(70);
});

test("changes whose origin is not known exactly are counted as such", () => {
  const tally = new WatchTally(slow);
  tell(tally, change({ id: 1, outcome: "pending", notBeforeMs: 0, hops: { pod: 0 } }));
  tell(tally, change({ id: 2, outcome: "pending", hops: { pod: 0 } }));
  expect([tally.changes, tally.inexact]).toEqual([2, 1]);
});

test("a change that waits for nothing but requests is not in flight any more", () => {
  const tally = new WatchTally(slow);
  const hops = { pod: 0, published: 40, traffic: "pending" } as const;
  tell(tally, change({ outcome: "pending", hops: { ...hops, published: "pending" } }));
  expect([tally.inFlight.size, tally.inFlight.settled]).toEqual([1, 0]);
  tell(tally, change({ outcome: "pending", hops }));
  expect([tally.inFlight.size, tally.inFlight.settled]).toEqual([0, 1]);
  tell(tally, change({ hops: { ...hops, traffic: "quiet" } }));
  expect([tally.inFlight.size, tally.inFlight.settled, tally.changes]).toEqual([0, 0, 1]);
});

test("what a witness agrees with in silence is seen when it is looked at again", () => {
  const tally = new WatchTally(slow);
  tell(tally, change({ outcome: "pending", hops: { published: 40, routed: "pending" } }));
  const agreed = change({ outcome: "pending", hops: { published: 40, routed: "unchanged" } });
  const over = change({ id: 2, outcome: "pending", hops: { published: "pending" } });
  tally.refresh([agreed, over]);
  expect([tally.inFlight.size, tally.inFlight.settled]).toEqual([0, 1]);
});

test("a pod that is late itself is to be seen from then on, and one that is last by a little is not", () => {
  const tally = new WatchTally(slow);
  tell(tally, change({ id: 1, hops: { published: 0, pod: 1_900 } }));
  expect(shownHops(tally)).toEqual(["published", "routed"]);
  tell(tally, change({ id: 2, hops: { published: 0, pod: 2_000 } }));
  tell(tally, change({ id: 3, hops: { pod: 0, published: 40 } }));
  expect(shownHops(tally)).toEqual(["pod", "published", "routed"]);
  expect(tally.slowest.map(({ id }) => id)).toEqual([3, 1, 2]);
});
