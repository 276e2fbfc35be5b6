// Set algebra, and the JSON form `fieldsV1`.
import { describe, expect, test } from "vitest";
import { FieldSet } from "./field-set.ts";
import { PathElementError, showPath } from "./path-element.ts";

const set = (fields: object): FieldSet => FieldSet.fromFieldsV1(fields);
const text = (fields: FieldSet): string => JSON.stringify(fields.toFieldsV1());

describe("a field set", () => {
  test("has a union, an intersection and a difference", () => {
    const one = set({ "f:a": { ".": {}, "f:b": {}, "f:c": {} }, "f:d": {} });
    const other = set({ "f:a": { "f:b": {} }, "f:e": {} });
    expect(text(one.union(other))).toBe('{"f:a":{".":{},"f:b":{},"f:c":{}},"f:d":{},"f:e":{}}');
    expect(text(one.intersection(other))).toBe('{"f:a":{"f:b":{}}}');
    expect(text(one.difference(other))).toBe('{"f:a":{".":{},"f:c":{}},"f:d":{}}');
    expect(text(other.difference(one))).toBe('{"f:e":{}}');
  });

  test("keeps the fields below a removed field, unless the difference is recursive", () => {
    const deep = set({ "f:a": { "f:b": { "f:c": {} } }, "f:d": {} });
    const top = set({ "f:a": {} });
    expect(text(deep.difference(top))).toBe('{"f:a":{"f:b":{"f:c":{}}},"f:d":{}}');
    expect(text(deep.recursiveDifference(top))).toBe('{"f:d":{}}');
  });

  test("is encoded in the order of fields, keys, values and indexes", () => {
    const mixed = set({
      "i:10": {},
      "i:9": {},
      'v:"b"': {},
      "v:2": {},
      'k:{"port":100}': {},
      'k:{"port":20}': {},
      "f:b": {},
      "f:a": {},
    });
    expect(Object.keys(mixed.toFieldsV1())).toEqual([
      "f:a",
      "f:b",
      'k:{"port":20}',
      'k:{"port":100}',
      "v:2",
      'v:"b"',
      "i:9",
      "i:10",
    ]);
  });

  test("decodes the keys of an item in any order, and skips unknown types of elements", () => {
    const given = set({ 'k:{"protocol":"TCP","port":80}': {}, "z:new": {}, 'v:"<"': {} });
    expect(text(given)).toBe(
      JSON.stringify({ 'k:{"port":80,"protocol":"TCP"}': {}, 'v:"\\u003c"': {} }),
    );
    expect(given.paths().map(showPath)).toEqual(['[port=80,protocol="TCP"]', '[="<"]']);
  });

  const malformed = [
    { f: {} },
    { field: {} },
    { "v:x": {} },
    { "k:1": {} },
    { "i:x": {} },
    [],
    "x",
  ];
  test.each(malformed)("is not decoded from %j", (fields) => {
    expect(() => FieldSet.fromFieldsV1(fields)).toThrow(PathElementError);
  });
});
