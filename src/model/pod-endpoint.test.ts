import { expect, test } from "vitest";
import { podKind } from "../kube/kinds/pod.ts";
import { serviceKind } from "../kube/kinds/service.ts";
import { podEndpoints, podState } from "./pod-endpoint.ts";

const metadata = { namespace: "shop", name: "web", uid: "u", resourceVersion: "1" };

function podOf(status: object, fields: object = {}) {
  const containers = [{ ports: [{ name: "http", containerPort: 8080 }] }];
  return podKind.project({ metadata: { ...metadata, ...fields }, spec: { containers }, status });
}

const both = podOf({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] });

test.each<[string, object, readonly string[]]>([
  ["the first address where it names no family", {}, ["10.0.0.1 8080"]],
  ["an address of its one family", { ipFamilies: ["IPv6"] }, ["fd00::1 8080"]],
  [
    "an address of each family, in its order",
    { ipFamilies: ["IPv6", "IPv4"] },
    ["fd00::1 8080", "10.0.0.1 8080"],
  ],
  ["a number that two ports lead to once", { ports: [8080, 8080] }, ["10.0.0.1 8080"]],
  ["no named port that the pod has not", { ports: ["grpc"] }, []],
  ["port 0 where it has no ports", { ports: [] }, ["10.0.0.1 0"]],
])(
  "a service gets of a pod %s",
  (_, { ports = ["http"], ...spec }: { ports?: unknown[] }, rows) => {
    const listed = ports.map((targetPort, at) => ({ name: `p${at}`, port: 80 + at, targetPort }));
    const service = serviceKind.project({ metadata, spec: { ...spec, ports: listed } });
    expect(podEndpoints(both, service).map(({ address, port }) => `${address} ${port}`)).toEqual(
      rows,
    );
  },
);

test("a pod without an address is no endpoint", () => {
  const service = serviceKind.project({ metadata, spec: { ports: [{ port: 80 }] } });
  expect(podEndpoints(podOf({}), service)).toEqual([]);
});

test("a pod is what is true of it last", () => {
  const conditions = [{ type: "Ready", status: "True" }];
  const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const pods = [
    podOf({ phase: "Running", conditions }),
    podOf({ phase: "Running" }),
    podOf({ phase: "Running", conditions }, leaving),
    podOf({ phase: "Failed", conditions }, leaving),
  ];
  expect(pods.map(podState)).toEqual(["ready", "not ready", "terminating", "ended"]);
});
