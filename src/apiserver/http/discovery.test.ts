// Aggregated discovery, for clients that ask for it, and the plain form for all others.
import { expect, test } from "vitest";
import { inApiWorld } from "../../../tests/apiserver/api-world.ts";

const asked =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

test("all resources of all groups are in one document, on request", () =>
  inApiWorld(async ({ call }) => {
    const { headers, json } = await call("GET", "/apis", undefined, { headers: { accept: asked } });
    expect([headers["content-type"], headers["cache-control"], headers["vary"]]).toEqual([
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
      "public",
      "Accept",
    ]);
    expect(json).toMatchObject({
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      metadata: {},
    });
    const groups: unknown = Reflect.get(Object(json), "items");
    expect(groups).toContainEqual({
      metadata: { name: "coordination.k8s.io" },
      versions: [
        {
          version: "v1",
          resources: [
            {
              resource: "leases",
              responseKind: { group: "", version: "", kind: "Lease" },
              scope: "Namespaced",
              singularResource: "lease",
              verbs: [
                "create",
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "update",
                "watch",
              ],
            },
          ],
          freshness: "Current",
        },
      ],
    });
  }));

test("clients that prefer plain JSON, or another version, get the plain form", () =>
  inApiWorld(async ({ call }) => {
    for (const accept of [
      "application/json",
      "*/*",
      "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json",
    ]) {
      const { json } = await call("GET", "/api", undefined, { headers: { accept } });
      expect(json).toMatchObject({ kind: "APIVersions" });
    }
  }));
