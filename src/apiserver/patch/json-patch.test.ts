// JSON Patch: every operation, every error.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyJsonPatch, JsonPatchError } from "./json-patch.ts";

const document = { a: { b: [1, 2, 3], "x/y": "slash", "m~n": "tilde" }, c: "text" };

const applied: readonly { what: string; patch: object[]; expected: unknown }[] = [
  {
    what: "add sets a field",
    patch: [{ op: "add", path: "/a/d", value: null }],
    expected: { ...document, a: { ...document.a, d: null } },
  },
  {
    what: "add inserts an element before the index, or at the end",
    patch: [
      { op: "add", path: "/a/b/1", value: 9 },
      { op: "add", path: "/a/b/-", value: 8 },
    ],
    expected: { ...document, a: { ...document.a, b: [1, 9, 2, 3, 8] } },
  },
  {
    what: "remove finds fields by escaped names",
    patch: [
      { op: "remove", path: "/a/x~1y" },
      { op: "remove", path: "/a/m~0n" },
      { op: "remove", path: "/a/b/0" },
    ],
    expected: { a: { b: [2, 3] }, c: "text" },
  },
  {
    what: "replace, test, copy and move",
    patch: [
      { op: "test", path: "/c", value: "text" },
      { op: "replace", path: "/c", value: { deep: true } },
      { op: "copy", from: "/c/deep", path: "/e" },
      { op: "move", from: "/a/b", path: "/b" },
    ],
    expected: {
      a: { "x/y": "slash", "m~n": "tilde" },
      b: [1, 2, 3],
      c: { deep: true },
      e: true,
    },
  },
  {
    what: "add without a value adds null, and replace sets a missing field",
    patch: [
      { op: "add", path: "/n" },
      { op: "replace", path: "/c2", value: 1 },
      { op: "replace", path: "/a/b/-1", value: 9 },
    ],
    expected: { a: { ...document.a, b: [1, 2, 9] }, c: "text", n: null, c2: 1 },
  },
  { what: "the whole document", patch: [{ op: "replace", path: "", value: 1 }], expected: 1 },
];

const refused: readonly { why: string; patch: unknown; message: string }[] = [
  {
    why: "replaces a missing value",
    patch: [{ op: "replace", path: "/a/none/x", value: 1 }],
    message: "doc is missing path: /a/none/x: missing value",
  },
  {
    why: "removes a missing value",
    patch: [{ op: "remove", path: "/none" }],
    message: "Unable to remove nonexistent key: none: missing value",
  },
  {
    why: "adds below a missing value",
    patch: [{ op: "add", path: "/none/x", value: 1 }],
    message: "doc is missing path: /none/x: missing value",
  },
  {
    why: "goes beyond a list",
    patch: [{ op: "add", path: "/a/b/7", value: 1 }],
    message: "Unable to access invalid index: 7 in /a/b/7",
  },
  {
    why: "tests for another value",
    patch: [{ op: "test", path: "/c", value: "other" }],
    message: "testing value /c failed: test failed",
  },
  {
    why: "is of an unknown kind",
    patch: [{ op: "merge", path: "/d" }],
    message: 'Unexpected kind: "merge"',
  },
];

describe("a JSON patch", () => {
  test.each(applied)("follows RFC 6902: $what", ({ patch, expected }) => {
    const before = structuredClone(document);
    expect(applyJsonPatch(document, patch)).toEqual(expected);
    expect(document).toEqual(before);
  });

  test.each(refused)("is refused when it $why", ({ patch, message }) => {
    expect(() => applyJsonPatch(document, patch)).toThrow(new JsonPatchError(message));
  });

  test("has a bound on the size of copies of copies", () => {
    const doubling = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        op: "copy",
        from: "/a",
        path: `/a/${index}`,
      }));
    expect(() => applyJsonPatch({ a: {} }, doubling(10))).not.toThrow();
    expect(() => applyJsonPatch({ a: {} }, doubling(60))).toThrow(
      /^Unable to complete the copy, the accumulated size increase of the patch is \d+, exceeding /,
    );
  });

  test("changes neither its own values nor the source of a copy", () => {
    const patch = [
      { op: "add", path: "/v", value: { list: [1] } },
      { op: "copy", from: "/v", path: "/w" },
      { op: "add", path: "/w/list/-", value: 2 },
      { op: "move", from: "/w", path: "/v/w" },
    ];
    const before = structuredClone(patch);
    expect(applyJsonPatch({}, patch)).toEqual({ v: { list: [1], w: { list: [1, 2] } } });
    expect(patch).toEqual(before);
  });

  test("treats names that objects inherit as ordinary fields", () => {
    const added = applyJsonPatch(JSON.parse('{"a":{}}'), [
      { op: "add", path: "/a/__proto__", value: "x" },
      { op: "add", path: "/a/constructor", value: "y" },
    ]);
    expect(JSON.stringify(added)).toBe('{"a":{"__proto__":"x","constructor":"y"}}');
    for (const path of ["/a/__proto__/x", "/constructor/name"]) {
      expect(() => applyJsonPatch({ a: {} }, [{ op: "add", path, value: 1 }])).toThrow(
        `doc is missing path: ${path}: missing value`,
      );
    }
  });

  test("that adds a field and removes it again changes nothing", () => {
    const field = fc.string();
    fc.assert(
      fc.property(
        fc.dictionary(field, fc.jsonValue()),
        field,
        fc.jsonValue(),
        (base, name, value) => {
          fc.pre(!Object.hasOwn(base, name));
          const path = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
          const patch = [
            { op: "add", path, value },
            { op: "remove", path },
          ];
          expect(applyJsonPatch(base, patch)).toEqual(base);
        },
      ),
    );
  });
});
