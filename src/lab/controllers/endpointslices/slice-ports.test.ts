import { expect, test } from "vitest";
import { slicePortsInOrder } from "./slice-ports.ts";

// The expected order is that of NewPortMapKey of k8s.io/endpointslice 0.36.
test("ports are in the order of the hash of Go's print", () => {
  const ports = [
    { name: "http", port: 80, protocol: "TCP" },
    { name: "https", port: 443, protocol: "TCP" },
    { name: "metrics", port: 9090, protocol: "TCP" },
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "grpc", port: 50_051, protocol: "TCP", appProtocol: "kubernetes.io/h2c" },
  ];
  const names = slicePortsInOrder(ports, "fnv-128a").map(({ name }) => name);
  expect(names).toEqual(["dns", "https", "grpc", "http", "metrics"]);
});
