import { describe, expect, it } from "vitest";
import { compile } from "./program.ts";
import { boolType, dynType, intType, listOf, mapOf, stringType, type Type } from "./types.ts";
import { ListValue, MapValue, ObjectValue, type Value } from "./values.ts";

const self: Type = {
  kind: "object",
  name: "self",
  fields: new Map([
    ["text", stringType],
    ["count", intType],
    ["flag", boolType],
    ["numbers", listOf(intType)],
    ["labels", mapOf(stringType, stringType)],
    ["absent", { kind: "object", name: "self.absent", fields: new Map([["a", stringType]]) }],
    ["either", dynType],
  ]),
};

const value = new ObjectValue(
  new Map<string, Value>([
    ["text", "hello"],
    ["count", 7n],
    ["flag", true],
    ["numbers", new ListValue([3n, 1n, 2n])],
    ["labels", new MapValue([["app", "web"]])],
    ["either", 5n],
  ]),
);

const costLimit = 10_000;

function run(source: string): unknown {
  const compiled = compile(source, new Map([["self", self]]));
  if ("problem" in compiled) return compiled.problem;
  const outcome = compiled.program.run(new Map([["self", value]]), costLimit);
  return outcome.error ?? outcome.value;
}

describe("an expression", () => {
  it.each([
    ["1 + 2 * 3 == 7", true],
    ["(1 + 2) * 3 == 9", true],
    ["10 - 2 - 3 == 5", true],
    ["!false && !!true", true],
    ["-self.count / 2", -3n],
    ["self.count % 4", 3n],
    ["self.flag ? 'yes' : 'no'", "yes"],
    ["self.text + '!' + string(self.count)", "hello!7"],
    ["has(self.absent) || self.labels.app == 'web'", true],
    ["self.numbers.all(n, n > 0) && !self.numbers.exists(n, n > 3)", true],
    ["self.numbers.exists_one(n, n == 2)", true],
    ["self.numbers.map(n, n * 2).filter(n, n > 2).size()", 2n],
    ["self.labels.all(k, v, k == 'app' && v == 'web')", true],
    ["2 in self.numbers && 'app' in self.labels", true],
    ["self.?absent.?a.orValue('none')", "none"],
    ["type(self.either) == int ? self.either > 4 : false", true],
    ["'a' in ['a', 'b'] && {'a': 1}['a'] == 1", true],
    ["1 < 2.5 && 3u == 3u && 1e3 == 1000.0", true],
    ["'%s is %d'.format([self.text, self.count])", "hello is 7"],
    ["r\"\\d\" == '\\\\d'", true],
  ])("%s", (source, expected) => {
    expect(run(source)).toBe(expected);
  });

  it.each([
    ["self.absent.a == ''", "no such key: absent"],
    ["self.labels['x'] == ''", "no such key: x"],
    ["self.numbers[9] == 1", "index out of bounds: 9"],
    ["self.count / 0 == 1", "division by zero"],
    ["self.count * 9223372036854775807 > 0", "integer overflow"],
    ["self.either.startsWith('a')", "no such overload"],
  ])("fails when it runs: %s", (source, error) => {
    expect(run(source)).toBe(error);
  });

  it.each([
    ["self.nothing", "1:5: undefined field 'nothing'"],
    ["self.text == 1", "1:11: found no matching overload for '_==_' applied to '(string, int)'"],
    ["nothing(1)", "1:8: undeclared reference to 'nothing' (in container '')"],
    ["other", "1:1: undeclared reference to 'other' (in container '')"],
    ["self.flag && self.count", "1:18: expected type 'bool' but found 'int'"],
    ["[1, 'a']", "1:5: expected type 'int' but found 'string'"],
    ["self.text.matches('[')", "1:19: invalid matches argument"],
    ["has(self)", "1:4: invalid argument to has() macro"],
    ["1 +", "1:4: Syntax error: mismatched input '<EOF>' expecting an expression"],
  ])("is refused: %s", (source, issue) => {
    expect(String(run(source)).split("\n")[0]).toBe(`ERROR: <input>:${issue}`);
  });

  it("shows the place of what is wrong", () => {
    expect(run("true &&\n  self.nothing")).toBe(
      "ERROR: <input>:2:7: undefined field 'nothing'\n |   self.nothing\n | ......^",
    );
  });

  it("does not mind an error where the other operand decides", () => {
    expect(run("self.absent.a == '' || self.flag")).toBe(true);
    expect(run("self.numbers.exists(n, n / (n - 1) > 1)")).toBe(true);
    expect(run("self.absent.a == '' && self.flag")).toBe("no such key: absent");
  });

  it("ends when it has cost too much", () => {
    const each = "self.numbers.all(a, true)";
    const deep = ["a", "b", "c", "d", "e", "f", "g", "h"].reduce(
      (body, name) => `self.numbers.all(${name}, ${body})`,
      each,
    );
    expect(run(deep)).toBe("operation cancelled: actual cost limit exceeded");
  });

  it("is refused when it nests too deep", () => {
    expect(run(`${"(".repeat(300)}true${")".repeat(300)}`)).toBe(
      "ERROR: <input>:-1:0: expression recursion limit exceeded: 250",
    );
    const chain = (text: string, count: number) => Array<string>(count).fill(text);
    const tooDeep = "ERROR: <input>:-1:0: max recursion depth exceeded";
    expect(run(`${chain("1", 250).join("+")} == 250`)).toBe(true);
    expect(run(`${chain("1", 251).join("+")} == 251`)).toBe(tooDeep);
    expect(run(`'a'${chain(".trim()", 249).join("")} == 'a'`)).toBe(true);
    expect(run(`'a'${chain(".trim()", 1_000).join("")} == 'a'`)).toBe(tooDeep);
  });

  it("may have long chains of alternatives, and signs that cancel out", () => {
    expect(run(`${"false || ".repeat(3_000)}true`)).toBe(true);
    expect(run(`${"true && ".repeat(3_000)}false`)).toBe(false);
    expect(run("self.flag && self.absent.a == '' || self.flag && true")).toBe(true);
    expect(run(`${"!".repeat(301)}true`)).toBe(false);
    expect(run("--1 == 1 && ---1 == -1 && !!'a' == 'a'")).toBe(true);
  });

  it("is refused when it is too long", () => {
    expect(run(`'${"x".repeat(100_000)}' == ''`)).toBe(
      "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100008, limit 100000",
    );
  });

  it("says which variables it uses", () => {
    const compiled = compile("self.flag", new Map([["self", self]]));
    expect("program" in compiled && [...compiled.program.usedNames]).toEqual(["self"]);
  });
});
