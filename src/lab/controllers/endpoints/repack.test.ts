import { expect, test } from "vitest";
import { repack, type Subset } from "./repack.ts";
import { placedIn } from "./stored-subsets.ts";
import type { SubsetTypes } from "./subset-order.ts";

const types: SubsetTypes = { package: "v1", appProtocol: true, hash: "fnv-128a" };
const http = { name: "http", port: 80, protocol: "TCP" };
const grpc = { name: "grpc", port: 81, protocol: "TCP", appProtocol: "kubernetes.io/h2c" };

function repacked(...subsets: readonly Subset[]): readonly Subset[] {
  return repack(placedIn({ subsets }), types);
}

/** The names of each subset's ports and the addresses it has, in no order. */
function inWords(subsets: readonly Subset[]): readonly string[] {
  return subsets
    .map(({ ports = [], addresses = [] }) =>
      [...ports.map(({ name }) => name), ...addresses.map(({ ip }) => ip)].join(" "),
    )
    .sort();
}

test("subsets of the same port become one", () => {
  const one = { addresses: [{ ip: "10.0.0.1" }], ports: [http] };
  const two = { addresses: [{ ip: "10.0.0.2" }], ports: [http] };
  expect(inWords(repacked(one, two))).toEqual(["http 10.0.0.1 10.0.0.2"]);
});

test("but not if the port has an app protocol, which Go compares by pointer", () => {
  const one = { addresses: [{ ip: "10.0.0.1" }], ports: [http, grpc] };
  const two = { addresses: [{ ip: "10.0.0.2" }], ports: [http, grpc] };
  expect(inWords(repacked(one, two))).toEqual([
    "grpc 10.0.0.1",
    "grpc 10.0.0.2",
    "http 10.0.0.1 10.0.0.2",
  ]);
});

test("the first entry of an address counts, and so does an entry that is not ready", () => {
  const first = { ip: "10.0.0.1", hostname: "first" };
  const second = { ip: "10.0.0.1", hostname: "second" };
  const one = { addresses: [first, second], ports: [http] };
  const two = { notReadyAddresses: [second], ports: [http] };
  expect(repacked(one, two)).toEqual([{ notReadyAddresses: [first], ports: [http] }]);
});
