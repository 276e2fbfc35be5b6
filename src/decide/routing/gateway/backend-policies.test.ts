// Services of a BackendTLSPolicy get nothing, and the policy's status says why.
import { expect, it } from "vitest";
import {
  backendTlsPolicy,
  gateway,
  gatewayClass,
  grpcRoute,
  httpRoute,
} from "../../../../tests/gateway/gateway-objects.ts";
import type { WallMs } from "../../../environment/clock.ts";
import type { BackendTlsPolicy } from "../../../kube/kinds/backend-tls-policy.ts";
import { backendTlsPolicyStatus } from "../../status/gateway-status.ts";
import { BackendPolicies } from "./backend-policies.ts";
import { GatewayFrontEnd } from "./gateway-front-end.ts";

const listener = { name: "http", port: 80, protocol: "HTTP" };
const to = (name: string, weight = 1) => ({ name, port: 80, weight });
const routes = [
  httpRoute(
    { name: "pages" },
    {
      parentRefs: [{ name: "edge" }],
      rules: [{ backendRefs: [to("plain", 3), to("secure")] }, { backendRefs: [to("secure")] }],
    },
  ),
  // Attached to no Gateway of ours.
  grpcRoute({ name: "calls" }, { parentRefs: [{ name: "other" }], rules: [] }),
];
const target = (name: string, kind = "Service") => ({ group: "", kind, name });
const secure = backendTlsPolicy(
  { name: "secure" },
  { targetRefs: [{ ...target("secure"), sectionName: "https" }] },
);

function decide(policies: readonly BackendTlsPolicy[], frontEnd = new GatewayFrontEnd()) {
  return frontEnd.decide(
    {
      classes: [gatewayClass()],
      gateways: [gateway({ name: "edge" }, [listener])],
      routes,
      grants: [],
      policies,
    },
    {
      ports: { http: new Map([[80, 80]]), https: new Map() },
      labelsOf: () => ({}),
      certificate: () => ({}),
      hasService: () => true,
    },
  );
}

it("sends nothing to a Service of a policy: neither its share nor a rule of its own", () => {
  const frontEnd = new GatewayFrontEnd();
  const seen = (policies: readonly BackendTlsPolicy[]) => {
    const [route] = decide(policies, frontEnd).routes;
    return route?.rules.routes.map(({ backend, shares = [], policy }) => [
      backend?.name,
      ...shares.map((one) => one.backend?.name),
      policy?.refuse,
    ]);
  };
  const both = [
    ["plain", "secure", undefined],
    ["secure", undefined],
  ];
  expect(seen([])).toEqual(both);
  expect(seen([secure])).toEqual([
    ["plain", undefined, undefined],
    [undefined, 500],
  ]);
  expect(seen([])).toEqual(both);
  const others = [
    backendTlsPolicy({ name: "kind" }, { targetRefs: [target("secure", "Other")] }),
    backendTlsPolicy({ namespace: "apart", name: "apart" }, { targetRefs: [target("secure")] }),
  ];
  expect(seen(others)).toEqual(both);
  expect(decide([secure]).routes[0]?.rules.references[0]).toEqual({
    reason: "UnsupportedProtocol",
    message:
      'backend "infra/secure": BackendTLSPolicy "infra/secure" is not supported, so nothing is sent there',
  });
});

it("tells a ServiceImport from the Service of its name", () => {
  const kind = { group: "multicluster.x-k8s.io", kind: "ServiceImport" };
  const policy = backendTlsPolicy({ name: "all" }, { targetRefs: [{ ...kind, name: "secure" }] });
  const policies = new BackendPolicies([policy]);
  const named = { namespace: "infra", name: "secure" };
  expect(policies.of({ ...kind, ...named })).toBe("infra/all");
  expect(policies.of({ group: "", kind: "Service", ...named })).toBeUndefined();
});

it("is not accepted at each Gateway that leads to its Service, and leaves what others wrote", () => {
  const unused = backendTlsPolicy({ name: "unused" }, { targetRefs: [target("unused")] });
  const { policies } = decide([secure, unused]);
  expect(policies.map(({ policy, gateways }) => [policy.metadata.name, gateways])).toEqual([
    ["secure", ["infra/edge"]],
    ["unused", []],
  ]);
  const [ofSecure, ofUnused] = policies;
  if (ofSecure === undefined || ofUnused === undefined) throw new Error("a policy is missing");
  const theirs = { ancestorRef: { name: "x" }, controllerName: "other.example/c", conditions: [] };
  const now = Date.parse("2026-01-01T00:00:00Z") as WallMs;
  const status = backendTlsPolicyStatus(ofSecure, { ancestors: [theirs] }, now);
  expect(status).toMatchObject({
    ancestors: [
      theirs,
      {
        ancestorRef: { kind: "Gateway", namespace: "infra", name: "edge" },
        controllerName: "lockstep.dev/gateway",
        conditions: [{ type: "Accepted", status: "False", reason: "Invalid" }],
      },
    ],
  });
  expect(backendTlsPolicyStatus(ofSecure, status, now)).toBeUndefined();
  expect(backendTlsPolicyStatus(ofUnused, undefined, now)).toBeUndefined();
  expect(backendTlsPolicyStatus(ofUnused, status, now)).toEqual({ ancestors: [theirs] });
});
