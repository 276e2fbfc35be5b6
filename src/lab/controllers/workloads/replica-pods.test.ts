import { expect, test } from "vitest";
import {
  type PodFields,
  podOf,
  wholeOf,
} from "../../../../tests/controllers/controller-objects.ts";
import type { WallMs } from "../../../environment/clock.ts";
import { wholeReplicaSets } from "../whole-object.ts";
import { hasStatus, inDeletionOrder, newPod, replicaSetStatus } from "./replica-pods.ts";

const template = {
  metadata: { labels: { app: "web", hash: "x" }, annotations: { note: "n" } },
  spec: { containers: [{ name: "c", image: "i" }] },
};
const set = wholeOf(
  wholeReplicaSets,
  "web-x",
  { spec: { replicas: 3, minReadySeconds: 10, template } },
  { generation: 4 },
);

test("a new pod follows the template and names its owner", () => {
  expect(newPod(set)).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: "web-x-",
      namespace: "default",
      labels: { app: "web", hash: "x" },
      annotations: { note: "n" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web-x",
          uid: "uid-web-x",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: template.spec,
  });
});

test("pods are given up in the order of what they are worth", () => {
  const pods: readonly [string, PodFields][] = [
    ["oldest", { ready: true, readyAt: "2026-01-01T00:00:10Z", node: "n2" }],
    ["ready-last", { ready: true, readyAt: "2026-01-01T00:00:30Z", node: "n3" }],
    ["crowded", { ready: true, readyAt: "2026-01-01T00:00:05Z", node: "n1" }],
    ["crowded-too", { ready: true, readyAt: "2026-01-01T00:00:06Z", node: "n1" }],
    ["unready", { ready: false, node: "n4" }],
    ["young-unready", { ready: false, node: "n5", created: "2026-01-01T00:00:09Z" }],
    ["pending", { ready: false, phase: "Pending", node: "n6" }],
    ["unplaced", { phase: "Pending", node: "" }],
  ];
  const order = inDeletionOrder(pods.map(([name, fields]) => podOf(name, fields)));
  expect(order.map(({ metadata }) => metadata.name)).toEqual([
    "unplaced",
    "pending",
    "young-unready",
    "unready",
    "crowded-too",
    "crowded",
    "ready-last",
    "oldest",
  ]);
});

test("the status counts pods that live, and as available those ready for long enough", () => {
  const now = Date.parse("2026-01-01T00:01:00Z") as WallMs;
  const labels = { app: "web", hash: "x" };
  const pods = [
    podOf("a", { ready: true, labels, readyAt: "2026-01-01T00:00:50Z" }),
    podOf("b", { ready: true, labels, readyAt: "2026-01-01T00:00:51Z" }),
    podOf("c", { ready: false, labels: { app: "web" } }),
    podOf("d", { ready: true, labels, deleted: true }),
    podOf("e", { ready: true, labels, phase: "Failed" }),
  ];
  const status = replicaSetStatus(set, pods, now);
  expect(status).toEqual({
    replicas: 3,
    fullyLabeledReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 1,
    observedGeneration: 4,
  });
  const written = wholeOf(wholeReplicaSets, "web-x", { status });
  expect([hasStatus(set, status), hasStatus(written, status)]).toEqual([false, true]);
});
