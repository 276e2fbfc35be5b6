import { expect, it } from "vitest";
import { type EndpointSlice, endpointSliceKind } from "../../kube/kinds/endpoint-slice.ts";
import { endpointsKind } from "../../kube/kinds/endpoints.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";
import { endpointsOf } from "./stock-backends.ts";

const identity = { namespace: "shop", uid: "u", resourceVersion: "1" };

function service(...ports: readonly object[]): Service {
  return serviceKind.project({ metadata: { ...identity, name: "web" }, spec: { ports } });
}

function slice(fields: object, name = "web-abc"): EndpointSlice {
  const labels = { "kubernetes.io/service-name": "web" };
  const metadata = { ...identity, name, labels };
  return endpointSliceKind.project({ metadata, addressType: "IPv4", ...fields });
}

/** `address:port` of each. */
function found(
  of: Service,
  port: number | string,
  slices: readonly EndpointSlice[],
): readonly string[] {
  const published = { form: "endpointslices", slices } as const;
  return endpointsOf(of, port, published).map((one) => `${one.address}:${one.port}`);
}

const http = { name: "http", port: 80, targetPort: "web" };
const ready = [{ addresses: ["10.0.0.1"] }];

it("takes every endpoint that is not unready, serving or terminating or not", () => {
  const endpoints = [
    { addresses: ["10.0.0.4"], conditions: { ready: true, terminating: true } },
    { addresses: ["10.0.0.3"], conditions: { ready: false, serving: true, terminating: true } },
    { addresses: ["10.0.0.2"] },
    { addresses: ["10.0.0.1"], conditions: { ready: true } },
  ];
  const ports = [{ name: "http", port: 8080, protocol: "TCP" }];
  expect(found(service(http), 80, [slice({ endpoints, ports })])).toEqual([
    "10.0.0.1:8080",
    "10.0.0.2:8080",
    "10.0.0.4:8080",
  ]);
});

it.each([
  [80, ["10.0.0.1:8080"]],
  ["http", ["10.0.0.1:8080"]],
  ["web", ["10.0.0.1:8080"]],
  [81, []],
  ["other", []],
])("finds the service's port by %j", (port, expected) => {
  const ports = [
    { name: "http", port: 8080, protocol: "TCP" },
    { name: "http", port: 9999, protocol: "UDP" },
    { name: "admin", port: 9090, protocol: "TCP" },
  ];
  expect(found(service(http), port, [slice({ endpoints: ready, ports })])).toEqual(expected);
});

it("falls back to a target port that is a number when the slice names no such port", () => {
  const numbered = service({ name: "http", port: 80, targetPort: 7070 });
  expect(found(numbered, 80, [slice({ endpoints: ready })])).toEqual(["10.0.0.1:7070"]);
  const ports = [{ name: "other", port: 8080, protocol: "TCP" }];
  expect(found(numbered, 80, [slice({ endpoints: ready, ports })])).toEqual(["10.0.0.1:7070"]);
  expect(found(service(http), 80, [slice({ endpoints: ready })])).toEqual([]);
});

it("does not see a slice whose name does not begin with the service's", () => {
  const ports = [{ name: "http", port: 8080, protocol: "TCP" }];
  const imported = slice({ endpoints: ready, ports }, "imported-web");
  expect(found(service(http), 80, [imported])).toEqual([]);
});

it("reads the ready addresses of Endpoints", () => {
  const endpoints = endpointsKind.project({
    metadata: { ...identity, name: "web" },
    subsets: [
      {
        addresses: [{ ip: "10.0.0.2" }, { ip: "10.0.0.1" }],
        notReadyAddresses: [{ ip: "10.0.0.3" }],
        ports: [{ name: "http", port: 8080 }],
      },
    ],
  });
  expect(endpointsOf(service(http), "http", { form: "endpoints", endpoints })).toEqual([
    { address: "10.0.0.1", port: 8080 },
    { address: "10.0.0.2", port: 8080 },
  ]);
});
