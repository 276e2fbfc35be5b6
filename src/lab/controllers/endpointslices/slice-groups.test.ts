import { describe, expect, test } from "vitest";
import {
  nodeOf,
  type PodFields,
  podOf,
  serviceOf,
} from "../../../../tests/controllers/controller-objects.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import type { OwnedPod } from "../owned-pod.ts";
import { addressTypesOf, sliceGroups } from "./slice-groups.ts";
import { portsKey } from "./slice-ports.ts";

const nodes = new Map([["n1", nodeOf("n1", { "topology.kubernetes.io/zone": "z" })]]);
const nodeNamed = (name: string) => nodes.get(name);

function groupsOf(service: Service, pods: readonly OwnedPod[]) {
  return sliceGroups({ service, pods, addressType: "IPv4", nodeNamed, hash: "fnv-128a" });
}

function conditionsOf(pod: PodFields, spec: object = {}): object | "left out" {
  const { groups } = groupsOf(serviceOf(spec), [podOf("a", pod)]);
  return groups[0]?.endpoints[0]?.conditions ?? "left out";
}

describe("a pod's conditions", () => {
  const tolerant = { publishNotReadyAddresses: true };

  test.each<[string, PodFields, object, [boolean, boolean, boolean] | undefined]>([
    ["ready", { ready: true }, {}, [true, true, false]],
    ["not ready", { ready: false }, {}, [false, false, false]],
    ["without a Ready condition", {}, {}, [false, false, false]],
    ["leaving, still serving", { ready: true, deleted: true }, {}, [false, true, true]],
    ["leaving", { ready: false, deleted: true }, {}, [false, false, true]],
    ["leaving, tolerated", { ready: false, deleted: true }, tolerant, [true, false, true]],
    ["not ready, tolerated", { ready: false }, tolerant, [true, false, false]],
    ["failed", { ready: true, phase: "Failed" }, {}, undefined],
    ["ended", { ready: true, phase: "Succeeded" }, tolerant, undefined],
    ["without an address", { ready: true, ip: "" }, {}, undefined],
    ["of another family", { ready: true, ip: "fd00::1" }, {}, undefined],
  ])("%s", (_, pod, spec, expected) => {
    const [ready, serving, terminating] = expected ?? [];
    expect(conditionsOf(pod, spec)).toEqual(
      expected === undefined ? "left out" : { ready, serving, terminating },
    );
  });
});

test("an endpoint has its node, its zone, its pod and its hostname", () => {
  const spec = { hostname: "h", subdomain: "web" };
  const pods = [podOf("a", { ready: true, spec })];
  expect(groupsOf(serviceOf(), pods)).toEqual({
    groups: [
      {
        ports: [{ name: "", port: 8080, protocol: "TCP" }],
        endpoints: [
          {
            addresses: ["10.0.0.1"],
            conditions: { ready: true, serving: true, terminating: false },
            hostname: "h",
            nodeName: "n1",
            targetRef: { kind: "Pod", namespace: "default", name: "a", uid: "uid-a" },
            zone: "z",
          },
        ],
      },
    ],
    withoutNode: [],
  });
});

test("a pod whose node is not known is left out, unless unready pods are published too", () => {
  const pod = podOf("a", { ready: true, node: "gone" });
  const strict = groupsOf(serviceOf(), [pod]);
  const tolerant = serviceOf({ publishNotReadyAddresses: true });
  const published = groupsOf(tolerant, [pod]);
  expect([strict.groups[0]?.endpoints, strict.withoutNode]).toEqual([[], [pod]]);
  expect([published.groups[0]?.endpoints.length, published.withoutNode]).toEqual([1, []]);
});

test("pods are grouped by the ports they have for the service", () => {
  const service = serviceOf({ ports: [{ name: "http", port: 80, targetPort: "web" }] });
  const port = (containerPort: number) => ({ name: "web", containerPort, protocol: "TCP" });
  const pods = [
    podOf("a", { ready: true, ports: [port(1)] }),
    podOf("b", { ready: true, ip: "10.0.0.2", ports: [port(2)] }),
    podOf("c", { ready: true, ip: "10.0.0.3", ports: [port(1)] }),
  ];
  const { groups } = groupsOf(service, pods);
  expect(
    groups.map(({ ports, endpoints }) => [
      ports[0]?.port,
      endpoints.map((one) => one.targetRef.name),
    ]),
  ).toEqual([
    [1, ["a", "c"]],
    [2, ["b"]],
  ]);
});

test("the order of ports does not matter", () => {
  const one = { name: "a", port: 1, protocol: "TCP" };
  const two = { name: "b", port: 2, protocol: "TCP", appProtocol: "h2" };
  expect(portsKey([one, two])).toBe(portsKey([two, one]));
  expect(portsKey([one])).not.toBe(portsKey([{ ...one, appProtocol: "h2" }]));
});

test.each([
  [{ ipFamilies: ["IPv6", "IPv4"] }, ["IPv6", "IPv4"]],
  [{ ipFamilies: [], clusterIP: "fd00::1" }, ["IPv6"]],
  [{ ipFamilies: [], clusterIP: "None" }, ["IPv4", "IPv6"]],
])("a service with %j has slices of %j", (spec, expected) => {
  expect(addressTypesOf(serviceOf(spec))).toEqual(expected);
});
