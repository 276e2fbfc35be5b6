import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { DepartedPods, maxDeparted, rememberDepartedMs } from "./departed-pods.ts";

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
  departed.add("a");
  passMs(rememberDepartedMs);
  departed.add("b");
  expect([departed.departedAt("a"), departed.departedAt("b")]).toEqual([0, rememberDepartedMs]);
  passMs(1);
  departed.add("c");
  expect(["a", "b", "c"].map((uid) => departed.departedAt(uid))).toEqual([
    undefined,
    rememberDepartedMs,
    rememberDepartedMs + 1,
  ]);
});

test("of too many the first to go are forgotten", () => {
  const { departed } = world();
  for (let number = 0; number <= maxDeparted; number += 1) departed.add(`pod-${number}`);
  expect([departed.departedAt("pod-0"), departed.departedAt("pod-1")]).toEqual([undefined, 0]);
});
