// PUT and PATCH: versions, parts of an object, immutability.
import { describe, expect, test } from "vitest";
import {
  type ApiWorld,
  failure,
  inApiWorld,
  pod,
  pods,
} from "../../../tests/apiserver/api-world.ts";
import { objectAt, objectsAt } from "../kinds/fields.ts";

describe("update", () => {
  async function created(world: ApiWorld): Promise<Record<string, unknown>> {
    const { json } = await world.call("POST", pods, pod("a"));
    return { ...objectAt({ json }, "json") };
  }

  test("refuses a version that is not the current one", () =>
    inApiWorld(async (world) => {
      const before = await created(world);
      const path = `${pods}/a`;
      const labelled = { ...before, metadata: { ...objectAt(before, "metadata"), labels: {} } };
      expect((await world.call("PUT", path, labelled)).status).toBe(200);
      const stale = await world.call("PUT", path, labelled);
      expect(stale.json).toEqual(
        failure(
          409,
          "Conflict",
          'Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again',
          { name: "a", kind: "pods" },
        ),
      );
    }));

  test("that changes nothing makes no new version, whatever the order of fields", () =>
    inApiWorld(async (world) => {
      const before = await created(world);
      const reversed = Object.fromEntries(Object.entries(before).reverse());
      const { status, json } = await world.call("PUT", `${pods}/a`, reversed);
      expect(status).toBe(200);
      expect(json).toEqual(before);
    }));

  test("of the object leaves the status, and of the status leaves the object", () =>
    inApiWorld(async (world) => {
      const before = await created(world);
      const changed = {
        ...before,
        metadata: { name: "a", labels: { new: "yes" } },
        status: { phase: "Running", podIP: "10.0.0.1" },
      };
      const main = await world.call("PUT", `${pods}/a`, changed);
      expect(objectAt(main.json, "status")).toEqual({ phase: "Pending", qosClass: "BestEffort" });
      const status = await world.call("PUT", `${pods}/a/status`, {
        ...changed,
        spec: { containers: [{ name: "other", image: "x" }] },
      });
      expect(objectAt(status.json, "spec")).toEqual(before["spec"]);
      expect(objectAt(status.json, "status")).toEqual({
        phase: "Running",
        podIP: "10.0.0.1",
        podIPs: [{ ip: "10.0.0.1" }],
        qosClass: "BestEffort",
      });
    }));

  test("of an immutable pod spec is forbidden, of an image is not", () =>
    inApiWorld(async (world) => {
      await created(world);
      const refused = await world.call(
        "PATCH",
        `${pods}/a`,
        { spec: { nodeName: "elsewhere" } },
        { contentType: "application/merge-patch+json" },
      );
      expect(refused.status).toBe(422);
      expect(objectsAt(refused.json, "details", "causes").map((cause) => cause["field"])).toEqual([
        "spec",
      ]);
      const allowed = await world.call(
        "PATCH",
        `${pods}/a`,
        [{ op: "replace", path: "/spec/containers/0/image", value: "nginx:2" }],
        { contentType: "application/json-patch+json" },
      );
      expect(allowed.status).toBe(200);
      expect(objectAt(allowed.json, "metadata")?.["generation"]).toBe(2);
    }));

  test("creates what may be created by PUT, and only that", () =>
    inApiWorld(async ({ call }) => {
      const lease = { metadata: { name: "l" }, spec: { holderIdentity: "me" } };
      const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
      expect((await call("PUT", `${leases}/l`, lease)).status).toBe(201);
      expect((await call("PUT", `${pods}/a`, pod("a"))).json).toEqual(
        failure(404, "NotFound", 'pods "a" not found', { name: "a", kind: "pods" }),
      );
      const blind = await call("PUT", `${leases}/l`, lease);
      expect(blind.json).toEqual(
        failure(
          422,
          "Invalid",
          'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
          {
            name: "l",
            group: "coordination.k8s.io",
            kind: "leases",
            causes: [
              {
                reason: "FieldValueInvalid",
                message: "Invalid value: 0: must be specified for an update",
                field: "metadata.resourceVersion",
              },
            ],
          },
        ),
      );
    }));

  test("refuses a name that is not the path's", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", pods, pod("a"));
      expect((await call("PUT", `${pods}/a`, pod("b"))).json).toEqual(
        failure(
          400,
          "BadRequest",
          "the name of the object (b) does not match the name on the URL (a)",
        ),
      );
    }));

  test("refuses an unknown kind of patch", () =>
    inApiWorld(async ({ call }) => {
      const options = { contentType: "application/strange" };
      expect((await call("PATCH", `${pods}/a`, {}, options)).json).toEqual(
        failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {}),
      );
    }));
});
