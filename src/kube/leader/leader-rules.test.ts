import { expect, test } from "vitest";
import type { WallMs } from "../../environment/clock.ts";
import {
  checkElectionTimes,
  defaultElectionTimes,
  ElectionTimesError,
  freeRecord,
  heldRecord,
  mayTake,
  renewStamp,
} from "./leader-rules.ts";
import type { LeaderRecord } from "./lease-record.ts";

const held: LeaderRecord = {
  holder: "a",
  leaseDurationMs: 15_000,
  acquireTime: "2026-01-01T00:00:00.000000Z",
  renewTime: "2026-01-01T00:00:10.000000Z",
  transitions: 11,
};

test.each([{}, { leaseDurationMs: 30_000, renewDeadlineMs: 15_000, retryPeriodMs: 7_500 }])(
  "the times $leaseDurationMs/$renewDeadlineMs/$retryPeriodMs are safe",
  (times) => {
    expect(() => checkElectionTimes({ ...defaultElectionTimes, ...times })).not.toThrow();
  },
);

test.each([
  {
    times: { renewDeadlineMs: 15_000 },
    problem: "the lease duration (15000 ms) must be longer than the renew deadline (15000 ms)",
  },
  {
    times: { retryPeriodMs: 9_000 },
    problem:
      "the renew deadline (10000 ms) must be longer than 1.2 times the retry period (9000 ms)",
  },
  { times: { retryPeriodMs: 0 }, problem: "the retry period must be positive, not 0 ms" },
  {
    times: { leaseDurationMs: 15_500 },
    problem:
      "the lease duration must be whole seconds, not 15500 ms: " +
      "the Lease would store less, and others would take it too early",
  },
])("unsafe times are refused: $problem", ({ times, problem }) => {
  const check = () => checkElectionTimes({ ...defaultElectionTimes, ...times });
  expect(check).toThrow(new ElectionTimesError(problem));
});

test.each([
  { why: "it has no holder", change: { holder: "" }, unchangedMs: 0, may: true },
  { why: "we hold it", change: { holder: "me" }, unchangedMs: 0, may: true },
  { why: "its holder renewed it lately", change: {}, unchangedMs: 14_999, may: false },
  { why: "its holder has not renewed it", change: {}, unchangedMs: 15_000, may: true },
  {
    why: "the holder wrote a longer duration",
    change: { leaseDurationMs: 60_000 },
    unchangedMs: 59_999,
    may: false,
  },
])("a lock may be taken: $may, because $why", ({ change, unchangedMs, may }) => {
  const record = { ...held, ...change };
  expect(mayTake({ record, identity: "me", unchangedMs, mayDepose: false })).toBe(may);
});

test("a lock renewed a moment ago may be taken from a holder we are allowed to depose", () => {
  expect(mayTake({ record: held, identity: "me", unchangedMs: 0, mayDepose: true })).toBe(true);
});

test("the next record counts a transition exactly when the holder changes", () => {
  const now = "2026-01-01T00:01:00.000000Z";
  const leaseDurationMs = 15_000;
  const next = (previous: LeaderRecord | undefined, identity: string) =>
    heldRecord({ previous, identity, leaseDurationMs, now });
  const taken = { holder: "b", leaseDurationMs, acquireTime: now, renewTime: now };
  expect([
    next(undefined, "b"),
    next(held, "a"),
    next(held, "b"),
    next({ ...held, holder: "" }, "b"),
  ]).toEqual([
    { ...taken, transitions: 0 },
    { ...held, renewTime: now },
    { ...taken, transitions: 12 },
    { ...taken, transitions: 12 },
  ]);
  expect(freeRecord(held, now)).toEqual({
    ...taken,
    holder: "",
    leaseDurationMs: 1000,
    transitions: 11,
  });
});

test("two renewals differ in their text even when the wall clock stands still", () => {
  const wall = Date.UTC(2026, 0, 2, 3, 4, 5, 678) as WallMs;
  expect([renewStamp(wall, 1), renewStamp(wall, 2), renewStamp(wall, 1000)]).toEqual([
    "2026-01-02T03:04:05.678001Z",
    "2026-01-02T03:04:05.678002Z",
    "2026-01-02T03:04:05.678000Z",
  ]);
});
