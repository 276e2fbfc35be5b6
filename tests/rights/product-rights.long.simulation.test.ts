import { describe, expect, test } from "vitest";
import { isThorough } from "../../src/simulation/seeds.ts";
import { accessFiles, businessFiles, type Right, rightsIn } from "./deployed-rights.ts";
import { runProduct } from "./product-rights.ts";

const whole = {
  hosts: ["web.example", "team.example", "imported.example", "secure.team.example"],
  // By the Service and by the ServiceImport that the sync writes.
  endpoints: ["10.0.0.1:8080", "10.0.0.1:8080"],
  copies: ["web", "web-lab-0"],
  status: "192.0.2.10",
  gateways: [
    "Accepted=True",
    "Accepted=True Programmed=True",
    "Accepted=True ResolvedRefs=True",
    // Its namespace has neither a port for gRPC nor the service.
    "Accepted=False ResolvedRefs=False",
    "Accepted=False",
  ],
  events: [
    "annotation lockstep.dev/server-snippet: snippets are not supported, for security: " +
      "text of an object never becomes nginx configuration",
    "spec.tls[0]: secret shop/web-tls of type kubernetes.io/tls does not exist",
  ],
};

test("with the rights of deploy/rbac Lockstep does all its work and nothing is refused", async () => {
  expect(await runProduct()).toEqual({
    refusals: [],
    complaints: [],
    missing: {},
    missingInSync: {},
    ...whole,
  });
});

const lockstep = "system:serviceaccount:lockstep:lockstep";

test.each([
  [
    { role: "lockstep-ingress", resource: "ingresses/status", verb: "patch" },
    {
      refusals: [
        `ingresses.networking.k8s.io "web" is forbidden: User "${lockstep}-ingress" cannot patch ` +
          'resource "ingresses/status" in API group "networking.k8s.io" in the namespace "shop"',
      ],
      complaints: ["no permission for the work on a key; will retry"],
      missing: { "missing permission: patch ingresses/status": "Ingresses show no address" },
      missingInSync: {},
      ...whole,
      status: "",
    },
  ],
  [
    { role: "lockstep-reader", resource: "pods", verb: "list" },
    {
      refusals: [
        `pods is forbidden: User "${lockstep}-reader" cannot list resource "pods" in API group "" ` +
          "at the cluster scope",
      ],
      complaints: [
        "waiting before the next retry",
        "no permission to watch pods; routing follows the EndpointSlices",
      ],
      missing: {
        "missing permission: list pods":
          "routing follows the EndpointSlices: a removed pod gets requests until its slice changes",
      },
      missingInSync: {
        "missing permission: list pods":
          "copies follow the EndpointSlices: a removed pod stays in a copy until its slice changes",
      },
      ...whole,
    },
  ],
])("without %j it says what it lacks, and does the rest", async (without, expected) => {
  expect(await runProduct({ without })).toEqual(expected);
});

describe.runIf(isThorough(process.env))("every right is needed:", () => {
  const rights = rightsIn([...businessFiles, ...accessFiles]);
  test.each(rights.filter(isUsed))("$role $verb $resource", async (without) => {
    const { refusals, missing, missingInSync } = await runProduct({ without });
    const refused = refusals.filter((message) =>
      message.includes(`cannot ${without.verb} resource "${without.resource}"`),
    );
    expect(refused.length).toBeGreaterThan(0);
    // Who lacks it names the permission and its effect.
    const line = `missing permission: ${without.verb} ${without.resource}`;
    const effects = [missing[line], missingInSync[line]].filter((one) => one !== undefined);
    expect(effects.length).toBeGreaterThan(0);
    expect(effects).not.toContain("not known");
  });
});

/**
 * The others are for clusters without EndpointSlices, for when another writer was faster, for
 * `lockstep sync prune`, which e2e/roles.test.ts runs, and for contexts of several clusters, which
 * src/cli/same-clusters.simulation.test.ts has.
 */
function isUsed({ role, resource, verb }: Right): boolean {
  if (resource === "namespaces" && verb === "get") return false;
  if (role === "lockstep-sync-leader") return verb !== "delete";
  if (role === "lockstep-reader") return resource !== "endpoints";
  return role !== "lockstep-sync" || verb !== "get";
}
