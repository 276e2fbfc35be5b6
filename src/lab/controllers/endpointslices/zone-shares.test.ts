import { expect, test } from "vitest";
import { type WholeNode, wholeNodeKind } from "../nodes/whole-node.ts";
import { allocationsOf, isOverloaded, movesBetween, zoneShares } from "./zone-shares.ts";

interface NodeFields {
  readonly cpu?: string;
  readonly ready?: string;
  readonly labels?: object;
}

function node(zone: string | undefined, fields: NodeFields = {}): WholeNode {
  const { cpu = "4", ready = "True", labels = {} } = fields;
  const place = zone === undefined ? {} : { "topology.kubernetes.io/zone": zone };
  return wholeNodeKind.project({
    metadata: { name: "n", uid: "u", resourceVersion: "1", labels: { ...place, ...labels } },
    status: { allocatable: { cpu }, conditions: [{ type: "Ready", status: ready }] },
  });
}

test.each<[string, readonly WholeNode[], object | undefined]>([
  [
    "zones share by the CPUs of their nodes",
    [node("a"), node("b", { cpu: "12000m" })],
    [0.25, 0.75],
  ],
  ["one zone shares with nobody", [node("a"), node("a")], undefined],
  ["a node without a zone spoils it", [node("a"), node("b"), node(undefined)], undefined],
  ["a node without CPUs spoils it", [node("a"), node("b", { cpu: "0" })], undefined],
  [
    "a node that is not ready does not",
    [node("a"), node("b"), node(undefined, { ready: "False" })],
    [0.5, 0.5],
  ],
  [
    "nor does one of the control plane",
    [node("a"), node("b"), node("c", { labels: { "node-role.kubernetes.io/control-plane": "" } })],
    [0.5, 0.5],
  ],
])("%s", (_, nodes, expected) => {
  const shares = zoneShares(nodes);
  expect(shares && [...shares.values()]).toEqual(expected);
});

const shares = new Map([
  ["a", 4 / 9],
  ["b", 3 / 9],
  ["c", 2 / 9],
]);

test.each<[string, ReadonlyMap<string, number> | undefined, number, string]>([
  [
    "without shares",
    undefined,
    9,
    "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
  ],
  [
    "fewer endpoints than zones",
    shares,
    2,
    "Insufficient number of endpoints (2 endpoints, 3 zones)",
  ],
  [
    "too few to share fairly",
    shares,
    3,
    "Unable to allocate minimum required endpoints to each zone without exceeding overload " +
      "threshold (3 endpoints, 3 zones)",
  ],
])("nothing is allocated %s", (_, given, endpoints, message) => {
  expect(allocationsOf(given, endpoints)).toEqual({ message });
});

test("endpoints are allocated within the threshold, and moved from where there are too many", () => {
  const allocations = allocationsOf(shares, 9);
  expect(allocations).toEqual(
    new Map([
      ["a", { minimum: 4, maximum: 4, desired: 4 }],
      ["b", { minimum: 3, maximum: 3, desired: 3 }],
      ["c", { minimum: 2, maximum: 2, desired: 2 }],
    ]),
  );
  if ("message" in allocations) throw new Error("nothing was allocated");
  expect(movesBetween(allocations, new Map([["a", 9]]))).toEqual({
    giving: new Map([["a", 5]]),
    receiving: new Map([
      ["b", 3],
      ["c", 2],
    ]),
  });
});

test.each<[string, readonly (readonly [string, number])[], boolean]>([
  [
    "has what it needs",
    [
      ["a", 4],
      ["b", 3],
      ["c", 2],
    ],
    false,
  ],
  [
    "lacks endpoints in a zone",
    [
      ["a", 6],
      ["b", 3],
    ],
    true,
  ],
  ["has no hints at all", [], false],
])("whether a service that %s is overloaded", (_, counts, expected) => {
  expect(isOverloaded(new Map(counts), shares)).toBe(expected);
});
