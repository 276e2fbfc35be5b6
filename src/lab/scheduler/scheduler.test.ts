import { expect, test } from "vitest";
import { nodeKind } from "../../kube/kinds/node.ts";
import { chooseNode } from "./scheduler.ts";

function node(name: string, status = "True", spec: object = {}) {
  const metadata = { name, uid: name, resourceVersion: "1" };
  const conditions = [{ type: "Ready", status }];
  return nodeKind.project({ metadata, spec, status: { conditions } });
}

test.each([
  ["the one with the fewest pods", [node("a"), node("b")], { a: 3, b: 2 }, "b"],
  ["the first by name of equal ones", [node("b"), node("a")], { a: 1, b: 1 }, "a"],
  ["one that is ready", [node("a", "Unknown"), node("b", "False"), node("c")], { c: 9 }, "c"],
  ["one that may be used", [node("a", "True", { unschedulable: true }), node("b")], { b: 9 }, "b"],
  [
    "one without a taint that forbids it",
    [node("a", "True", { taints: [{ key: "k", effect: "NoSchedule" }] }), node("b")],
    { b: 9 },
    "b",
  ],
  ["none when none will do", [node("a", "False")], {}, undefined],
])("a pod gets %s", (_, nodes, pods: Readonly<Record<string, number>>, expected) => {
  expect(chooseNode(nodes, (name) => pods[name] ?? 0)?.metadata.name).toBe(expected);
});
