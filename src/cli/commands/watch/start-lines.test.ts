import { expect, test } from "vitest";
import { uncoloured } from "../../../../tests/cli/watched-changes.ts";
import { lostHop } from "../../../observe/lost-hops.ts";
import type { KindPreview } from "../../../observe/preview.ts";
import { startLines } from "../../preview.ts";

function kind(resource: KindPreview["resource"], objects: number | undefined): KindPreview {
  const known = { bytes: objects, listRequests: 1, problem: undefined };
  return { resource, namespace: undefined, objects, ...known };
}

test("before it starts it says what it will read, and what a missing permission costs", () => {
  const previews = [
    {
      cluster: "prod-eu",
      kinds: [kind("services", 1_204), kind("pods", undefined), kind("endpointslices", undefined)],
      objects: 21_514,
      bytes: 6_130_000,
      listRequests: 4,
      watches: 3,
      readsPerMinute: 9,
      problem: undefined,
    },
    {
      cluster: "prod-\u001bus",
      kinds: [],
      objects: 0,
      bytes: 0,
      listRequests: 0,
      watches: 0,
      readsPerMinute: 0,
      problem: "connection refused",
    },
  ];
  const refused = { resource: "pods", namespace: undefined, purposes: ["pod"] } as const;
  const lost = lostHop("prod-eu")(refused);
  const denied = { resource: "pods", namespace: undefined, verdict: "denied" } as const;
  const permissions = [{ cluster: "prod-eu", permissions: [denied], lost, problem: undefined }];
  expect(
    startLines(previews, permissions, { width: 80, paint: uncoloured, closing: "Reads only." }),
  ).toMatchInlineSnapshot(`
    [
      "● prod-eu: will list 1,204 services, endpointslices (number unknown); about 6.1",
      "  MB in 4 requests. Then keeps 2 watches open and sends 6 requests a minute to",
      "  check that they are up to date.",
      "✗ prod-\\u{1b}us does not answer, retrying: connection refused",
      "! Missing permission: list/watch pods in prod-eu. Effect: pod times are unknown;",
      "  timing starts at the EndpointSlice, after the endpoint controller",
      "  The role in deploy/rbac/observer.yaml has all permissions. With --namespace it",
      "  is needed only in those namespaces.",
      "  Reads only.",
    ]
  `);
});
