// The cells of pods in every state that has a word of its own. Each expectation was compared with
// what kube-apiserver 1.36 answers for the same pod.
import { describe, expect, test } from "vitest";
import type { WallMs } from "../../environment/clock.ts";
import { podColumns } from "./pod.ts";

const now = Date.parse("2026-01-02T03:04:05Z") as WallMs;

function ago(seconds: number): string {
  return new Date(now - seconds * 1000).toISOString();
}

function container(name: string, state: object, more: object = {}): object {
  return { name, restartCount: 0, ready: false, state, ...more };
}

const ended = (exitCode: number, more: object = {}) => ({ terminated: { exitCode, ...more } });
const waiting = (reason: string) => ({ waiting: { reason } });
const running = { running: {} };
const restarted = (restartCount: number, secondsAgo: number) => ({
  restartCount,
  lastState: { terminated: { exitCode: 1, finishedAt: ago(secondsAgo) } },
});
const sidecar = { name: "s", restartPolicy: "Always" };
const initPods = { initContainers: [{ name: "i1" }, { name: "i2" }] };
const two = { containers: [{ name: "a" }, { name: "b" }] };

interface Case {
  readonly of: string;
  readonly spec?: object;
  readonly status?: object;
  readonly meta?: object;
  /** READY, STATUS, RESTARTS. */
  readonly shows: readonly [string, string, string];
}

const cases: readonly Case[] = [
  { of: "nothing yet", status: { phase: "Pending" }, shows: ["0/1", "Pending", "0"] },
  {
    of: "a ready container",
    status: {
      phase: "Running",
      containerStatuses: [container("c", running, { ready: true, ...restarted(3, 3725) })],
    },
    shows: ["1/1", "Running", "3 (62m ago)"],
  },
  {
    of: "a container that keeps crashing",
    status: {
      phase: "Running",
      containerStatuses: [container("c", waiting("CrashLoopBackOff"), restarted(12, 301))],
    },
    shows: ["0/1", "CrashLoopBackOff", "12 (5m1s ago)"],
  },
  {
    of: "a container that waits for no reason",
    status: { phase: "Pending", containerStatuses: [container("c", { waiting: {} })] },
    shows: ["0/1", "Pending", "0"],
  },
  {
    of: "success",
    status: {
      phase: "Succeeded",
      containerStatuses: [container("c", ended(0, { reason: "Completed" }))],
    },
    shows: ["0/1", "Completed", "0"],
  },
  {
    of: "failure without a reason",
    status: { phase: "Failed", containerStatuses: [container("c", ended(2))] },
    shows: ["0/1", "ExitCode:2", "0"],
  },
  {
    of: "a signal",
    status: { phase: "Failed", containerStatuses: [container("c", ended(137, { signal: 9 }))] },
    shows: ["0/1", "Signal:9", "0"],
  },
  {
    of: "eviction",
    status: { phase: "Failed", reason: "Evicted" },
    shows: ["0/1", "Evicted", "0"],
  },
  {
    of: "one container done while another runs unready",
    spec: two,
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "False" }],
      containerStatuses: [
        container("a", ended(0, { reason: "Completed" })),
        container("b", running, { ready: true }),
      ],
    },
    shows: ["1/2", "NotReady", "0"],
  },
  {
    of: "one container done while another runs ready",
    spec: two,
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [
        container("a", ended(0, { reason: "Completed" })),
        container("b", running, { ready: true }),
      ],
    },
    shows: ["1/2", "Running", "0"],
  },
  {
    of: "one container done and another failed",
    spec: two,
    status: {
      phase: "Running",
      containerStatuses: [
        container("a", ended(0, { reason: "Completed" })),
        container("b", ended(1, { reason: "Error" })),
      ],
    },
    shows: ["0/2", "Error", "0"],
  },
  {
    of: "the second init container at work",
    spec: initPods,
    status: {
      phase: "Pending",
      initContainerStatuses: [
        container("i1", ended(0)),
        container("i2", running, { restartCount: 2 }),
      ],
    },
    shows: ["0/1", "Init:1/2", "2"],
  },
  {
    of: "an init container about to start",
    spec: initPods,
    status: {
      phase: "Pending",
      initContainerStatuses: [container("i1", waiting("PodInitializing"))],
    },
    shows: ["0/1", "Init:0/2", "0"],
  },
  {
    of: "an init container that keeps crashing",
    spec: initPods,
    status: {
      phase: "Pending",
      initContainerStatuses: [container("i1", waiting("CrashLoopBackOff"), restarted(4, 90_000))],
    },
    shows: ["0/1", "Init:CrashLoopBackOff", "4 (25h ago)"],
  },
  {
    of: "an init container that failed",
    spec: initPods,
    status: { phase: "Pending", initContainerStatuses: [container("i1", ended(3))] },
    shows: ["0/1", "Init:ExitCode:3", "0"],
  },
  {
    of: "an init container that a signal ended",
    spec: initPods,
    status: {
      phase: "Pending",
      initContainerStatuses: [container("i1", ended(3, { signal: 11 }))],
    },
    shows: ["0/1", "Init:Signal:11", "0"],
  },
  {
    of: "an init container that failed for a reason",
    spec: initPods,
    status: {
      phase: "Pending",
      initContainerStatuses: [container("i1", ended(3, { reason: "OOMKilled" }))],
    },
    shows: ["0/1", "Init:OOMKilled", "0"],
  },
  {
    of: "a sidecar, which counts, beside an init container, which no longer does",
    spec: { initContainers: [sidecar, { name: "i2" }] },
    status: {
      phase: "Running",
      conditions: [{ type: "Initialized", status: "True" }],
      initContainerStatuses: [
        container("s", running, { ready: true, started: true, ...restarted(5, 700_000) }),
        container("i2", ended(0), { restartCount: 7 }),
      ],
      containerStatuses: [container("c", running, { ready: true })],
    },
    shows: ["2/2", "Running", "5 (8d ago)"],
  },
  {
    of: "a sidecar that has not started",
    spec: { initContainers: [sidecar] },
    status: { phase: "Pending", initContainerStatuses: [container("s", running)] },
    shows: ["0/2", "Init:0/1", "0"],
  },
  {
    of: "a pod that may not be scheduled yet",
    status: {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }],
    },
    shows: ["0/1", "SchedulingGated", "0"],
  },
  {
    of: "a pod on its way out",
    meta: { deletionTimestamp: ago(3) },
    status: { phase: "Running", containerStatuses: [container("c", running, { ready: true })] },
    shows: ["1/1", "Terminating", "0"],
  },
  {
    of: "a pod on its way out on a lost node",
    meta: { deletionTimestamp: ago(3) },
    status: { phase: "Running", reason: "NodeLost" },
    shows: ["0/1", "Unknown", "0"],
  },
  {
    of: "a pod on its way out that had ended before",
    meta: { deletionTimestamp: ago(3) },
    status: { phase: "Succeeded" },
    shows: ["0/1", "Succeeded", "0"],
  },
];

