import { expect, test } from "vitest";
import { isFirstHeard } from "./first-heard.ts";
import type { HopState, HopTime } from "./journey.ts";

function shown(hop: HopTime["hop"], lagMs = 0): HopTime {
  return { hop, witness: "alpha", state: { type: "shown", lagMs } };
}

test("what is published first is no lag of nothing where the pod is not heard", () => {
  const hops = [shown("published"), shown("routed", 40)];
  expect(hops.map((hop) => isFirstHeard({ hops }, hop))).toEqual([true, false]);
});

test.each<readonly [HopState["type"], HopState, boolean]>([
  ["unchanged", { type: "unchanged" }, true],
  ["pending", { type: "pending" }, false],
  ["shown", { type: "shown", lagMs: 30 }, false],
])("a pod that is %s was or was not heard of it", (_, state, isFirst) => {
  const hops: readonly HopTime[] = [{ hop: "pod", witness: "alpha", state }, shown("published")];
  expect(hops.map((hop) => isFirstHeard({ hops }, hop))).toEqual([false, isFirst]);
});
