import { describe, expect, it } from "vitest";
import { FieldErrors } from "../kinds/field-errors.ts";
import { applyDefaults, conformTo } from "./conforming.ts";
import { Correlation } from "./correlation.ts";
import { isKnownFormat, isOfFormat } from "./formats.ts";
import { readSchema } from "./json-schema.ts";
import { checkListTypes } from "./object-validation.ts";
import { checkValue, reportFailures } from "./value-validation.ts";

type Json = Record<string, unknown>;

function failures(raw: Json, value: unknown, old?: unknown): readonly string[] {
  const schema = readSchema(raw);
  const errors = new FieldErrors();
  const before = old === undefined ? undefined : new Correlation(value, old, schema);
  reportFailures(checkValue(schema, value, before), "", errors);
  return errors.causes.map(({ field, message }) => `${field}: ${message}`);
}

function object(properties: Json, more: Json = {}): Json {
  return { type: "object", properties, ...more };
}

describe("validation of a value", () => {
  it.each<[string, Json, unknown, readonly string[]]>([
    ["fits", object({ a: { type: "string" } }), { a: "x" }, []],
    [
      "is of another type",
      object({ a: { type: "integer" } }),
      { a: "x" },
      ['a: Invalid value: "string": a in body must be of type integer: "string"'],
    ],
    [
      "is null where null is not allowed",
      object({ a: { type: "string" } }),
      { a: null },
      ['a: Invalid value: "null": a in body must be of type string: "null"'],
    ],
    [
      "is null where null is allowed",
      object({ a: { type: "string", nullable: true } }),
      { a: null },
      [],
    ],
    [
      "lacks what is required",
      object({ a: object({}, { required: ["b"] }) }),
      { a: {} },
      ["a.b: Required value"],
    ],
    [
      "is not among the enumerated",
      object({ a: { type: "string", enum: ["x", "y"] } }),
      { a: "z" },
      ['a: Unsupported value: "z": supported values: "x", "y"'],
    ],
    [
      "is too long, counted in characters",
      object({ a: { type: "string", maxLength: 2 }, b: { type: "string", maxLength: 2 } }),
      { a: "ééé", b: "éé" },
      ["a: Too long: may not be more than 2 bytes"],
    ],
    [
      "does not match",
      object({ a: { type: "string", pattern: "^[a-z]+$" } }),
      { a: "A" },
      ["a: Invalid value: \"A\": a in body should match '^[a-z]+$'"],
    ],
    [
      "has items too many and wrong",
      object({ a: { type: "array", maxItems: 1, items: { type: "string" } } }),
      { a: ["x", 1] },
      [
        'a[1]: Invalid value: "integer": a[1] in body must be of type string: "integer"',
        "a: Too many: 2: must have at most 1 items",
      ],
    ],
    [
      "has values in a map that are wrong",
      object({ a: { type: "object", additionalProperties: { type: "integer" } } }),
      { a: { x: "y" } },
      ['a.x: Invalid value: "string": a.x in body must be of type integer: "string"'],
    ],
    [
      "fits none of several",
      object({ a: { type: "integer", anyOf: [{ minimum: 5 }, { maximum: 1 }] } }),
      { a: 3 },
      [
        '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
        "a: Invalid value: 3: a in body should be greater than or equal to 5",
      ],
    ],
    [
      "fits two of several where it must fit one",
      object({ a: { type: "integer", oneOf: [{ minimum: 1 }, { maximum: 5 }] } }),
      { a: 3 },
      [
        '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    ],
    [
      "fits what it must not",
      object({ a: { type: "string", not: { enum: ["x"] } } }),
      { a: "x" },
      ['<nil>: Invalid value: "": "a" must not validate the schema (not)'],
    ],
    [
      "does not fit its format",
      object({ a: { type: "integer", format: "int32" } }),
      { a: 2 ** 31 },
      ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a'],
    ],
  ])("that %s", (_, raw, value, expected) => {
    expect(failures(raw, value)).toEqual(expected);
  });

  it("runs a pattern in linear time that would backtrack for hours", () => {
    const raw = object({ a: { type: "string", pattern: "^(a+)+$" } });
    expect(failures(raw, { a: `${"a".repeat(10_000)}b` })).toHaveLength(1);
  });

  it("accepts unchanged values", () => {
    const item = object({ name: { type: "string" }, n: { type: "integer", minimum: 1 } });
    const list = {
      type: "array",
      items: item,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    };
    const raw = object({ a: { type: "integer", minimum: 1 }, list });
    const old = { a: 0, list: [{ name: "x", n: 0 }] };
    expect(
      failures(
        raw,
        {
          a: 0,
          list: [
            { name: "y", n: 2 },
            { name: "x", n: 0 },
          ],
        },
        old,
      ),
    ).toEqual([]);
    expect(failures(raw, { a: -1, list: [{ name: "y", n: 0 }] }, old)).toEqual([
      "a: Invalid value: -1: a in body should be greater than or equal to 1",
      "list[0].n: Invalid value: 0: list[0].n in body should be greater than or equal to 1",
    ]);
  });
});

describe("an object that conforms to its schema", () => {
  const schema = readSchema(
    object({
      spec: object({
        known: { type: "string" },
        filled: object({ a: { type: "integer", default: 5 } }, { default: {} }),
        open: object(
          { inner: object({ a: { type: "string" } }) },
          { "x-kubernetes-preserve-unknown-fields": true },
        ),
        map: { type: "object", additionalProperties: object({ a: { type: "string" } }) },
        nullable: { type: "string", nullable: true },
        embedded: object(
          {},
          {
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
          },
        ),
      }),
    }),
  );

  it("has no unknown fields", () => {
    const { value, unknownFields } = conformTo(schema, {
      apiVersion: "v1",
      kind: "X",
      metadata: { name: "a", colour: "red" },
      extra: 1,
      spec: {
        known: "x",
        other: 1,
        open: { anything: { a: 1 }, inner: { a: "x", b: 1 } },
        map: { x: { a: "1", b: 2 } },
        nullable: null,
        embedded: { metadata: { name: "b", colour: "red" }, free: 1 },
      },
    });
    expect(value).toEqual({
      apiVersion: "v1",
      kind: "X",
      metadata: { name: "a" },
      spec: {
        known: "x",
        open: { anything: { a: 1 }, inner: { a: "x" } },
        map: { x: { a: "1" } },
        nullable: null,
        embedded: { metadata: { name: "b" }, free: 1 },
      },
    });
    expect(unknownFields).toEqual([
      "metadata.colour",
      "extra",
      "spec.map.x.b",
      "spec.open.inner.b",
      "spec.other",
      "spec.embedded.metadata.colour",
    ]);
  });

  it("has defaults for absent fields", () => {
    const value = { spec: {} };
    applyDefaults(value, schema);
    expect(value).toEqual({ spec: { filled: { a: 5 } } });
    const absent = {};
    applyDefaults(absent, schema);
    expect(absent).toEqual({});
  });
});

describe("items of a list", () => {
  it("are unique in sets and maps", () => {
    const schema = readSchema(
      object({
        set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        map: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["a", "b"],
          items: object({ a: { type: "string" }, b: { type: "integer" } }),
        },
      }),
    );
    const errors = new FieldErrors();
    const map = [
      { a: "x", b: 1 },
      { a: "x", b: 2 },
      { b: 1, a: "x" },
    ];
    checkListTypes(schema, { set: ["x", "y", "x", "x"], map }, "", errors);
    expect(errors.causes.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      'set[2]: Duplicate value: "x"',
      'map[2]: Duplicate value: {"a":"x","b":1}',
    ]);
  });
});

