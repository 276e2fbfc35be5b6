// The set algebra that ownership rests on, and its JSON form.
import { describe, expect, test } from "vitest";
import type { FieldSet } from "./field-set.ts";
import { decodeFields, encodeFields } from "./fields-v1.ts";
import { PathElementError, showPath } from "./path-element.ts";

const set = (fields: object): FieldSet => decodeFields(fields);
const text = (fields: FieldSet): string => JSON.stringify(encodeFields(fields));

describe("a field set", () => {
  test("has what both have together, in common, and what only one has", () => {
    const one = set({ "f:a": { ".": {}, "f:b": {}, "f:c": {} }, "f:d": {} });
    const other = set({ "f:a": { "f:b": {} }, "f:e": {} });
    expect(text(one.union(other))).toBe('{"f:a":{".":{},"f:b":{},"f:c":{}},"f:d":{},"f:e":{}}');
    expect(text(one.intersection(other))).toBe('{"f:a":{"f:b":{}}}');
    expect(text(one.difference(other))).toBe('{"f:a":{".":{},"f:c":{}},"f:d":{}}');
    expect(text(other.difference(one))).toBe('{"f:e":{}}');
  });

  test("loses what lies below a field only when asked to", () => {
    const deep = set({ "f:a": { "f:b": { "f:c": {} } }, "f:d": {} });
    const top = set({ "f:a": {} });
    expect(text(deep.difference(top))).toBe('{"f:a":{"f:b":{"f:c":{}}},"f:d":{}}');
    expect(text(deep.recursiveDifference(top))).toBe('{"f:d":{}}');
  });

  test("is written in the order of fields, keys, values and indexes", () => {
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
    expect(Object.keys(encodeFields(mixed))).toEqual([
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

  test("takes the keys of an item in any order, and skips kinds of steps it does not know", () => {
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
  test.each(malformed)("is not made of %j", (fields) => {
    expect(() => decodeFields(fields)).toThrow(PathElementError);
  });
});
