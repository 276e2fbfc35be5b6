import fc from "fast-check";
import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { ClockSkew, stampResolutionMs } from "./clock-skew.ts";

const anchor = { wallMs: 1_700_000_000_000 as WallMs, monotonicMs: 0 as MonotonicMs };
const at = (value: number) => value as MonotonicMs;

/** The stamp of a clock that is behind ours by so much, and when it arrives. */
function stamped(trueMs: number, skewMs: number, by = "n1") {
  const wall = anchor.wallMs + trueMs - skewMs;
  return { at: (wall - (((wall % 1_000) + 1_000) % 1_000)) as WallMs, by };
}

test("nothing is reported about the clocks before there is evidence", () => {
  const skew = new ClockSkew(anchor);
  skew.note(stamped(0, 0), at(5));
  skew.note(stamped(10, 0), at(15));
  expect(skew.interval).toBeUndefined();
  expect(skew.beforeMs(stamped(0, 0), at(5))).toBeUndefined();
});

test("the true difference is in the interval when each clock once reported within a second", () => {
  const delays = fc.array(fc.nat(20_000), { minLength: 3, maxLength: 40 });
  const skews = fc.integer({ min: -3_600_000, max: 3_600_000 });
  fc.assert(
    fc.property(delays, skews, fc.integer({ min: 0, max: 999 }), (delaysMs, skewMs, quickMs) => {
      const skew = new ClockSkew(anchor);
      for (const [index, delayMs] of [...delaysMs, 0].entries()) {
        const happenedAt = index * 3_000 + quickMs;
        skew.note(stamped(happenedAt, skewMs), at(happenedAt + delayMs));
      }
      const { lowMs = Number.NaN, highMs = Number.NaN } = skew.interval ?? {};
      expect(lowMs).toBeLessThanOrEqual(skewMs);
      expect(highMs).toBeGreaterThanOrEqual(skewMs);
      expect(highMs - lowMs).toBe(stampResolutionMs);
    }),
  );
});

test("how long before the origin something was is right within the known bounds", () => {
  const skew = new ClockSkew(anchor);
  for (let second = 0; second < 10; second += 1) {
    skew.note(stamped(second * 1_000, 90_000), at(second * 1_000 + 4));
  }
  expect(skew.interval).toEqual({ lowMs: 89_004, highMs: 90_004 });
  const late = stamped(20_000, 90_000);
  expect(skew.beforeMs(late, at(27_000))).toEqual({ minMs: 5_996, maxMs: 7_996 });
  expect(skew.beforeMs(late, at(20_000))).toEqual({ minMs: 0, maxMs: 996 });
});

test("one kubelet whose clock is wrong does not move the estimate", () => {
  const skew = new ClockSkew(anchor);
  for (let second = 0; second < 30; second += 1) {
    const by = `n${second % 3}`;
    const wrongMs = by === "n2" ? -600_000 : 0;
    skew.note(stamped(second * 1_000, wrongMs, by), at(second * 1_000 + 2));
  }
  expect(skew.interval).toEqual({ lowMs: -998, highMs: 2 });
});

test("a clock that is set right is believed after two periods", () => {
  const skew = new ClockSkew(anchor);
  const minuteMs = 60_000;
  for (let minute = 0; minute < 40; minute += 1) {
    const skewMs = minute < 5 ? -30_000 : 0;
    skew.note(stamped(minute * minuteMs, skewMs), at(minute * minuteMs));
  }
  expect(skew.interval).toEqual({ lowMs: -1_000, highMs: 0 });
});

test("clocks that no longer report are forgotten after two periods and make room", () => {
  const skew = new ClockSkew(anchor);
  for (let node = 0; node < 64; node += 1) skew.note(stamped(0, -30_000, `gone-${node}`), at(0));
  for (let minute = 11; minute < 40; minute += 1) {
    skew.note(stamped(minute * 60_000, 0, "n1"), at(minute * 60_000));
  }
  expect(skew.interval).toEqual({ lowMs: -1_000, highMs: 0 });
});

test("only so many clocks are kept", () => {
  const skew = new ClockSkew(anchor);
  for (let node = 0; node < 5_000; node += 1) {
    skew.note(stamped(0, node < 64 ? 1_000 : 9_000_000, `n${node}`), at(0));
  }
  expect(skew.interval).toEqual({ lowMs: 0, highMs: 1_000 });
});

test("after quiet hours nothing is known of the clocks, also for who only asks", () => {
  const skew = new ClockSkew(anchor);
  for (let second = 0; second < 10; second += 1) {
    skew.note(stamped(second * 1_000, 90_000), at(second * 1_000));
  }
  const periodMs = 600_000;
  const asked = (atMs: number) => skew.beforeMs(stamped(atMs, 90_000), at(atMs));
  expect(asked(2 * periodMs - 1_000)).toEqual({ minMs: 0, maxMs: 1_000 });
  expect(asked(2 * periodMs)).toBeUndefined();
  expect(skew.interval).toBeUndefined();
});
