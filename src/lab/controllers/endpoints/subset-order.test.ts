import { expect, test } from "vitest";
import { portsInOrder, type SubsetTypes, subsetsInOrder } from "./subset-order.ts";

const ports = [
  { name: "http", port: 80, protocol: "TCP" },
  { name: "https", port: 443, protocol: "TCP" },
  { name: "metrics", port: 9090, protocol: "TCP" },
  { name: "dns", port: 53, protocol: "UDP" },
  { name: "grpc", port: 50_051, protocol: "TCP" },
];

const v1: SubsetTypes = { package: "v1", appProtocol: false, hash: "md5" };
const core: SubsetTypes = { package: "core", appProtocol: false, hash: "md5" };

// The expected orders were computed in Go, with go-spew and structs of the same names and fields.
test.each<[SubsetTypes, string]>([
  [v1, "https http grpc metrics dns"],
  [core, "http metrics dns https grpc"],
  [{ package: "api", appProtocol: false, hash: "md5" }, "https grpc metrics http dns"],
  [{ package: "v1", appProtocol: true, hash: "md5" }, "dns grpc metrics https http"],
])("ports are in the order of Go's print of %o", (types, expected) => {
  const names = portsInOrder(ports, types).map(({ name }) => name);
  expect(names.join(" ")).toBe(expected);
});

test("since 1.35 another hash decides the order", () => {
  const types: SubsetTypes = { package: "v1", appProtocol: true, hash: "fnv-128a" };
  const withProtocol = ports.map((port) =>
    port.name === "grpc" ? { ...port, appProtocol: "kubernetes.io/h2c" } : port,
  );
  const names = portsInOrder(withProtocol, types).map(({ name }) => name);
  expect(names.join(" ")).toBe("http https metrics dns grpc");
  const subsets = withProtocol.map((port, index) => {
    const targetRef = { kind: "Pod", namespace: "shop", name: `pod-${index + 1}` };
    const address = { ip: `10.0.0.${index + 1}`, nodeName: "node-1", targetRef };
    return { addresses: [address], ports: [port] };
  });
  const first = subsetsInOrder(subsets, types).map((subset) => subset.ports?.[0]?.name);
  expect(first.join(" ")).toBe("https grpc dns metrics http");
});

test("subsets are in the order of Go's print, ready or not, with or without a pod", () => {
  const ready = ports.map((port, index) => {
    const name = `pod-${index + 1}`;
    const targetRef = { kind: "Pod", namespace: "shop", name, resourceVersion: "7" };
    const address = { ip: `10.0.0.${index + 1}`, nodeName: "node-1", targetRef };
    return { addresses: [address], ports: [port] };
  });
  const notReady = ports.map((port, index) => {
    const address = { ip: `10.0.0.${index + 1}`, hostname: `pod-${index + 1}` };
    return { notReadyAddresses: [address], ports: [port] };
  });
  const names = (subsets: typeof ready | typeof notReady, types: SubsetTypes) =>
    subsetsInOrder(subsets, types).flatMap((subset) => subset.ports?.map(({ name }) => name));
  expect(names(ready, v1)).toEqual(["metrics", "dns", "https", "grpc", "http"]);
  expect(names(notReady, core)).toEqual(["metrics", "http", "grpc", "https", "dns"]);
});
