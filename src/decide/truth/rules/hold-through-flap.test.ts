import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  inCluster,
  listed,
  pod,
  podPeer,
  rowsOf,
  snapshot,
  staleWatch,
} from "../../../../tests/truth/service-facts.ts";
import { truth } from "../truth.ts";

const policy = { followSlices: false };

describe("holding through a flap", () => {
  const flipped = { ready: "False", containersReady: "True" } as const;
  const why = "the node controller marked its pod unready, but its containers are ready";
  const held = (reason: string) =>
    `10.0.0.1:8080 held (hold through a flap): ${why}, and ${reason}`;
  const published = [listed(1, { ready: false })];
  const undressed = {
    type: "httpGet",
    path: undefined,
    scheme: undefined,
    isDressed: false,
    timeoutSeconds: undefined,
  } as const;
  const doubts = (answer: "answers" | "silent" | "unknown") =>
    new Map([[podPeer(1), { cause: "flap", answer } as const]]);
  const table: readonly (readonly [string, FactsInWords, string])[] = [
    ["is held while it is being probed", { doubts: doubts("unknown") }, held("it is being probed")],
    ["is held when it answers", { doubts: doubts("answers") }, held("it answers probes")],
    [
      "is held when it answers, though the pod watch is stale",
      { doubts: doubts("answers"), podWatch: staleWatch },
      held("it answers probes"),
    ],
    [
      "is out when it does not answer",
      { doubts: doubts("silent") },
      `10.0.0.1:8080 out (hold through a flap): ${why}, and it does not answer probes`,
    ],
    ["is out without probes", {}, "10.0.0.1:8080 out (leave at once): its pod is not ready"],
  ];
  test.each(table)("an endpoint whose pod was marked unready from outside %s", (_, words, row) => {
    expect(rowsOf({ pods: [pod(1, flipped)], published, ...words })).toEqual([row]);
  });

  test.each([
    ["the kubelet reported unready", { ready: "False", containersReady: "False" }],
    ["hangs on readiness gates", { ...flipped, hasReadinessGates: true }],
    ["is terminating", { ...flipped, terminating: true }],
    ["has ended", { ...flipped, phase: "Failed" }],
    ["is ready", {}],
  ] as const)("a pod that %s is not doubted", (_, fields) => {
    const words = { pods: [pod(1, fields)], published, doubts: doubts("answers") };
    const decided = truth(snapshot(inCluster(words)), 80, policy);
    expect(decided.probeRequests).toEqual([]);
    expect(decided.endpoints.map(({ rule }) => rule)).not.toContain("hold through a flap");
  });

  test.each([
    [undefined, undefined],
    [{ type: "exec", port: undefined }, undefined],
    [
      { port: 9999, path: "/ready", scheme: "HTTPS" },
      { port: 9999, path: "/ready", secure: true },
    ],
    [
      { port: "manage", scheme: "HTTP", timeoutSeconds: 3 },
      { port: 9001, path: "/", secure: false, timeoutMs: 3_000 },
    ],
    [
      { port: 80, path: "ready" },
      { port: 80, path: "/ready", secure: false },
    ],
    [{ port: "unnamed", path: "/" }, undefined],
    [{ port: 80, path: "/", isDressed: true }, undefined],
  ] as const)("it is probed as its kubelet would: %j", (fields, http) => {
    const readinessProbe = fields && { ...undressed, ...fields };
    const words = {
      pods: [pod(1, { ...flipped, readinessProbe })],
      published,
      doubts: doubts("unknown"),
    };
    expect(truth(snapshot(inCluster(words)), 80, policy).probeRequests).toEqual([
      {
        cluster: "east",
        address: "10.0.0.1",
        port: 8080,
        podUid: "uid-web-1",
        node: "n1",
        ...(http && { http }),
        cause: "flap",
      },
    ]);
  });

  test("a service that follows its slices doubts nothing", () => {
    const words = { pods: [pod(1, flipped)], published, doubts: doubts("answers") };
    const followed = truth(snapshot(inCluster(words)), 80, { followSlices: true });
    expect([followed.probeRequests, followed.endpoints.map(({ state }) => state)]).toEqual([
      [],
      ["out"],
    ]);
  });
});
