import fc from "fast-check";
import { expect, test } from "vitest";
import type { Clock, MonotonicMs } from "./clock.ts";
import { ProcessorMeter } from "./processor.ts";
import { atOnce, inSlices, mapInSteps, type Steps, sliceSteps, sortedInSteps } from "./steps.ts";

function* countTo(last: number, onStep: (at: number) => void): Steps<string> {
  for (let at = 1; at <= last; at += 1) {
    onStep(at);
    yield;
  }
  return `counted to ${last}`;
}

/** A clock on which each look at it takes so long, and how far steps were at each breath. */
function world(stepMs: number) {
  let nowMs = 0;
  let step = 0;
  const breaths: number[] = [];
  const clock: Pick<Clock, "monotonicMs"> = {
    monotonicMs: () => {
      nowMs += stepMs;
      return nowMs as MonotonicMs;
    },
  };
  const breathe = async (): Promise<void> => void breaths.push(step);
  const onStep = (at: number): void => {
    step = at;
  };
  return { clock, timers: { breathe }, onStep, breaths };
}

test("steps are driven at once, and give their result", () => {
  expect(atOnce(countTo(3, () => undefined))).toBe("counted to 3");
});

test("others run between slices: after a millisecond, or after many steps", async () => {
  const slow = world(0.5);
  expect(await inSlices(countTo(6, slow.onStep), slow)).toBe("counted to 6");
  expect(slow.breaths).toEqual([2, 4, 6]);
  const quick = world(0);
  expect(await inSlices(countTo(2 * sliceSteps, quick.onStep), quick)).toContain("counted");
  expect(quick.breaths).toEqual([sliceSteps, 2 * sliceSteps]);
});

test("what goes wrong in a step is the caller's", async () => {
  const { clock, timers } = world(0);
  const steps = countTo(3, () => {
    throw new Error("no");
  });
  await expect(inSlices(steps, { clock, timers })).rejects.toThrow("no");
});

test("a list is mapped and sorted in steps as at once", () => {
  const list = fc.array(fc.record({ key: fc.nat(50), id: fc.nat() }), {
    maxLength: 2_000,
    size: "max",
  });
  fc.assert(
    fc.property(list, (all) => {
      const compare = (one: { key: number }, other: { key: number }) => one.key - other.key;
      expect(atOnce(sortedInSteps(all, compare))).toEqual([...all].sort(compare));
      expect(atOnce(mapInSteps(all, ({ id }) => id))).toEqual(all.map(({ id }) => id));
    }),
    { numRuns: 30 },
  );
});

test("no step goes over a whole list that is long", () => {
  const all = Array.from({ length: 10_000 }, (_, index) => (index * 7_919) % 10_000);
  let longest = 0;
  let compared = 0;
  const compare = (one: number, other: number): number => {
    compared += 1;
    return one - other;
  };
  for (const _ of sortedInSteps(all, compare)) {
    longest = Math.max(longest, compared);
    compared = 0;
  }
  expect(longest).toBeLessThan(all.length / 2);
});

test("the processor time of the slices is measured, without that of others in between", async () => {
  const { clock, onStep } = world(0.5);
  let spentMs = 0;
  const meter = new ProcessorMeter({ usedMs: () => spentMs });
  const count = countTo(5, (at) => {
    spentMs += 1;
    onStep(at);
  });
  const breathe = async (): Promise<void> => {
    spentMs += 100;
  };
  await inSlices(count, { clock, timers: { breathe }, meter });
  expect([meter.usedMs, spentMs]).toEqual([5, 205]);
});