describe("a row of a pod", () => {
  test.each(cases)("shows the status of $of", ({ spec, status, meta, shows }) => {
    const pod = {
      metadata: { name: "p", creationTimestamp: ago(7), ...meta },
      spec: { containers: [{ name: "c" }], ...spec },
      status,
    };
    expect(podColumns.cells(pod, now).slice(0, 5)).toEqual(["p", ...shows, "7s"]);
  });

  test("shows where the pod is, when asked for more", () => {
    const pod = {
      metadata: { name: "p" },
      spec: {
        nodeName: "n1",
        readinessGates: [{ conditionType: "x" }, { conditionType: "y" }, { conditionType: "z" }],
      },
      status: {
        podIPs: [{ ip: "10.0.0.5" }, { ip: "fd00::5" }],
        nominatedNodeName: "n2",
        conditions: [
          { type: "x", status: "True" },
          { type: "y", status: "False" },
        ],
      },
    };
    expect(podColumns.cells(pod, now).slice(5)).toEqual(["10.0.0.5", "n1", "n2", "1/3"]);
    expect(podColumns.cells({}, now)).toEqual([
      "",
      "0/0",
      "",
      "0",
      "<unknown>",
      "<none>",
      "<none>",
      "<none>",
      "<none>",
    ]);
  });

  test("shows how an ended pod ended", () => {
    const message = "The pod has completed successfully.";
    expect(podColumns.conditions?.({ status: { phase: "Succeeded" } })).toEqual([
      { type: "Completed", status: "True", reason: "Succeeded", message },
    ]);
    expect(podColumns.conditions?.({ status: { phase: "Running" } })).toEqual([]);
  });
});
