// Accepted and refused request bodies. A refused body stores nothing.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../../../tests/apiserver/api-world.ts";
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
        'Service in version "v1" cannot be handled as a Pod: converting (v1.Service) to (core.Pod): unknown conversion',
      ),
    },
    {
      name: "another version",
      body: { apiVersion: "apps/v1", kind: "Pod", metadata: { name: "a" } },
      expected: failure(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: no kind "Pod" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"',
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
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
        {
          group: "meta.k8s.io",
          kind: "CreateOptions",
          causes: [
            {
              reason: "FieldValueNotSupported",
              message:
                'Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
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
  test("are refused unread if Content-Length is far too large", () =>
    inApiWorld(async ({ call }) => {
      const headers = { "content-length": String(7 * 1024 * 1024) };
      const path = "/api/v1/namespaces/default/configmaps";
      const { json } = await call("POST", path, { metadata: { name: "a" } }, { headers });
      expect(json).toEqual(
        failure(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
      );
    }));

  test.each(cases)("are refused for $name", ({ body, contentType, query = "", expected }) =>
    inApiWorld(async ({ call }) => {
      const options = contentType === undefined ? {} : { contentType };
      expect((await call("POST", pods + query, body, options)).json).toEqual(expected);
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
    }),
  );

  const unrecognized: readonly [body: string, problem: string][] = [
    [
      '{"kind": "Pod",}',
      'invalid character \'}\' looking for beginning of object key string ({"kind": "Pod",})',
    ],
    ["", "unexpected end of JSON input (<empty>)"],
    ['{"a": tru', 'unexpected end of JSON input ({"a": tru)'],
    ['{"a": 1 2}', "invalid character '2' after object key:value pair ({\"a\": 1 2})"],
    ["[1", "unexpected end of JSON input (5b31)"],
    [
      '{"kind":1}',
      'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})',
    ],
  ];
  test.each(unrecognized)("are refused if they are not an object: %s", (body, problem) =>
    inApiWorld(async ({ call }) => {
      expect((await call("POST", pods, body)).json).toEqual(
        failure(
          400,
          "BadRequest",
          "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; " +
            `json parse error: ${problem}`,
        ),
      );
    }),
  );

  test("may be YAML", () =>
    inApiWorld(async ({ call }) => {
      const yaml = "metadata: {name: a}\ndata:\n  key: value\n";
      const path = "/api/v1/namespaces/default/configmaps";
      const { json } = await call("POST", path, yaml, { contentType: "application/yaml" });
      expect(objectAt(json, "data")).toEqual({ key: "value" });
    }));

  test("in YAML read yes as true, dates as strings, and only the first document", () =>
    inApiWorld(async ({ call }) => {
      const path = "/api/v1/namespaces/default/configmaps";
      const options = { contentType: "application/yaml" };
      const yaml = "metadata: {name: a}\ndata: {day: 2026-01-02, hours: 12:30}\n---\nx: [\n";
      const made = await call("POST", path, yaml, options);
      expect(objectAt(made.json, "data")).toEqual({ day: "2026-01-02", hours: "12:30" });
      const refused = await call("POST", path, "metadata: {name: yes}\n", options);
      expect(textAt(refused.json, "message")).toBe(
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: ' +
          "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string",
      );
    }));

  test("with unknown fields are stored without them, and the client is warned", () =>
    inApiWorld(async ({ call }) => {
      const { status, headers, json } = await call("POST", pods, pod("a", { replicas: 3 }));
      expect(status).toBe(201);
      expect(headers["warning"]).toBe('299 - "unknown field \\"spec.replicas\\""');
      expect(objectAt(json, "spec")).not.toHaveProperty("replicas");
    }));

  const odd =
    '{"metadata":{"name":"a","name":"b"},"spec":{"containers":[{"name":"c","image":"i",' +
    '"image":"j","foo":1,"foo":2}],"bar":{"x":1}},"baz":1}';
  const problems = [
    'duplicate field "metadata.name"',
    'duplicate field "spec.containers[0].image"',
    'unknown field "spec.containers[0].foo"',
    'unknown field "spec.bar"',
    'unknown field "baz"',
  ];
  const oddYaml =
    "metadata:\n  name: a\n  name: b\nspec:\n  containers:\n  - name: c\n    image: i\n" +
    "    foo: 1\n  bar: 2\n";
  const yamlProblems = ['unknown field "spec.bar"', 'unknown field "spec.containers[0].foo"'];

  test("with strict validation are refused with all problems in order", () =>
    inApiWorld(async ({ call }) => {
      const path = `${pods}?fieldValidation=Strict&dryRun=All`;
      const refusal = (text: string) =>
        failure(
          400,
          "BadRequest",
          `Pod in version "v1" cannot be handled as a Pod: strict decoding error: ${text}`,
        );
      expect((await call("POST", path, odd)).json).toEqual(refusal(problems.join(", ")));
      const yaml = await call("POST", path, oddYaml, { contentType: "application/yaml" });
      const repeated = 'yaml: unmarshal errors:\n  line 3: key "name" already set in map';
      expect(yaml.json).toEqual(refusal([repeated, ...yamlProblems].join(", ")));
    }));

  test("without strict validation are accepted, with a warning for each problem unless ignored", () =>
    inApiWorld(async ({ call }) => {
      const warnings = (list: readonly string[]) =>
        list.map((text) => `299 - ${JSON.stringify(text)}`).join(", ");
      const warned = await call("POST", `${pods}?dryRun=All`, odd);
      expect(warned.headers["warning"]).toBe(warnings(problems));
      const yaml = await call("POST", `${pods}?dryRun=All`, oddYaml, {
        contentType: "application/yaml",
      });
      expect(yaml.headers["warning"]).toBe(
        warnings(['line 3: key "name" already set in map', ...yamlProblems]),
      );
      const ignored = await call("POST", `${pods}?dryRun=All&fieldValidation=Ignore`, odd);
      expect([ignored.status, ignored.headers["warning"]]).toEqual([201, undefined]);
    }));
});
