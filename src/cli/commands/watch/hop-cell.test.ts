import { expect, test } from "vitest";
import { at, type ChangeFields, change } from "../../../../tests/cli/watched-changes.ts";
import type { HopState, Journey, LeaveTraffic } from "../../../timeline/journey.ts";
import { hopCell, isSlow } from "./hop-cell.ts";

const judging = { now: at(60_000), slowMs: 2_000 };

function cell(fields: ChangeFields, traffic?: Partial<LeaveTraffic>): string {
  const journey: Journey = {
    ...change(fields),
    ...(traffic && { traffic: { requests: 0, failed: 0, lastFailedAt: undefined, ...traffic } }),
  };
  const { text, tone } = hopCell(journey, "traffic", judging);
  return `${text} (${tone})`;
}

test.each([
  ["…", "nothing yet", { outcome: "pending", hops: { traffic: "pending" } }, {}, "quiet"],
  [
    "7 req",
    "answered",
    { outcome: "pending", hops: { traffic: "pending" } },
    { requests: 7 },
    "plain",
  ],
  ["✗3 fail", "failed", { hops: { traffic: 900 } }, { requests: 7, failed: 3 }, "failed"],
  ["no req", "none came", { hops: { traffic: "quiet" } }, {}, "quiet"],
  ["▲31 s", "the last one late", { hops: { traffic: 31_000 } }, {}, "late"],
  ["31 s", "the first one", { direction: "join", hops: { traffic: 31_000 } }, {}, "plain"],
  ["✗3 fail", "a log that ended", { hops: {} }, { requests: 7, failed: 3 }, "failed"],
  ["?", "no log", { hops: {} }, {}, "quiet"],
] as const)("%s stands for requests: %s", (text, _, fields, traffic, tone) => {
  expect(cell(fields, traffic)).toBe(`${text} (${tone})`);
});

test("a proxy that reports a change before the pod's own event is first, and not 0 late", () => {
  const routed = (hops: NonNullable<ChangeFields["hops"]>): string =>
    hopCell(change({ hops }), "routed", judging).text;
  expect(routed({ pod: 45, routed: 0 })).toBe("first");
  expect(routed({ pod: 0, routed: 0 })).toBe("0");
});

test.each([
  [{ minMs: 300, maxMs: undefined }, "≥300 ms"],
  [{ minMs: 300, maxMs: 1_300 }, "≥300 ms"],
  [{ minMs: 0, maxMs: 300 }, "≤300 ms"],
  [{ minMs: 100, maxMs: 400 }, "~300 ms"],
])("a lag of 300 ms that is only known to be within %j is %s", (range, text) => {
  const state: HopState = { type: "shown", lagMs: 300, range };
  const journey = { ...change(), hops: [{ hop: "routed", witness: "r1", state } as const] };
  expect(hopCell(journey, "routed", judging).text).toBe(text);
});

test.each([
  ["~9 s", "its watch was interrupted, so it may have been at once", { minMs: 0, maxMs: 40_000 }],
  ["▲~9 s", "even the least is too much", { minMs: 3_000, maxMs: 40_000 }],
  ["▲≥9 s", "it was longer than that", { minMs: 9_000, maxMs: 40_000 }],
  ["▲≤9 s", "a proxy was asked after long", { minMs: 1_000, maxMs: 9_000 }],
])("a lag of 9 s is shown as %s: %s", (text, _, range) => {
  const state: HopState = { type: "shown", lagMs: 9_000, range };
  const journey = { ...change(), hops: [{ hop: "published", witness: "alpha", state } as const] };
  expect(hopCell(journey, "published", judging).text).toBe(text);
  expect(isSlow(journey, judging)).toBe(text.startsWith("▲"));
});

test("requests that failed make a change worth a line of its own, those awaited do not", () => {
  const waiting = change({ outcome: "pending", hops: { pod: 0, traffic: "pending" } });
  expect(isSlow(waiting, judging)).toBe(false);
  const traffic = { requests: 1, failed: 1, lastFailedAt: at(9_000) };
  expect(isSlow({ ...waiting, traffic }, judging)).toBe(true);
});
