// The form in which objects are stored, and refused values.
import { describe, expect, test } from "vitest";
import { conform } from "./conform.ts";
import { SchemaTypeError } from "./schema-type-error.ts";

describe("conforming", () => {
  test("drops nulls and unknown fields, sorts the rest, and reports the unknown fields", () => {
    const { value, unknownFields } = conform("core.v1.Service", {
      spec: {
        type: null,
        ports: [{ targetPort: "http", port: 80, extra: 1 }],
        selector: { b: "1", a: null },
      },
      other: true,
      metadata: { name: "a", creationTimestamp: null },
    });
    expect(JSON.stringify(value)).toBe(
      JSON.stringify({
        metadata: { name: "a" },
        spec: {
          ports: [{ port: 80, protocol: "TCP", targetPort: "http" }],
          selector: { a: "", b: "1" },
        },
        status: { loadBalancer: {} },
      }),
    );
    expect(unknownFields).toEqual(["other", "spec.ports[0].extra"]);
  });

  test("keeps quantities as strings, and accepts times, and numbers or names for ports", () => {
    const { value } = conform("core.v1.Pod", {
      metadata: { creationTimestamp: "2026-01-02T03:04:05Z" },
      spec: { containers: [{ resources: { limits: { cpu: 2, memory: "1.5Gi" } } }] },
    });
    expect(value).toEqual({
      metadata: { creationTimestamp: "2026-01-02T03:04:05Z" },
      spec: { containers: [{ name: "", resources: { limits: { cpu: "2", memory: "1.5Gi" } } }] },
      status: {},
    });
  });

  test("sets the zero values that Go always encodes", () => {
    expect(conform("apps.v1.Deployment", {}).value).toEqual({
      metadata: {},
      spec: {
        selector: null,
        strategy: {},
        template: { metadata: {}, spec: { containers: null } },
      },
      status: {},
    });
    const { value } = conform("core.v1.Pod", { status: { conditions: [{ type: "Ready" }] } });
    expect(value["status"]).toEqual({
      conditions: [{ lastProbeTime: null, lastTransitionTime: null, status: "", type: "Ready" }],
    });
  });

  const refused: readonly [value: unknown, message: string][] = [
    [[], "json: cannot unmarshal array into Go value of type v1.Pod"],
    [
      { spec: { containers: {} } },
      "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
    ],
    [
      { spec: { containers: [{ ports: [{ containerPort: 1.5 }] }] } },
      "json: cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
    ],
    [
      { metadata: { labels: { a: true } } },
      "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
    ],
    [
      { metadata: { labels: ["a"] } },
      "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
    ],
    [
      { spec: { priority: 2 ** 31 } },
      "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
    ],
    [
      { metadata: { creationTimestamp: "yesterday" } },
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    ],
    [
      { spec: { overhead: { cpu: "much" } } },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
  ];
  test.each(refused)("refuses %j", (value, message) => {
    expect(() => conform("core.v1.Pod", value)).toThrow(message);
  });

  test.each([
    ["not base64!", 3],
    ["YWJjYQ", 4],
  ])("refuses bytes that are not base64: %j", (bytes, at) => {
    expect(() => conform("core.v1.Secret", { data: { a: bytes } })).toThrow(
      new SchemaTypeError(`illegal base64 data at input byte ${at}`),
    );
  });

  test("has the message of the converter of strategic patches for a mistyped value", () => {
    const conversions = [{ data: { a: 1 } }, { data: "a" }, { metadata: [] }, { immutable: "no" }];
    expect(conversions.map((value) => conversionOf("core.v1.ConfigMap", value))).toEqual([
      "cannot convert int64 to string",
      "cannot restore map from string",
      "cannot restore struct from: slice",
      "unrecognized type: bool",
    ]);
  });

  test.each([
    ["2026-13-01T00:00:00Z", 'parsing time "2026-13-01T00:00:00Z": month out of range'],
    ["2026-02-30T00:00:00Z", 'parsing time "2026-02-30T00:00:00Z": day out of range'],
    [
      "2026-01-01",
      'parsing time "2026-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
    ],
    ["2026-01-01T00:00:00Z!", 'parsing time "2026-01-01T00:00:00Z!": extra text: "!"'],
  ])("refuses the time %s", (time, message) => {
    const value = { metadata: { creationTimestamp: time } };
    expect(() => conform("core.v1.Pod", value)).toThrow(new SchemaTypeError(message));
  });
});

function conversionOf(type: string, value: unknown): string {
  try {
    conform(type, value);
  } catch (error) {
    return error instanceof SchemaTypeError ? error.conversion : String(error);
  }
  return "fits";
}
