import { expect, test } from "vitest";
import {
  inCluster,
  listed,
  pod,
  service,
  snapshot,
} from "../../../../tests/truth/service-facts.ts";
import { truth } from "../truth.ts";
import type { TruthPolicy } from "../truth-policy.ts";

const annotation = "lockstep.dev/unreachable";

/** A cluster that answers, and one that has not for too long, with one pod that terminates. */
function decided(policy: Partial<TruthPolicy>, annotations: Readonly<Record<string, string>> = {}) {
  const east = inCluster({ cluster: "east", pods: [pod(1)], published: [listed(1)] });
  const west = inCluster({
    cluster: "west",
    service: service({ annotations }),
    isUnreachable: true,
    pods: [pod(2), pod(3, { terminating: true }), pod(4, { ready: "False" })],
    published: [listed(2)],
  });
  const both = { followSlices: false, ...policy };
  return truth(snapshot(east, west), 80, both).endpoints.map(
    ({ cluster, address, state, priority = 0, reason }) =>
      `${cluster} ${address.slice(7)} ${state} ${priority}: ${reason}`,
  );
}

const east = "east 1 active 0: its pod is ready";
const unready = "west 4 out 0: its pod is not ready";
const kept = [
  east,
  "west 2 active 0: its pod is ready",
  "west 3 draining 0: its pod is terminating",
  unready,
];
const distrusted = (seconds: number) => [
  east,
  `west 2 active 3: its pod is ready; its cluster has not answered for ${seconds} s, so it ` +
    "is used only as a last resort",
  `west 3 draining 3: its pod is terminating; its cluster has not answered for ${seconds} ` +
    "s, so it is used only as a last resort",
  unready,
];
const dropped = [
  east,
  "west 2 out 0: its cluster has not answered for 60 s, so its endpoints are dropped; " +
    "before that, its pod is ready",
  "west 3 out 0: its cluster has not answered for 60 s, so its endpoints are dropped; " +
    "before that, its pod is terminating",
  unready,
];

const table: readonly (readonly [
  string,
  Partial<TruthPolicy>,
  string | undefined,
  readonly string[],
])[] = [
  ["are kept by default", {}, undefined, kept],
  ["are kept", { unreachable: "keep" }, undefined, kept],
  ["are dropped", { unreachable: "drop" }, undefined, dropped],
  [
    "are distrusted",
    { unreachable: "distrust", unreachableAfterMs: 90_000 },
    undefined,
    distrusted(90),
  ],
  ["are kept as the service asks", { unreachable: "drop" }, "keep", kept],
  ["are dropped as the service asks", {}, "drop", dropped],
  ["are distrusted as the service asks", { unreachable: "drop" }, "distrust", distrusted(60)],
  [
    "are as configured when the service asks for nonsense",
    { unreachable: "drop" },
    "maybe",
    dropped,
  ],
  [
    "follow their slices when all do",
    { unreachable: "drop", followSlices: true },
    undefined,
    [
      "east 1 active 0: its EndpointSlice lists it as ready, and routing follows the slices",
      "west 2 active 0: its EndpointSlice lists it as ready, and routing follows the slices",
      "west 3 out 0: no EndpointSlice lists it, and routing follows the slices",
      "west 4 out 0: no EndpointSlice lists it, and routing follows the slices",
    ],
  ],
];
test.each(table)("endpoints of a cluster that is unreachable %s", (_, policy, asked, expected) => {
  expect(decided(policy, asked === undefined ? {} : { [annotation]: asked })).toEqual(expected);
});

test("a service whose only cluster is dropped has no endpoint left", () => {
  const west = inCluster({ isUnreachable: true, pods: [pod(1)], published: [listed(1)] });
  const { endpoints } = truth(snapshot(west), 80, { followSlices: false, unreachable: "drop" });
  expect(endpoints.map(({ state }) => state)).toEqual(["out"]);
});
