import { expect, test } from "vitest";
import type { Clock, MonotonicMs } from "./clock.ts";
import { atOnce, inSlices, type Steps, sliceSteps } from "./steps.ts";

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
