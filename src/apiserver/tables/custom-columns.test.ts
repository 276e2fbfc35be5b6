// Columns by JSONPath. Each expectation was compared with what kube-apiserver 1.36 answers for the
// same definition and object.
import { describe, expect, test } from "vitest";
import type { WallMs } from "../../environment/clock.ts";
import { customColumns } from "./custom-columns.ts";

const now = Date.parse("2026-01-02T03:04:05Z") as WallMs;

const object = {
  metadata: { name: "x", creationTimestamp: "2026-01-02T03:03:00Z" },
  spec: {
    text: "hello",
    number: 42,
    float: -1.5,
    big: 12_345_678.5,
    small: 0.000_01,
    flag: true,
    list: ["x", "y", "z"],
    map: { a: "A", "b.c/d": "D" },
    null: null,
    conditions: [
      { type: "Ready", status: "True", count: 1, flag: true },
      { type: "Other", status: "False", count: 3, flag: false, extra: 1 },
    ],
    badDate: "yesterday",
    empty: "",
  },
};

function cell(jsonPath: string, type = "string"): unknown {
  return customColumns([{ name: "c", type, jsonPath }]).cells(object, now)[1];
}

describe("a cell of text", () => {
  test.each([
    [".spec.text", "hello"],
    [".spec.number", "42"],
    [".spec.float", "-1.5"],
    [".spec.big", "1.23456785e+07"],
    [".spec.small", "1e-05"],
    [".spec.flag", "true"],
    [".spec.list", '["x","y","z"]'],
    [".spec.map", '{"a":"A","b.c/d":"D"}'],
    [".spec.null", "<no value>"],
    [".spec.missing.deep", null],
    [".spec.null.x", null],
    [".spec.text.a", null],
    [".spec.text[0]", null],
    [".", null],
    [".spec.list[0]", "x"],
    [".spec.list[-1]", "z"],
    [".spec.list[-2]", "y"],
    [".spec.list[9]", null],
    [".spec.list[*]", "x"],
    [".spec.list[1:]", "y"],
    [".spec.list[1:3]", "y"],
    [".spec.list[::2]", "x"],
    [".spec.list[2,0]", "z"],
    [".spec.map['a']", "A"],
    [".spec['map'].a", "A"],
    [".spec.map.b\\.c/d", "D"],
    [".spec.map['b\\.c/d']", "D"],
    ['.spec.conditions[?(@.type=="Ready")].status', "True"],
    [".spec.conditions[?(@.type=='Other')].status", "False"],
    ['.spec.conditions[?(@.type=="None")].status', null],
    ['.spec.conditions[?(@.type!="Ready")].type', "Other"],
    [".spec.conditions[?(@.count>1)].type", "Other"],
    [".spec.conditions[?(@.count>=1)].type", "Ready"],
    [".spec.conditions[?(@.count<3)].type", "Ready"],
    [".spec.conditions[?(@.flag==true)].type", "Ready"],
    [".spec.conditions[?(@.extra)].type", "Other"],
    ['.spec.conditions[?(@.count=="1")].type', null],
    [".spec..type", "Ready"],
    ["....type", null],
  ])("at %s is %j", (path, expected) => {
    expect(cell(path) ?? null).toBe(expected);
  });
});

describe("a cell of another type", () => {
  test.each([
    ["integer", ".spec.float", -1],
    ["integer", ".spec.text", null],
    ["number", ".spec.float", -1.5],
    ["number", ".spec.flag", null],
    ["boolean", ".spec.flag", true],
    ["boolean", ".spec.number", null],
    ["date", ".metadata.creationTimestamp", "65s"],
    ["date", ".spec.badDate", "<invalid>"],
    ["date", ".spec.empty", "<unknown>"],
    ["date", ".spec.number", null],
  ])("%s at %s is %j", (type, path, expected) => {
    expect(cell(path, type)).toBe(expected);
  });
});

describe("the columns of a definition", () => {
  test("are the name and those it gives", () => {
    const { columns } = customColumns([
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", priority: 1 },
      { name: "Type", type: "string", jsonPath: ".spec.type", format: "f", description: "d" },
    ]);
    expect(columns.slice(1)).toEqual([
      {
        name: "Age",
        type: "date",
        format: "",
        description:
          "Custom resource definition column (in JSONPath format): .metadata.creationTimestamp",
        priority: 1,
      },
      { name: "Type", type: "string", format: "f", description: "d", priority: 0 },
    ]);
  });

  test("are the name and the age where it gives none", () => {
    const kind = customColumns([]);
    expect(kind.columns.map(({ name }) => name)).toEqual(["Name", "Age"]);
    expect(kind.cells(object, now)).toEqual(["x", "65s"]);
  });

  test.each([".spec.list[a]", '.spec.list[?(@.a=="b"', ".spec.list[", ".spec{"])(
    "end before one whose path is %s",
    (jsonPath) => {
      const plain = { type: "string", jsonPath: ".spec.text" };
      const { columns } = customColumns([
        { name: "a", ...plain },
        { name: "b", type: "string", jsonPath },
        { name: "c", ...plain },
      ]);
      expect(columns.map(({ name }) => name)).toEqual(["Name", "a"]);
    },
  );
});
