import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { DepartedPods, maxDeparted, rememberDepartedMs } from "./departed-pods.ts";

const seen = { isWitnessed: true };

function world() {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => nowMs as WallMs };
  const departed = new DepartedPods({ clock });
  const passMs = (ms: number) => {
    nowMs += ms;
  };
  return { departed, passMs };
}

test("a pod that went is remembered, and forgotten when the time is over", () => {
  const { departed, passMs } = world();
  departed.add("a", seen);
  passMs(rememberDepartedMs);
  departed.add("b", seen);
  expect(["a", "b"].map((uid) => departed.get(uid)?.atMs)).toEqual([0, rememberDepartedMs]);
  passMs(1);
  departed.add("c", seen);
  expect(["a", "b", "c"].map((uid) => departed.get(uid)?.atMs)).toEqual([
    undefined,
    rememberDepartedMs,
    rememberDepartedMs + 1,
  ]);
});

test("of too many the first to go are forgotten", () => {
  const { departed } = world();
  for (let number = 0; number <= maxDeparted; number += 1) departed.add(`pod-${number}`, seen);
  expect(["pod-0", "pod-1"].map((uid) => departed.get(uid)?.atMs)).toEqual([undefined, 0]);
});

test("a pod that went twice went when and how it was last seen to go", () => {
  const { departed, passMs } = world();
  departed.add("a", { isWitnessed: false });
  departed.add("b", seen);
  passMs(rememberDepartedMs);
  departed.add("a", seen);
  passMs(1);
  departed.add("c", seen);
  expect(["a", "b"].map((uid) => departed.get(uid))).toEqual([
    { atMs: rememberDepartedMs, isWitnessed: true },
    undefined,
  ]);
});
