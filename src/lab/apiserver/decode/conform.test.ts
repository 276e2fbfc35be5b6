// The one form in which objects are stored, and what does not fit it.
import { describe, expect, test } from "vitest";
import { conform } from "./conform.ts";
import { SchemaTypeError } from "./schema-type-error.ts";

describe("conforming", () => {
  test("drops nulls and unknown fields, orders the rest, and names what it dropped", () => {
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
      }),
    );
    expect(unknownFields).toEqual(["other", "spec.ports[0].extra"]);
  });

  test("keeps quantities as text and takes times, numbers or names where they may be", () => {
    const { value } = conform("core.v1.Pod", {
      metadata: { creationTimestamp: "2026-01-02T03:04:05Z" },
      spec: { containers: [{ resources: { limits: { cpu: 2, memory: "1.5Gi" } } }] },
    });
    expect(value).toEqual({
      metadata: { creationTimestamp: "2026-01-02T03:04:05Z" },
      spec: { containers: [{ resources: { limits: { cpu: "2", memory: "1.5Gi" } } }] },
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
      "json: cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers[0].ports[0].containerPort of type int32",
    ],
    [
      { metadata: { labels: { a: true } } },
      "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels.a of type string",
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
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse it (metadata.creationTimestamp)',
    ],
    [
      { spec: { overhead: { cpu: "much" } } },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' (spec.overhead.cpu: \"much\")",
    ],
  ];
  test.each(refused)("refuses %j", (value, message) => {
    expect(() => conform("core.v1.Pod", value)).toThrow(new SchemaTypeError(message));
  });

  test("refuses bytes that are not base64", () => {
    expect(() => conform("core.v1.Secret", { data: { a: "not base64!" } })).toThrow(
      new SchemaTypeError("illegal base64 data in data.a"),
    );
  });
});
