// Creating objects, over the simulated network.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../../../tests/apiserver/api-world.ts";
import { textAt } from "../kinds/fields.ts";

describe("create", () => {
  test("fills in what the server decides and what clients rely on", () =>
    inApiWorld(async ({ call }) => {
      const { status, json } = await call("POST", pods, pod("a"));
      expect(status).toBe(201);
      expect(json).toEqual({
        kind: "Pod",
        apiVersion: "v1",
        metadata: {
          name: "a",
          namespace: "default",
          labels: { app: "a" },
          uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
          creationTimestamp: "2026-01-01T00:00:00Z",
          generation: 1,
          resourceVersion: expect.stringMatching(/^\d+$/),
        },
        spec: {
          containers: [
            {
              name: "c",
              image: "nginx:1",
              imagePullPolicy: "IfNotPresent",
              resources: {},
              terminationMessagePath: "/dev/termination-log",
              terminationMessagePolicy: "File",
            },
          ],
          dnsPolicy: "ClusterFirst",
          enableServiceLinks: true,
          restartPolicy: "Always",
          preemptionPolicy: "PreemptLowerPriority",
          priority: 0,
          schedulerName: "default-scheduler",
          securityContext: {},
          terminationGracePeriodSeconds: 30,
          tolerations: ["not-ready", "unreachable"].map((state) => ({
            key: `node.kubernetes.io/${state}`,
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: 300,
          })),
        },
        status: { phase: "Pending", qosClass: "BestEffort" },
      });
      expect((await call("GET", `${pods}/a`)).json).toEqual(json);
    }));

  test("refuses a second object of the same name and stores nothing", () =>
    inApiWorld(async ({ call }) => {
      const first = await call("POST", pods, pod("a"));
      const second = await call("POST", pods, pod("a", { nodeName: "n" }));
      expect(second.status).toBe(409);
      expect(second.json).toEqual(
        failure(409, "AlreadyExists", 'pods "a" already exists', { name: "a", kind: "pods" }),
      );
      expect((await call("GET", `${pods}/a`)).json).toEqual(first.json);
    }));

  test("refuses a version, after all else that is wrong, unless it is no number", () =>
    inApiWorld(async ({ call }) => {
      const create = (resourceVersion: string, name = "a", query = "") =>
        call("POST", `${pods}${query}`, { ...pod(name), metadata: { name, resourceVersion } });
      const refused = failure(
        500,
        "",
        "resourceVersion should not be set on objects to be created",
      );
      expect((await create("5")).json).toEqual(refused);
      expect((await create("5", "A!")).status).toBe(422);
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
      const statuses = [await create("0", "zero"), await create("abc", "word")];
      expect(statuses.map(({ status }) => status)).toEqual([201, 201]);
      expect(textAt(statuses[1]?.json, "metadata", "resourceVersion")).toMatch(/^\d+$/);
      expect((await create("5", "zero")).json).toEqual(refused);
    }));

  test("keeps a version in a dry run, which never reaches the storage", () =>
    inApiWorld(async ({ call }) => {
      const body = { ...pod("a"), metadata: { name: "a", resourceVersion: "5" } };
      const { status, json } = await call("POST", `${pods}?dryRun=All`, body);
      expect([status, textAt(json, "metadata", "resourceVersion")]).toEqual([201, "5"]);
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
    }));

  test("generates a name of the prefix and five characters", () =>
    inApiWorld(async ({ call }) => {
      const body = { ...pod(""), metadata: { generateName: "web-" } };
      const { json } = await call("POST", pods, body);
      expect(textAt(json, "metadata", "name")).toMatch(/^web-[b-df-hj-np-tv-z2-9]{5}$/);
    }));

  test("needs the namespace to exist", () =>
    inApiWorld(async ({ call }) => {
      const { json } = await call("POST", "/api/v1/namespaces/nowhere/pods", pod("a"));
      expect(json).toEqual(
        failure(404, "NotFound", 'namespaces "nowhere" not found', {
          name: "nowhere",
          kind: "namespaces",
        }),
      );
    }));

  test("refuses an object of another namespace than the path's", () =>
    inApiWorld(async ({ call }) => {
      const body = { ...pod("a"), metadata: { name: "a", namespace: "other" } };
      const { json } = await call("POST", pods, body);
      expect(json).toEqual(
        failure(
          400,
          "BadRequest",
          "the namespace of the provided object does not match the namespace sent on the request",
        ),
      );
    }));

  test("names every invalid field in one answer", () =>
    inApiWorld(async ({ call }) => {
      const body = pod("Bad_Name", { containers: [{ name: "c" }], restartPolicy: "Sometimes" });
      const { status, json } = await call("POST", pods, body);
      expect(status).toBe(422);
      const causes = [
        {
          reason: "FieldValueInvalid",
          message:
            "Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
          field: "metadata.name",
        },
        {
          reason: "FieldValueRequired",
          message: "Required value",
          field: "spec.containers[0].image",
        },
        {
          reason: "FieldValueNotSupported",
          message:
            'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
          field: "spec.restartPolicy",
        },
      ];
      const sentences = causes.map((cause) => `${cause.field}: ${cause.message}`).join(", ");
      expect(json).toEqual(
        failure(422, "Invalid", `Pod "Bad_Name" is invalid: [${sentences}]`, {
          name: "Bad_Name",
          kind: "Pod",
          causes,
        }),
      );
    }));

  test("with dryRun checks everything and stores nothing", () =>
    inApiWorld(async ({ call }) => {
      const { status, json } = await call("POST", `${pods}?dryRun=All`, pod("a"));
      expect(status).toBe(201);
      expect(textAt(json, "status", "phase")).toBe("Pending");
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
    }));
});
