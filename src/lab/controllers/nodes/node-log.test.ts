import { expect, test } from "vitest";
import { Klog } from "../../../components/klog.ts";
import type { MonotonicMs, WallMs } from "../../../environment/clock.ts";
import {
  type NodeFact,
  type NodeLineStyle,
  NodeLog,
  nodeLines17,
  nodeLines117,
  nodeLines133,
} from "./node-log.ts";

const at = Date.UTC(2017, 8, 19, 8, 5, 35, 383) as WallMs;

const condition = {
  type: "Ready",
  status: "True",
  lastHeartbeatTime: "2017-09-19T08:04:46Z",
  lastTransitionTime: "2017-09-19T08:04:46Z",
  reason: "KubeletReady",
  message: "kubelet is posting ready status",
};

const facts: readonly NodeFact[] = [
  { type: "missed", node: "11.2.3.10", silentMs: 40_032.883982, condition },
  {
    type: "missed",
    node: "n",
    silentMs: 40_001,
    condition: { ...condition, type: "DiskPressure" },
  },
  { type: "statusChange", node: "11.2.3.10", status: "NodeNotReady" },
  { type: "unreadyPods", node: "11.2.3.10" },
  { type: "unreadyPod", pod: { namespace: "shop", name: "web-0" } },
  { type: "orphaned", pod: { namespace: "shop", name: "web-0" }, node: "gone" },
  { type: "forceDeleting", pod: { namespace: "shop", name: "web-0" } },
];

function logged(style: NodeLineStyle, verbosity: number): string {
  const clock = { wallMs: () => at, monotonicMs: () => 0 as MonotonicMs };
  const klog = new Klog({ clock });
  const log = new NodeLog({ klog, verbosity, style });
  for (const fact of facts) log.note(fact);
  const lines = klog.lines().map(({ text }) => text.slice("I0919 08:05:35.383000       1 ".length));
  return `\n${lines.join("\n")}\n`;
}

test("1.7 logs the lines of the write-up, the missed heartbeats only at verbosity 4", () => {
  expect(logged(nodeLines17, 4)).toMatchInlineSnapshot(`
    "
    nodecontroller.go:936] node 11.2.3.10 hasn't been updated for 40.032883982s. Last ready condition is: {Type:Ready Status:True LastHeartbeatTime:2017-09-19 08:04:46 +0000 UTC LastTransitionTime:2017-09-19 08:04:46 +0000 UTC Reason:KubeletReady Message:kubelet is posting ready status}
    nodecontroller.go:964] node n hasn't been updated for 40.001s. Last DiskPressure is: &NodeCondition{Type:DiskPressure,Status:True,LastHeartbeatTime:2017-09-19 08:04:46 +0000 UTC,LastTransitionTime:2017-09-19 08:04:46 +0000 UTC,Reason:KubeletReady,Message:kubelet is posting ready status,}
    controller_utils.go:285] Recording status change NodeNotReady event message for node 11.2.3.10
    controller_utils.go:203] Update ready status of pods on node [11.2.3.10]
    controller_utils.go:220] Updating ready status of pod web-0 to false
    gc_controller.go:162] Found orphaned Pod web-0 assigned to the Node gone. Deleting.
    gc_controller.go:62] PodGC is force deleting Pod: shop:web-0
    "
  `);
  expect(logged(nodeLines17, 2)).not.toContain("hasn't been updated");
});

test("1.17 logs every condition alike", () => {
  expect(logged(nodeLines117, 2)).toMatchInlineSnapshot(`
    "
    node_lifecycle_controller.go:1137] node 11.2.3.10 hasn't been updated for 40.032883982s. Last Ready is: &NodeCondition{Type:Ready,Status:True,LastHeartbeatTime:2017-09-19 08:04:46 +0000 UTC,LastTransitionTime:2017-09-19 08:04:46 +0000 UTC,Reason:KubeletReady,Message:kubelet is posting ready status,}
    node_lifecycle_controller.go:1137] node n hasn't been updated for 40.001s. Last DiskPressure is: &NodeCondition{Type:DiskPressure,Status:True,LastHeartbeatTime:2017-09-19 08:04:46 +0000 UTC,LastTransitionTime:2017-09-19 08:04:46 +0000 UTC,Reason:KubeletReady,Message:kubelet is posting ready status,}
    controller_utils.go:179] Recording status change NodeNotReady event message for node 11.2.3.10
    controller_utils.go:121] Update ready status of pods on node [11.2.3.10]
    controller_utils.go:138] Updating ready status of pod web-0 to false
    gc_controller.go:184] Found orphaned Pod shop/web-0 assigned to the Node gone. Deleting.
    gc_controller.go:77] PodGC is force deleting Pod: shop/web-0
    "
  `);
});

test("1.33 logs keys and values", () => {
  expect(logged(nodeLines133, 2)).toMatchInlineSnapshot(`
    "
    node_lifecycle_controller.go:952] "Node hasn't been updated" logger="node-lifecycle-controller" node="11.2.3.10" duration="40.032883982s" nodeConditionType="Ready" currentCondition="&NodeCondition{Type:Ready,Status:True,LastHeartbeatTime:2017-09-19 08:04:46 +0000 UTC,LastTransitionTime:2017-09-19 08:04:46 +0000 UTC,Reason:KubeletReady,Message:kubelet is posting ready status,}"
    node_lifecycle_controller.go:952] "Node hasn't been updated" logger="node-lifecycle-controller" node="n" duration="40.001s" nodeConditionType="DiskPressure" currentCondition="&NodeCondition{Type:DiskPressure,Status:True,LastHeartbeatTime:2017-09-19 08:04:46 +0000 UTC,LastTransitionTime:2017-09-19 08:04:46 +0000 UTC,Reason:KubeletReady,Message:kubelet is posting ready status,}"
    controller_utils.go:186] "Recording status change event message for node" logger="node-lifecycle-controller" status="NodeNotReady" node="11.2.3.10"
    controller_utils.go:123] "Update ready status of pods on node" logger="node-lifecycle-controller" node="11.2.3.10"
    controller_utils.go:144] "Updating ready status of pod to false" logger="node-lifecycle-controller" pod="shop/web-0"
    gc_controller.go:247] "Found orphaned Pod assigned to the Node, deleting" logger="pod-garbage-collector-controller" pod="shop/web-0" node="gone"
    gc_controller.go:343] "PodGC is force deleting Pod" logger="pod-garbage-collector-controller" pod="shop/web-0"
    "
  `);
});

test("at verbosity 0 only what was deleted by force is left", () => {
  expect(logged(nodeLines133, 0)).toMatchInlineSnapshot(`
    "
    gc_controller.go:343] "PodGC is force deleting Pod" logger="pod-garbage-collector-controller" pod="shop/web-0"
    "
  `);
});
