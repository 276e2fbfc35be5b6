import { describe, expect, it } from "vitest";
import { FieldErrors } from "../kinds/field-errors.ts";
import { Correlation } from "./correlation.ts";
import { followPath } from "./field-paths.ts";
import { readSchema } from "./json-schema.ts";
import { buildRules, checkRules, ruleTypesOf } from "./rules.ts";

type Json = Record<string, unknown>;

/** The causes that the rules of a schema report for a value, or for a change of it. */
function refusals(raw: Json, value: unknown, old?: unknown): readonly string[] {
  const schema = readSchema(raw);
  const tree = buildRules(schema, ruleTypesOf(schema, { isResource: false }));
  const errors = new FieldErrors();
  const before = old === undefined ? undefined : new Correlation(value, old, schema);
  if (tree !== undefined) {
    checkRules(tree, { value, old, path: "spec", before, parentIsSame: false }, errors);
  }
  return errors.causes.map(({ reason, field, message }) => `${reason} ${field}: ${message}`);
}

function withRules(rules: readonly Json[], more: Json = {}): Json {
  return {
    type: "object",
    properties: { min: { type: "integer" }, max: { type: "integer" } },
    "x-kubernetes-validations": rules,
    ...more,
  };
}

describe("rules", () => {
  it("report their message, or the rule itself", () => {
    const value = { min: 5, max: 1 };
    const rule = "self.min <= self.max";
    expect(refusals(withRules([{ rule }]), value)).toEqual([
      `FieldValueInvalid spec: Invalid value: failed rule: ${rule}`,
    ]);
    expect(refusals(withRules([{ rule, message: " too small " }]), value)).toEqual([
      "FieldValueInvalid spec: Invalid value: too small",
    ]);
    const messageExpression = "'min %d is over max %d'.format([self.min, self.max])";
    expect(refusals(withRules([{ rule, message: "x", messageExpression }]), value)).toEqual([
      "FieldValueInvalid spec: Invalid value: min 5 is over max 1",
    ]);
  });

  it("fall back to their message when its expression fails", () => {
    const rule = { rule: "false", message: "wrong", messageExpression: "string(self.max / 0)" };
    expect(refusals(withRules([rule]), { max: 1 })).toEqual([
      "FieldValueInvalid spec: Invalid value: wrong",
    ]);
  });

  it("report with a reason and a path", () => {
    const rules = [
      { rule: "false", message: "a", reason: "FieldValueForbidden", fieldPath: ".min" },
      { rule: "false", message: "b", reason: "FieldValueRequired" },
      { rule: "false", message: "c", reason: "FieldValueDuplicate" },
    ];
    expect(refusals(withRules(rules), {})).toEqual([
      "FieldValueForbidden spec.min: Forbidden: a",
      "FieldValueRequired spec: Required value: b",
      "FieldValueDuplicate spec: Duplicate value",
    ]);
  });

  it("report errors of evaluation", () => {
    expect(refusals(withRules([{ rule: "self.min > 0", message: "positive" }]), {})).toEqual([
      'FieldValueInvalid spec: Invalid value: "object": no such key: min evaluating rule: positive',
    ]);
  });

  it("compare with the old value, where there is one", () => {
    const raw = {
      type: "object",
      properties: {
        a: { type: "string", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
      },
    };
    expect(refusals(raw, { a: "x" })).toEqual([]);
    expect(refusals(raw, { a: "x" }, {})).toEqual([]);
    expect(refusals(raw, { a: "x" }, { a: "x" })).toEqual([]);
    expect(refusals(raw, { a: "x" }, { a: "y" })).toEqual([
      'FieldValueInvalid spec.a: Invalid value: "x": failed rule: self == oldSelf',
    ]);
  });

  it("run on new objects when oldSelf is optional", () => {
    const rule = { rule: "oldSelf.hasValue() || self.min == 1", optionalOldSelf: true };
    expect(refusals(withRules([rule]), { min: 2 })).toHaveLength(1);
    expect(refusals(withRules([rule]), { min: 2 }, { min: 3 })).toEqual([]);
  });

  it("match items of map lists by their keys", () => {
    const items = {
      type: "object",
      properties: { name: { type: "string" }, n: { type: "integer" } },
      "x-kubernetes-validations": [{ rule: "self.n >= oldSelf.n" }],
    };
    const raw = {
      type: "array",
      items,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    };
    const old = [
      { name: "a", n: 1 },
      { name: "b", n: 5 },
    ];
    expect(
      refusals(
        raw,
        [
          { name: "b", n: 6 },
          { name: "a", n: 0 },
          { name: "c", n: 0 },
        ],
        old,
      ),
    ).toEqual(["FieldValueInvalid spec[1]: Invalid value: failed rule: self.n >= oldSelf.n"]);
  });

  it("do not refuse unchanged values", () => {
    const raw = withRules([{ rule: "self.min > 5" }]);
    expect(refusals(raw, { min: 1 }, { min: 1 })).toEqual([]);
    expect(refusals(raw, { min: 1 }, { min: 2 })).toHaveLength(1);
  });

  it("stop at the limit of work", () => {
    const raw = {
      type: "array",
      items: { type: "integer" },
      "x-kubernetes-validations": [
        { rule: "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", message: "sums" },
        { rule: "false", message: "never reached" },
      ],
    };
    const value = Array.from({ length: 500 }, (_, index) => index);
    expect(refusals(raw, value)).toEqual([
      'FieldValueInvalid spec: Invalid value: "array": \'operation cancelled: actual cost limit ' +
        "exceeded': no further validation rules will be run due to call cost exceeds limit for " +
        "rule: sums",
    ]);
  });
});

describe("a path through a schema", () => {
  const schema = readSchema({
    type: "object",
    properties: {
      a: { type: "object", properties: { "b.c": { type: "string" } } },
      map: { type: "object", additionalProperties: { type: "string" } },
    },
  });

  it.each([
    [".a['b.c']", "a.b.c"],
    [".map.key", "map[key]"],
    [".a.none", "does not refer to a valid field"],
    ["a", "expected [ or . but got: a"],
    [".a[", "unexpected end of JSON path"],
    [".a[0]", "expected single quoted string but got 0"],
  ])("%s is %s", (path, expected) => {
    const found = followPath(path, schema, { allowsBrackets: true });
    expect("path" in found ? found.path : found.problem).toBe(expected);
  });
});
