import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { LateBurst } from "./late-burst.ts";

test("a burst goes on as long as late words follow each other closely", () => {
  const burst = new LateBurst();
  const isOn = (at: number): boolean => burst.isOn(at as MonotonicMs);
  expect(isOn(0)).toBe(false);
  burst.goOn(100 as MonotonicMs);
  expect([isOn(100), isOn(149), isOn(150)]).toEqual([true, true, false]);
  burst.goOn(149 as MonotonicMs);
  expect([isOn(150), isOn(199)]).toEqual([true, false]);
});
