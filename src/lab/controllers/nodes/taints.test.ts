import { expect, test } from "vitest";
import { ownedPodKind } from "../owned-pod.ts";
import { toleratedMs } from "./taints.ts";

const unreachable = { key: "node.kubernetes.io/unreachable", value: "", effect: "NoExecute" };
const special = { key: "special", value: "yes", effect: "NoExecute" };
const forever = Number.POSITIVE_INFINITY;

function tolerated(tolerations: readonly object[], taints = [unreachable]): number {
  const metadata = { namespace: "default", name: "p", uid: "u", resourceVersion: "1" };
  return toleratedMs(ownedPodKind.project({ metadata, spec: { tolerations } }), taints);
}

test.each([
  ["none", [], 0],
  ["another key", [{ key: "other", operator: "Exists" }], 0],
  ["another effect", [{ key: unreachable.key, operator: "Exists", effect: "NoSchedule" }], 0],
  ["the key, for ever", [{ key: unreachable.key, operator: "Exists" }], forever],
  ["everything", [{ operator: "Exists" }], forever],
  ["for a time", [{ key: unreachable.key, operator: "Exists", tolerationSeconds: 300 }], 300_000],
  ["for no time", [{ key: unreachable.key, operator: "Exists", tolerationSeconds: -1 }], 0],
])("a pod that tolerates %s", (_, tolerations, expected) => {
  expect(tolerated(tolerations)).toBe(expected);
});

test("of several taints the shortest toleration counts, and each must be tolerated", () => {
  const both = [unreachable, special];
  const one = { key: unreachable.key, operator: "Exists", tolerationSeconds: 300 };
  expect(tolerated([one], both)).toBe(0);
  expect(tolerated([one, { key: "special", value: "no" }], both)).toBe(0);
  expect(tolerated([one, { key: "special", value: "yes" }], both)).toBe(300_000);
  const short = { key: "special", operator: "Equal", value: "yes", tolerationSeconds: 20 };
  expect(tolerated([one, short], both)).toBe(20_000);
});
