import fc from "fast-check";
import { expect, test } from "vitest";
import { parseWithoutManagedFields } from "./lean-json.ts";

function parse(text: string): unknown {
  return parseWithoutManagedFields(Buffer.from(text));
}

test("managedFields are left out wherever they are, and nothing else is", () => {
  const pod = (name: string) => ({
    metadata: {
      name,
      managedFields: [{ fieldsV1: { 'f:x["]\\"]': [["]"], '"'] } }, []],
      labels: { app: name },
    },
    spec: { text: 'in a string: ,"managedFields":[ "]" }' },
  });
  expect(parse(JSON.stringify({ items: [pod("a"), pod("ü")] }))).toEqual({
    items: ["a", "ü"].map((name) => ({
      metadata: { name, labels: { app: name } },
      spec: { text: 'in a string: ,"managedFields":[ "]" }' },
    })),
  });
});

test("as the first field of an object they stay", () => {
  expect(parse('{"managedFields":[1],"name":"a"}')).toEqual({ managedFields: [1], name: "a" });
});

test("bytes that end inside them are as wrong as they always were", () => {
  expect(() => parse('{"name":"a","managedFields":[{"f:a":"')).toThrow(SyntaxError);
});

test("any value without the field comes out as JSON.parse gives it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (value, fields) => {
      const text = JSON.stringify({ value, managedFields: [fields], after: value });
      expect(parse(text)).toEqual(JSON.parse(JSON.stringify({ value, after: value })));
    }),
  );
});
