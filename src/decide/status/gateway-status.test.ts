import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { gateway, gatewayClass } from "../../../tests/gateway/gateway-objects.ts";
import type { WallMs } from "../../environment/clock.ts";
import { isRecord, listAt, recordAt } from "../../kube/kinds/fields.ts";
import { decideListeners } from "../routing/gateway/listeners.ts";
import { ReferenceGrants } from "../routing/gateway/reference-grants.ts";
import { gatewayClassStatus, gatewayStatus } from "./gateway-status.ts";

const facts = {
  ports: { http: new Map([[80, 80]]), https: new Map() },
  addresses: ["192.0.2.1", "192.0.2.2"],
  grants: new ReferenceGrants([]),
  certificate: () => ({}),
};

const usable = { type: "IPAddress", value: "192.0.2.2" };

test.each([
  [
    "an address of another type",
    [{ type: "example.org/name", value: "edge" }, usable],
    ["Accepted False UnsupportedAddress", "Programmed False AddressNotUsable"],
    [usable],
  ],
  [
    "an address that is not the proxy's",
    [{ type: "IPAddress", value: "192.0.2.9" }, usable],
    ["Accepted True Accepted", "Programmed False AddressNotUsable"],
    [usable],
  ],
  [
    "an address of the proxy",
    [usable],
    ["Accepted True Accepted", "Programmed True Programmed"],
    [usable],
  ],
  [
    "any address, without a value",
    [{ type: "IPAddress" }],
    ["Accepted True Accepted", "Programmed True Programmed"],
    [usable],
  ],
])("a Gateway that asks for %s", (_, addresses, conditions, shown) => {
  const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
  const asking = gateway({ name: "edge" }, listeners, { addresses });
  const address = usable.value;
  const decided = {
    gateway: asking,
    address,
    lacksAddress: false,
    listeners: decideListeners(asking, facts, address),
    attached: new Map(),
  };
  const status = gatewayStatus(decided, undefined, [], 0 as WallMs) ?? {};
  const seen = listAt(status, "conditions").filter(isRecord);
  expect(seen.map(({ type, status: is, reason }) => [type, is, reason].join(" "))).toEqual(
    conditions,
  );
  expect(status["addresses"]).toEqual(shown);
});

test("a GatewayClass claims the features that the kept reports of the conformance suite have, sorted", () => {
  // Reports do not list those of their core tests. The suite counts the last one to these, too.
  const core = ["Gateway", "ReferenceGrant", "HTTPRoute", "GRPCRoute", "GRPCRouteNamedRouteRule"];
  const extended = ["gateway-conformance", "gateway-grpc-conformance"].flatMap((name) => {
    const file = new URL(`../../../docs/${name}.yaml`, import.meta.url);
    const report: unknown = parse(readFileSync(file, "utf8"));
    const profiles = isRecord(report) ? listAt(report, "profiles").filter(isRecord) : [];
    return profiles.flatMap((one) => listAt(recordAt(one, "extended"), "supportedFeatures"));
  });
  const status = gatewayClassStatus(gatewayClass(), 0 as WallMs) ?? {};
  const claimed = listAt(status, "supportedFeatures").filter(isRecord);
  expect(claimed.map(({ name }) => name)).toEqual([...core, ...extended].map(String).sort());
});
