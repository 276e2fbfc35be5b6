import { expect, test } from "vitest";
import { inCluster, service } from "../../../tests/truth/service-facts.ts";
import type { ServiceInCluster } from "../../model/service-snapshot.ts";
import { overridesSlices, truth } from "./truth.ts";
import type { TruthPolicy } from "./truth-policy.ts";

const ports = [
  { name: "http", port: 80, protocol: "TCP", targetPort: 8080, appProtocol: undefined },
  { name: "named", port: 81, protocol: "TCP", targetPort: "manage", appProtocol: undefined },
];

function external(
  answer: ServiceInCluster["external"],
  port: number | string = 80,
  policy: Partial<TruthPolicy> = {},
) {
  const facts = inCluster({
    service: service({
      type: "ExternalName",
      externalName: "db.example",
      selector: undefined,
      ports,
    }),
  });
  const snapshot = { namespace: "shop", name: "web", clusters: [{ ...facts, external: answer }] };
  const { endpoints, problems } = truth(snapshot, port, { followSlices: false, ...policy });
  return {
    endpoints: endpoints.map((one) => `${one.address}:${one.port} ${one.state}: ${one.reason}`),
    problems,
  };
}

const found = (...addresses: readonly string[]) => ({ addresses, failure: undefined });

test("the endpoints of an external name are what it resolves to", () => {
  expect(external(found("64:ff9b::192.0.2.1")).problems).toEqual([]);
  expect(external(found("192.0.2.1", "192.0.2.2"))).toEqual({
    endpoints: [
      "192.0.2.1:8080 active: db.example resolves to it",
      "192.0.2.2:8080 active: db.example resolves to it",
    ],
    problems: [],
  });
});

test("they override no slices, for there are none", () => {
  const facts = inCluster({
    service: service({ type: "ExternalName", externalName: "db.example" }),
  });
  const clusters = [{ ...facts, external: found("192.0.2.1") }];
  const { endpoints } = truth({ namespace: "shop", name: "web", clusters }, 80, {
    followSlices: false,
  });
  expect(endpoints.map(overridesSlices)).toEqual([false]);
});

test("IPv6 addresses are used where there are no others", () => {
  const both = external(found("192.0.2.1", "2001:db8::1")).endpoints;
  expect(both).toEqual(["192.0.2.1:8080 active: db.example resolves to it"]);
  const one = external(found("2001:db8::1")).endpoints;
  expect(one).toEqual(["2001:db8::1:8080 active: db.example resolves to it"]);
});

test("the port is the service's target if that is a number, else its own, else the route's", () => {
  const portsOf = (port: number | string) => external(found("192.0.2.1"), port);
  const [at] = ["active: db.example resolves to it"];
  expect(portsOf("http").endpoints).toEqual([`192.0.2.1:8080 ${at}`]);
  expect(portsOf("named").endpoints).toEqual([`192.0.2.1:81 ${at}`]);
  expect(portsOf(443).endpoints).toEqual([`192.0.2.1:443 ${at}`]);
  expect(portsOf("absent")).toEqual({
    endpoints: [],
    problems: ["the service shop/web in east has no port absent"],
  });
});

test("known addresses are kept while the resolver fails, and the failure is reported", () => {
  expect(external({ addresses: ["192.0.2.1"], failure: "the resolver does not answer" })).toEqual({
    endpoints: [
      "192.0.2.1:8080 active: db.example resolved to it before, now the resolver does not answer",
    ],
    problems: [
      "the service shop/web in east is the external name db.example: the resolver does not answer; its last " +
        "addresses stay in use",
    ],
  });
  expect(external({ addresses: [], failure: "the name does not exist" })).toEqual({
    endpoints: [],
    problems: [
      "the service shop/web in east is the external name db.example: the name does not exist",
    ],
  });
  expect(external(undefined)).toEqual({
    endpoints: [],
    problems: [
      "the service shop/web in east is the external name db.example, which is not resolved yet",
    ],
  });
});

test.each([
  "127.0.0.1",
  "127.9.9.9",
  "0.0.0.0",
  "169.254.169.254",
  "224.0.0.1",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "fe80::1",
  "ff02::1",
  "fd00:ec2::254",
  "100.100.100.200",
  "168.63.129.16",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::169.254.169.254",
  "2002:7f00:1::1",
  "10.7.7.7",
  "::ffff:10.7.7.7",
  "2001:db8:0::7",
  "not an address",
])("a name that leads to %s is refused", (address) => {
  const own = { ownAddresses: ["10.7.7.7", "2001:db8::7"] };
  const { endpoints, problems } = external(found(address), 80, own);
  expect(endpoints).toEqual([
    `${address}:8080 out: db.example resolves to it, but local addresses are not allowed ` +
      "for external names",
  ]);
  expect(problems).toEqual([
    `the service shop/web in east is the external name db.example, which resolves to the local address ${address}`,
  ]);
});

test("local addresses can be allowed, and what is no address never is", () => {
  const allowed = { allowLocalNames: true, ownAddresses: ["127.0.0.1"] };
  expect(external(found("127.0.0.1", "nonsense"), 80, allowed).endpoints).toEqual([
    "127.0.0.1:8080 active: db.example resolves to it",
    "nonsense:8080 out: db.example resolves to it, but local addresses are not allowed for " +
      "external names",
  ]);
});
