import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { DepartedPods, maxDeparted, rememberDepartedMs } from "./departed-pods.ts";

const seen = { isWitnessed: true, namespace: "shop" };

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
  departed.add("a", { ...seen, isWitnessed: false });
  departed.add("b", seen);
  passMs(rememberDepartedMs);
  departed.add("a", seen);
  passMs(1);
  departed.add("c", seen);
  expect(["a", "b"].map((uid) => departed.get(uid))).toEqual([
    { atMs: rememberDepartedMs, isWitnessed: true, namespace: "shop" },
    undefined,
  ]);
});

test("a namespace that loses very many pods makes none of another forgotten", () => {
  const { departed } = world();
  departed.add("quiet", { isWitnessed: true, namespace: "quiet" });
  for (let number = 0; number <= maxDeparted; number += 1) departed.add(`pod-${number}`, seen);
  const last = `pod-${maxDeparted}`;
  expect(["quiet", "pod-0", last].map((uid) => departed.get(uid)?.atMs)).toEqual([0, undefined, 0]);
});
