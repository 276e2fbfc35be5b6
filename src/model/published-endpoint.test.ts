import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { endpointsKind } from "../kube/kinds/endpoints.ts";
import { fromEndpoints, fromSlice, listedInSlice, portNumbers } from "./published-endpoint.ts";

const seenAtMs = 7 as MonotonicMs;
const metadata = { namespace: "shop", name: "web", uid: "u", resourceVersion: "1" };
const targetRef = { kind: "Pod", namespace: "shop", name: "web-1", uid: "u1" };
const port = { name: "http", port: 8080, protocol: "TCP", appProtocol: undefined };
const pod = targetRef;

test("a slice's endpoint keeps its conditions, and absent ones are read as the API asks", () => {
  const slice = endpointSliceKind.project({
    metadata,
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: [
      { addresses: ["10.0.0.1", "10.0.0.9"], targetRef },
      {
        addresses: ["10.0.0.2"],
        conditions: { ready: false, serving: true, terminating: true },
        targetRef: { kind: "Node", name: "n1", uid: "u2" },
      },
      { addresses: ["10.0.0.3"], conditions: { ready: false } },
      { addresses: [] },
    ],
  });
  const shared = { object: "endpointslices/web", seenAtMs, ports: [port] };
  expect(fromSlice(slice, seenAtMs)).toEqual([
    { ...shared, address: "10.0.0.1", ready: true, serving: true, terminating: false, pod },
    {
      ...shared,
      address: "10.0.0.2",
      ready: false,
      serving: true,
      terminating: true,
      pod: undefined,
    },
    {
      ...shared,
      address: "10.0.0.3",
      ready: false,
      serving: false,
      terminating: false,
      pod: undefined,
    },
  ]);
});

test("a slice of names to be resolved has no endpoints", () => {
  const raw = { metadata, addressType: "FQDN", endpoints: [{ addresses: ["web.example"] }] };
  expect(fromSlice(endpointSliceKind.project(raw), seenAtMs)).toEqual([]);
});

test("an Endpoints object lists ready and not ready addresses", () => {
  const endpoints = endpointsKind.project({
    metadata,
    subsets: [
      {
        addresses: [{ ip: "10.0.0.1", targetRef }],
        notReadyAddresses: [{ ip: "10.0.0.2" }],
        ports: [{ name: "http", port: 8080 }],
      },
    ],
  });
  const shared = { object: "endpoints/web", seenAtMs, ports: [port], terminating: false };
  expect(fromEndpoints(endpoints, seenAtMs)).toEqual([
    { ...shared, address: "10.0.0.1", ready: true, serving: true, pod },
    { ...shared, address: "10.0.0.2", ready: false, serving: false, pod: undefined },
  ]);
});

test("what is listed keeps its kind of address, its target and what DNS needs", () => {
  const slice = endpointSliceKind.project({
    metadata,
    addressType: "FQDN",
    ports: [{ name: "http", port: 8080 }],
    endpoints: [{ addresses: ["web.example"], hostname: "web-1", zone: "a", targetRef }],
  });
  expect(listedInSlice(slice)).toEqual([
    {
      addressType: "FQDN",
      address: "web.example",
      ports: [port],
      ready: true,
      serving: true,
      terminating: false,
      hostname: "web-1",
      zone: "a",
      targetRef,
    },
  ]);
});

test("a list of no ports, and a port without a number, stand for every port", () => {
  expect(portNumbers([])).toEqual([0]);
  expect(portNumbers([{ port: 80 }, { port: undefined }])).toEqual([80, 0]);
});
