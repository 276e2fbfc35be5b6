import { expect, test } from "vitest";
import { isFirstHeard } from "./first-heard.ts";
import type { HopState, HopTime } from "./journey.ts";

const endpoint = {
  cluster: "alpha",
  service: "shop/web",
  address: "10.0.0.7",
  port: 8080,
  podUid: "uid",
};

function shown(hop: HopTime["hop"], lagMs = 0): HopTime {
  return { hop, witness: "alpha", state: { type: "shown", lagMs } };
}

test("what is published first is no lag of nothing where the pod is not heard", () => {
  const hops = [shown("published"), shown("routed", 40)];
  expect(hops.map((hop) => isFirstHeard({ endpoint, hops }, hop))).toEqual([true, false]);
});

test.each<readonly [HopState["type"], HopState, boolean]>([
  ["unchanged", { type: "unchanged" }, true],
  ["pending", { type: "pending" }, false],
  ["shown", { type: "shown", lagMs: 30 }, false],
])("a pod that is %s was or was not heard of it", (_, state, isFirst) => {
  const hops: readonly HopTime[] = [{ hop: "pod", witness: "alpha", state }, shown("published")];
  expect(hops.map((hop) => isFirstHeard({ endpoint, hops }, hop))).toEqual([false, isFirst]);
});

test("an endpoint without a pod begins where it is published", () => {
  const hops = [shown("published")];
  const foreign = { ...endpoint, podUid: undefined };
  expect(hops.map((hop) => isFirstHeard({ endpoint: foreign, hops }, hop))).toEqual([false]);
});
