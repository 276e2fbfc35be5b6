// Which request bodies are taken, and how others are refused; nothing is stored on refusal.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../api-world.contract.ts";
import { objectAt, textAt } from "../kinds/fields.ts";

describe("bodies", () => {
  const cases: readonly {
    name: string;
    body: unknown;
    contentType?: string;
    query?: string;
    expected: object;
  }[] = [
    {
      name: "an unknown format",
      body: "?",
      contentType: "application/cbor",
      expected: failure(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
      ),
    },
    {
      name: "another kind",
      body: { apiVersion: "v1", kind: "Service", metadata: { name: "a" } },
      expected: failure(
        400,
        "BadRequest",
        'Service in version "v1" cannot be handled as a Pod: converting (v1.Service) to (Pod): unknown conversion',
      ),
    },
    {
      name: "another version",
      body: { apiVersion: "apps/v1", kind: "Pod", metadata: { name: "a" } },
      expected: failure(
        400,
        "BadRequest",
        "the API version in the data (apps/v1) does not match the expected API version (v1)",
      ),
    },
    {
      name: "a value of the wrong type",
      body: pod("a", { terminationGracePeriodSeconds: "soon" }),
      expected: failure(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64',
      ),
    },
    {
      name: "an unknown field when the client is strict",
      body: pod("a", { replicas: 3 }),
      query: "?fieldValidation=Strict",
      expected: failure(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.replicas"',
      ),
    },
    {
      name: "a wish that does not exist",
      body: pod("a"),
      query: "?fieldValidation=Maybe",
      expected: failure(
        422,
        "Invalid",
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Maybe": supported values: "Ignore", "Warn", "Strict"',
        {
          group: "meta.k8s.io",
          kind: "CreateOptions",
          causes: [
            {
              reason: "FieldValueNotSupported",
              message: 'Unsupported value: "Maybe": supported values: "Ignore", "Warn", "Strict"',
              field: "fieldValidation",
            },
          ],
        },
      ),
    },
    {
      name: "too many bytes",
      body: JSON.stringify("x".repeat(3 * 1024 * 1024)),
      expected: failure(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
    },
  ];
  test.each(cases)("are refused for $name", ({ body, contentType, query = "", expected }) =>
    inApiWorld(async ({ call }) => {
      const options = contentType === undefined ? {} : { contentType };
      expect((await call("POST", pods + query, body, options)).json).toEqual(expected);
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
    }),
  );

  test("are refused with the place where the JSON breaks", () =>
    inApiWorld(async ({ call }) => {
      const { status, json } = await call("POST", pods, '{"kind": "Pod",}');
      expect(status).toBe(400);
      expect(textAt(json, "message")).toMatch(/must be of type Pod.*json parse error.*position 15/);
    }));

  test("may be YAML", () =>
    inApiWorld(async ({ call }) => {
      const yaml = "metadata: {name: a}\ndata:\n  key: value\n";
      const path = "/api/v1/namespaces/default/configmaps";
      const { json } = await call("POST", path, yaml, { contentType: "application/yaml" });
      expect(objectAt(json, "data")).toEqual({ key: "value" });
    }));

  test("with unknown fields are stored without them, and the client is warned", () =>
    inApiWorld(async ({ call }) => {
      const { status, headers, json } = await call("POST", pods, pod("a", { replicas: 3 }));
      expect(status).toBe(201);
      expect(headers["warning"]).toBe('299 - "unknown field \\"spec.replicas\\""');
      expect(objectAt(json, "spec")).not.toHaveProperty("replicas");
    }));
});
