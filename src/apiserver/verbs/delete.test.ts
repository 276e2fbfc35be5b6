// Deleting objects: at once, with grace, with finalizers; namespaces.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../../../tests/apiserver/api-world.ts";
import { objectAt, objectsAt, textAt, textsAt } from "../kinds/fields.ts";

describe("delete", () => {
  test("removes an unscheduled pod at once", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", pods, pod("a"));
      const { status, json } = await call("DELETE", `${pods}/a`);
      expect(status).toBe(200);
      expect(textAt(json, "metadata", "name")).toBe("a");
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
    }));

  test("marks a running pod, lets the grace be shortened only, and removes it at grace 0", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", pods, pod("a", { nodeName: "n1" }));
      const marked = await call("DELETE", `${pods}/a`);
      expect(objectAt(marked.json, "metadata")).toMatchObject({
        deletionTimestamp: "2026-01-01T00:00:30Z",
        deletionGracePeriodSeconds: 30,
        generation: 2,
      });
      const longer = await call("DELETE", `${pods}/a?gracePeriodSeconds=60`);
      expect(longer.json).toEqual(marked.json);
      const shorter = await call("DELETE", `${pods}/a?gracePeriodSeconds=5`);
      expect(objectAt(shorter.json, "metadata")).toMatchObject({
        deletionTimestamp: "2026-01-01T00:00:05Z",
        deletionGracePeriodSeconds: 5,
      });
      const uid = textAt(marked.json, "metadata", "uid");
      const last = { gracePeriodSeconds: 0, preconditions: { uid } };
      expect((await call("DELETE", `${pods}/a`, last)).status).toBe(200);
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
    }));

  test("waits for finalizers, and goes with the last one", () =>
    inApiWorld(async ({ call }) => {
      const path = "/api/v1/namespaces/default/configmaps";
      const metadata = { name: "a", finalizers: ["example.com/hold"] };
      await call("POST", path, { metadata });
      const marked = await call("DELETE", `${path}/a`);
      expect(objectAt(marked.json, "metadata")).toMatchObject({
        deletionTimestamp: "2026-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 0,
        finalizers: ["example.com/hold"],
      });
      const options = { contentType: "application/merge-patch+json" };
      const added = { metadata: { finalizers: ["example.com/hold", "example.com/more"] } };
      expect((await call("PATCH", `${path}/a`, added, options)).status).toBe(422);
      const freed = await call("PATCH", `${path}/a`, { metadata: { finalizers: null } }, options);
      expect(freed.status).toBe(200);
      expect((await call("GET", `${path}/a`)).status).toBe(404);
    }));

  test("refuses when a precondition does not hold", () =>
    inApiWorld(async ({ call }) => {
      const created = await call("POST", pods, pod("a"));
      const uid = textAt(created.json, "metadata", "uid");
      const { json } = await call("DELETE", `${pods}/a`, { preconditions: { uid: "other" } });
      expect(json).toEqual(
        failure(
          409,
          "Conflict",
          `Operation cannot be fulfilled on Pod "a": the UID in the precondition (other) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
          { name: "a", kind: "Pod" },
        ),
      );
    }));

  test("answers with a Status for kinds that do not return what they removed", () =>
    inApiWorld(async ({ call }) => {
      const path = "/apis/apps/v1/namespaces/default/deployments";
      const labels = { app: "a" };
      const created = await call("POST", path, {
        metadata: { name: "a" },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
        },
      });
      expect((await call("DELETE", `${path}/a`)).json).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: {
          name: "a",
          group: "apps",
          kind: "deployments",
          uid: textAt(created.json, "metadata", "uid"),
        },
      });
    }));

  test("records the propagation policy as a finalizer", () =>
    inApiWorld(async ({ call }) => {
      const path = "/api/v1/namespaces/default/configmaps";
      await call("POST", path, { metadata: { name: "a" } });
      const { json } = await call("DELETE", `${path}/a`, { propagationPolicy: "Foreground" });
      expect(textsAt(json, "metadata", "finalizers")).toEqual(["foregroundDeletion"]);
    }));

  test("of a collection takes what the selector chooses", () =>
    inApiWorld(async ({ call }) => {
      for (const name of ["a", "b", "c"]) {
        await call("POST", pods, pod(name));
      }
      await call("DELETE", `${pods}?labelSelector=app%20in%20(a,b)`);
      const { json } = await call("GET", pods);
      expect(objectsAt(json, "items").map((item) => textAt(item, "metadata", "name"))).toEqual([
        "c",
      ]);
    }));

  test("of a namespace leaves it terminating until it is finalized", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
      const { json } = await call("DELETE", "/api/v1/namespaces/x");
      expect(textAt(json, "status", "phase")).toBe("Terminating");
      const refused = await call("POST", "/api/v1/namespaces/x/pods", pod("a"));
      expect(refused.json).toEqual(
        failure(
          403,
          "Forbidden",
          'pods "a" is forbidden: unable to create new content in namespace x because it is being terminated',
          {
            name: "a",
            kind: "pods",
            causes: [
              {
                reason: "NamespaceTerminating",
                message: "namespace x is being terminated",
                field: "metadata.namespace",
              },
            ],
          },
        ),
      );
      const finalized = { ...objectAt({ json }, "json"), spec: {} };
      expect((await call("PUT", "/api/v1/namespaces/x/finalize", finalized)).status).toBe(200);
      expect((await call("GET", "/api/v1/namespaces/x")).status).toBe(404);
    }));
});
