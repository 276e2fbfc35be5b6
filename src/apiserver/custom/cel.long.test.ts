import { describe, expect, it } from "vitest";
import { escapedName, type Outcome, type RuleScope, RuleTypes } from "./cel.ts";
import { readSchema } from "./json-schema.ts";

const schema = {
  type: "object",
  properties: {
    text: { type: "string" },
    accents: { type: "string" },
    count: { type: "integer" },
    flag: { type: "boolean" },
    numbers: { type: "array", items: { type: "integer" } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    ports: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
    absent: { type: "object", properties: { a: { type: "string" } } },
    either: { "x-kubernetes-int-or-string": true },
    since: { type: "string", format: "date-time" },
    grace: { type: "string", format: "duration" },
  },
};

const json = {
  text: "hello",
  accents: "héllo😀.",
  count: 7,
  flag: true,
  numbers: [3, 1, 2],
  labels: { app: "web" },
  ports: [{ name: "http" }, {}],
  either: 5,
  since: "2024-02-29T12:30:45Z",
  grace: "1h30m",
};

const workLimit = 1_000_000;

function scopeOf(raw: Record<string, unknown>): RuleScope | undefined {
  const read = readSchema(raw);
  return new RuleTypes(read, { isResource: false }).scopeOf(read);
}

function runOn(raw: Record<string, unknown>, value: unknown, source: string): Outcome {
  const scope = scopeOf(raw);
  if (scope === undefined) throw new Error("the schema has no type");
  const compiled = scope.compile(source, { hasOptionalOldSelf: false });
  if ("problem" in compiled) return { error: compiled.problem, isOverLimit: false, work: 0 };
  return compiled.expression.run({ self: scope.valueOf(value) }, workLimit);
}

function run(source: string): unknown {
  const { error, value } = runOn(schema, json, source);
  return error ?? value;
}

describe("an expression", () => {
  it.each([
    ["1 + 2 * 3 == 7", true],
    ["-self.count / 2", -3n],
    ["self.flag ? 'yes' : 'no'", "yes"],
    ["self.text + '!' + string(self.count)", "hello!7"],
    ["has(self.absent) || self.labels.app == 'web'", true],
    ["has(self.ports[0].name) && !has(self.ports[1].name)", true],
    ["self.numbers.all(n, n > 0) && !self.numbers.exists(n, n > 3)", true],
    ["self.numbers.exists_one(n, n == 2)", true],
    ["self.numbers.map(n, n * 2).filter(n, n > 2).size()", 2n],
    ["self.labels.all(k, v, k == 'app' && v == 'web')", true],
    ["self.labels.existsOne(k, k == 'app')", true],
    ["self.numbers.transformList(i, n, n > 1, i) == [0, 2]", true],
    ["self.numbers.sortBy(n, -n) == [3, 2, 1]", true],
    ["[[1], [2, 3]].flatten() == [1, 2, 3]", true],
    ["2 in self.numbers && 'app' in self.labels", true],
    ["self.?absent.?a.orValue('none')", "none"],
    ["self.?text.optMap(t, t.size()).orValue(0)", 5n],
    ["type(self.either) == int ? self.either > 4 : false", true],
    ["'%s is %d'.format([self.text, self.count])", "hello is 7"],
    ["self.accents.size() == 7 && self.accents.charAt(5) == '😀'", true],
    ["self.accents.indexOf('.') == 6 && self.accents.substring(1, 3) == 'él'", true],
    ["self.text.matches('^h.*o$') && matches(self.text, 'l+')", true],
    ["self.text.find('l+') == 'll' && self.text.findAll('[eo]') == ['e', 'o']", true],
    ["sets.contains(self.numbers, [1, 2]) && self.numbers.sum() == 6", true],
    ["ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3')", true],
    ["url('https://example.com:8080/a').getHost() == 'example.com:8080'", true],
    ["quantity('1Gi').isGreaterThan(quantity('1G'))", true],
    ["semver('1.2.3').isLessThan(semver('1.10.0'))", true],
    ["!format.dns1123Label().validate('ok').hasValue()", true],
    ["self.since.getDayOfYear() == 59 && self.grace == duration('90m')", true],
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
    ["self.nothing", "1:6: No such key: nothing"],
    ["has(self.nothing)", "1:10: No such key: nothing"],
    ["self.text == 1", "1:1: no such overload: string == int"],
    ["nothing(1)", "1:1: found no matching overload for 'nothing(int)'"],
    ["other", "1:1: Unknown variable: other"],
    [
      "[1, 'a']",
      "1:5: List elements must have the same type, expected type 'int' but found 'string'",
    ],
    [
      "self.text.matches('[')",
      "1:1: invalid matches argument: error parsing regexp: missing closing ]: `[`",
    ],
    ["self.numbers.flatten()", "1:1: found no matching overload for 'list.flatten()'"],
    ["has(self)", "1:5: invalid argument to has() macro"],
    ["true &&\n  self.nothing", "2:8: No such key: nothing"],
  ])("is refused: %s", (source, issue) => {
    expect(run(source)).toBe(`ERROR: <input>:${issue}`);
  });

  it("ignores an error where the other operand decides", () => {
    expect(run("self.absent.a == '' || self.flag")).toBe(true);
    expect(run("self.numbers.exists(n, n / (n - 1) > 1)")).toBe(true);
    expect(run("self.absent.a == '' && self.flag")).toBe("no such key: absent");
  });

  it("sees a field that is null as absent", () => {
    expect(runOn(schema, { text: null }, "has(self.text)").value).toBe(false);
  });

  it("compares objects by all their fields", () => {
    const fields = {
      grace: { type: "string", format: "duration" },
      since: { type: "string", format: "date-time" },
      raw: { type: "string", format: "byte" },
      count: { type: "integer" },
      labels: { type: "object", additionalProperties: { type: "string" } },
    };
    const pair = { type: "array", items: { type: "object", properties: fields } };
    const first = { grace: "1h", since: json.since, raw: "aGk=", count: 1, labels: { a: "b" } };
    const isSame = (change: object) =>
      runOn(pair, [first, { ...first, ...change }], "self[0] == self[1]").value;
    expect(isSame({})).toBe(true);
    expect(isSame({ grace: "60m" })).toBe(true);
    expect(isSame({ grace: "1h1s" })).toBe(false);
    expect(isSame({ since: "2024-02-29T12:30:46Z" })).toBe(false);
    expect(isSame({ raw: "aGk/" })).toBe(false);
    expect(isSame({ count: 2 })).toBe(false);
    expect(isSame({ labels: { a: "c" } })).toBe(false);
  });

  it("fails only when it reads an item that is null", () => {
    const items = { type: "object", nullable: true, properties: { a: { type: "string" } } };
    const raw = { type: "array", items };
    expect(runOn(raw, [null, { a: "x" }], "self.size() == 2").value).toBe(true);
    expect(runOn(raw, [null, { a: "x" }], "self.all(i, i.a == 'x')").error).toBeDefined();
  });

  it("is refused when it is too long", () => {
    expect(run(`'${"x".repeat(100_000)}' == ''`)).toBe(
      "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100008, limit 100000",
    );
  });

  it("reports whether it uses oldSelf", () => {
    const scope = scopeOf(schema);
    const uses = (source: string) => {
      const compiled = scope?.compile(source, { hasOptionalOldSelf: false });
      return compiled !== undefined && "expression" in compiled && compiled.expression.usesOldSelf;
    };
    expect(uses("self.numbers.all(n, n in oldSelf.numbers)")).toBe(true);
    expect(uses("has(oldSelf.absent)")).toBe(true);
    expect(uses("self.flag")).toBe(false);
  });
});

/** `first` bound to a variable, which is doubled and bound again, so many times. */
function doubled(first: string, double: (name: string) => string, last: (name: string) => string) {
  const times = 60;
  const names = Array.from({ length: times }, (_, index) => `v${index}`);
  const opened = names.map((name, index) => {
    return `[${double(index === 0 ? first : `v${index - 1}`)}].all(${name}, `;
  });
  return `${opened.join("")}${last(`v${times - 1}`)}${")".repeat(times)}`;
}

describe("a hostile expression ends at the limit of work", () => {
  const raw = {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "integer" } },
      texts: { type: "array", items: { type: "string" } },
      text: { type: "string" },
    },
  };
  const value = {
    list: Array.from({ length: 1000 }, (_, index) => index),
    texts: Array.from({ length: 100_000 }, (_, index) => String(index)),
    text: "a".repeat(100_000),
  };
  const literal = `[${value.list.slice(0, 900).join(",")}]`;

  it.each([
    ["nested loops", "self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))"],
    ["loops over literals", `${literal}.all(a, ${literal}.all(b, ${literal}.all(c, true)))`],
    ["loops with two variables", "self.list.all(i, a, self.list.all(j, b, i + j >= 0))"],
    ["errors that are absorbed", "self.list.all(a, self.list.all(b, a / 0 == 1 || true))"],
    ["errors in each step", "self.list.exists(a, self.list.exists(b, a / 0 == 1))"],
    [
      "a text that doubles",
      doubled(
        "self.text",
        (x) => `${x} + ${x}`,
        (x) => `${x}.size() > 0`,
      ),
    ],
    [
      "a list that doubles",
      doubled(
        "self.list",
        (x) => `${x} + ${x}`,
        (x) => `${x}.size() > 0`,
      ),
    ],
    [
      "a list of itself",
      doubled(
        "self.list",
        (x) => `[${x}, ${x}]`,
        (x) => `${x} == ${x}`,
      )
        .replaceAll("[[", "[dyn([")
        .replaceAll("]].all", "])].all"),
    ],
    ["a slow pattern", "self.texts.all(t, self.text.matches('(a+)+$'))"],
    ["comparisons of long lists", "self.list.all(a, self.texts == self.texts)"],
    ["membership in long lists", "self.texts.all(t, t in self.texts)"],
    ["a variable of an outer loop", "[self.texts].all(t, self.list.all(a, t == t))"],
    [
      "comparisons inside of map literals",
      "[self.texts + []].all(t, self.list.all(a, {'k': t} == {'k': self.texts}))",
    ],
    ["pairs of all items", "self.texts.distinct().size() > 0"],
    ["a long range", "lists.range(1000000).all(a, true)"],
    ["a long message", "'%s'.format([self.list.map(a, self.text)]).size() > 0"],
  ])("%s", (_, source) => {
    const { error, isOverLimit } = runOn(raw, value, source);
    expect(error).toBe("operation cancelled: actual cost limit exceeded");
    expect(isOverLimit).toBe(true);
  });

  it.each([
    ["parentheses", `${"(".repeat(5_000)}true${")".repeat(5_000)}`],
    ["sums", `${Array<string>(5_000).fill("1").join("+")} == 5000`],
    ["alternatives", `${"false || ".repeat(5_000)}true`],
    ["signs", `${"!".repeat(50_000)}true`],
    ["calls", `'a'${".trim()".repeat(5_000)} == 'a'`],
  ])("or is refused when it nests too deep: %s", (_, source) => {
    expect(runOn(raw, value, source).error).toMatch(/limit exceeded|Exceeded|call stack/);
  });

  it("has no types when a definition has too many of them", () => {
    const many = Array.from({ length: 2_100 }, (_, index) => [
      `f${index}`,
      { type: "object", properties: { [`g${index}`]: { type: "string" } } },
    ]);
    expect(scopeOf({ type: "object", properties: Object.fromEntries(many) })).toBeUndefined();
  });

  it("takes as much work for each run", () => {
    const source = "self.list.all(a, self.list.exists(b, a == b))";
    const [first, second] = [0, 1].map(() => runOn(raw, value, source).work);
    expect(first).toBe(second);
  });
});

describe("names of fields in expressions", () => {
  it.each([
    ["spec", "spec"],
    ["namespace", "__namespace__"],
    ["a-b", "a__dash__b"],
    ["a.b/c", "a__dot__b__slash__c"],
    ["a__b", "a__underscores__b"],
    ["1a", undefined],
    ["a b", undefined],
  ])("%s is written %s", (name, expected) => {
    expect(escapedName(name)).toBe(expected);
  });
});