describe("a format", () => {
  it.each([
    ["date", ["2024-02-29"], ["2023-02-29", "2024-2-9", "x"]],
    ["date-time", ["2024-02-29T12:00:00Z", "2024-02-29t12:00:00.5+02:00"], ["2024-02-29", "x"]],
    ["duration", ["1h30m", "1.5s", "2 days"], ["", "1", "long"]],
    ["ipv4", ["10.0.0.1"], ["10.0.0", "10.0.0.256", "::1"]],
    ["ipv6", ["::1", "fe80::1"], ["10.0.0.1", ":::"]],
    ["cidr", ["10.0.0.0/8", "::/0"], ["10.0.0.0", "10.0.0.0/33"]],
    ["hostname", ["example.com", "a"], ["-a-", "a..b"]],
    ["uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123"]],
    ["byte", ["aGk="], ["!", "a"]],
    ["isbn", ["0321751043", "978-0321751041"], ["0321751044"]],
    ["creditcard", ["4111 1111 1111 1111"], ["4111111111111112"]],
    ["rgbcolor", ["rgb(0, 10, 255)"], ["rgb(0,0,256)"]],
    ["k8s-short-name", ["abc"], ["A_b"]],
    ["postcode", ["anything"], []],
  ])("%s is kept", (format, right, wrong) => {
    const schema = readSchema({ type: "string", format });
    expect(right.filter((text) => !isOfFormat(schema, text))).toEqual([]);
    expect(wrong.filter((text) => isOfFormat(schema, text))).toEqual([]);
    expect(isKnownFormat(schema)).toBe(format !== "postcode");
  });
});
