import { expect, test } from "vitest";
import { isFirstReported } from "./first-reported.ts";
import type { HopState, HopTime } from "./journey.ts";

function shown(hop: HopTime["hop"], lagMs = 0): HopTime {
  return { hop, witness: "alpha", state: { type: "shown", lagMs } };
}

test("a published change has an unknown lag, and not none, if the pod is not watched", () => {
  const hops = [shown("published"), shown("routed", 40)];
  expect(hops.map((hop) => isFirstReported({ hops }, hop))).toEqual([true, false]);
});

test.each<readonly [HopState["type"], HopState, boolean]>([
  ["unchanged", { type: "unchanged" }, true],
  ["pending", { type: "pending" }, false],
  ["shown", { type: "shown", lagMs: 30 }, false],
])("a pod that is %s has or has not reported it", (_, state, isFirst) => {
  const hops: readonly HopTime[] = [{ hop: "pod", witness: "alpha", state }, shown("published")];
  expect(hops.map((hop) => isFirstReported({ hops }, hop))).toEqual([false, isFirst]);
});
