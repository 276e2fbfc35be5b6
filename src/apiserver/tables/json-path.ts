// The JSONPath of custom columns: fields, indexes and slices, wildcards, recursive descent, unions
// and filters, with client-go's meaning of each (util/jsonpath). A path is parsed once into steps;
// each step takes the values found so far to the values found next.

export type JsonPath = readonly Step[];

/** The path is no path, or does not fit the value it was applied to. */
export class JsonPathError extends Error {
  override readonly name = "JsonPathError";
}

type Step =
  | { readonly type: "field"; readonly name: string }
  | { readonly type: "slice"; readonly from: number; readonly to?: number; readonly by: number }
  | { readonly type: "all" }
  | { readonly type: "descend" }
  | { readonly type: "union"; readonly paths: readonly JsonPath[] }
  | { readonly type: "filter"; readonly filter: Filter }
  | { readonly type: "literal"; readonly value: string | number | boolean };

interface Filter {
  readonly left: JsonPath;
  /** Absent: the left side only has to exist. */
  readonly comparison?: { readonly operator: Operator; readonly right: JsonPath };
}

type Operator = (typeof operators)[number];

const operators = ["==", "!=", "<=", ">=", "<", ">"] as const;

/** A path as it stands in a column definition, `.spec.replicas`; throws `JsonPathError`. */
export function parseJsonPath(text: string): JsonPath {
  const steps: Step[] = [];
  let rest = text;
  while (rest !== "") {
    const { step, length } = nextStep(rest);
    if (step !== undefined) steps.push(step);
    rest = rest.slice(length);
  }
  return steps;
}

/** Everything the path leads to; throws `JsonPathError` where it cannot be followed. */
export function findAll(path: JsonPath, root: unknown): readonly unknown[] {
  return path.reduce<readonly unknown[]>((values, step) => follow(step, values), [root]);
}

interface Parsed {
  readonly step?: Step;
  readonly length: number;
}

function nextStep(text: string): Parsed {
  if (text.startsWith("[?(")) return filterStep(text);
  if (text.startsWith("[")) return bracketStep(text);
  if (text.startsWith("..")) return descendStep(text);
  if (text.startsWith(".")) return fieldStep(text, 1);
  if (/^[ @$]/.test(text)) return { length: 1 };
  const quoted = /^(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")/.exec(text);
  if (quoted !== null) {
    const value = (quoted[1] ?? quoted[2] ?? "").replace(/\\(.)/g, "$1");
    return { step: { type: "literal", value }, length: quoted[0].length };
  }
  const [number] = /^[+-]?\d[\d.]*/.exec(text) ?? [];
  if (number !== undefined && !Number.isNaN(Number(number))) {
    return { step: { type: "literal", value: Number(number) }, length: number.length };
  }
  const [truth] = /^(?:true|false)(?![\w.])/.exec(text) ?? [];
  if (truth === undefined) throw new JsonPathError(`not a path: ${text}`);
  return { step: { type: "literal", value: truth === "true" }, length: truth.length };
}

/** A name ends at the next special character, unless that is escaped. */
function fieldStep(text: string, start: number): Parsed {
  const [name = ""] = /^(?:\\.|[^\\.,[\]$@{}\s])*/.exec(text.slice(start)) ?? [];
  const length = start + name.length;
  if (name === "*") return { step: { type: "all" }, length };
  return { step: { type: "field", name: name.replaceAll("\\", "") }, length };
}

function descendStep(text: string): Parsed {
  if (text.startsWith("....")) throw new JsonPathError("invalid multiple recursive descent");
  // The name right after the two dots has no dot of its own: the second is left for it.
  return { step: { type: "descend" }, length: /^\.\.\w/.test(text) ? 1 : 2 };
}

function bracketStep(text: string): Parsed {
  const end = text.indexOf("]");
  if (end < 0) throw new JsonPathError("unterminated array");
  const inside = text.slice(1, end);
  const length = end + 1;
  const parts = inside.split(",");
  if (parts.length > 1) {
    const paths = parts.map((part) => parseJsonPath(`[${part.trim()}]`));
    return { step: { type: "union", paths }, length };
  }
  const [, key] = /^'([^']*)'$/.exec(inside) ?? [];
  if (key !== undefined) {
    return { step: { type: "union", paths: [parseJsonPath(`.${key}`)] }, length };
  }
  return { step: sliceStep(inside === "*" ? ":" : inside), length };
}

function sliceStep(text: string): Step {
  const match = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text);
  if (match === null) throw new JsonPathError(`invalid array index ${text}`);
  const [, first = "", second, third = ""] = match;
  const from = Number(first);
  const by = third.length > 1 ? Number(third.slice(1)) : 1;
  if (second === undefined) {
    // The last element has no successor to end before.
    return from === -1 ? { type: "slice", from, by } : { type: "slice", from, to: from + 1, by };
  }
  return second === ":"
    ? { type: "slice", from, by }
    : { type: "slice", from, to: Number(second.slice(1)), by };
}

function filterStep(text: string): Parsed {
  const match = /^\[\?\(((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^)"'])*)\)\]/.exec(text);
  if (match === null) throw new JsonPathError("unterminated filter");
  const [whole, inside = ""] = match;
  const compared = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(inside);
  if (compared === null) {
    const left = parseJsonPath(inside);
    return { step: { type: "filter", filter: { left } }, length: whole.length };
  }
  const [, left = "", sign = "", right = ""] = compared;
  const operator = operators.find((one) => one === sign);
  if (operator === undefined) throw new JsonPathError(`unrecognized filter operator ${sign}`);
  const filter = {
    left: parseJsonPath(left),
    comparison: { operator, right: parseJsonPath(right) },
  };
  return { step: { type: "filter", filter }, length: whole.length };
}

function follow(step: Step, values: readonly unknown[]): readonly unknown[] {
  switch (step.type) {
    case "field":
      return values.flatMap((value) => fieldOf(value, step.name));
    case "slice":
      return values.flatMap((value) => (value === null ? [] : sliceOf(listOf(value), step)));
    case "all":
      return values.flatMap(membersOf);
    case "descend":
      return values.flatMap(descendantsOf);
    case "union":
      return step.paths.flatMap((path) => values.flatMap((value) => findAll(path, value)));
    case "filter":
      return values.flatMap((value) => listOf(value).filter((one) => passes(step.filter, one)));
    case "literal":
      return values.map(() => step.value);
  }
}

function fieldOf(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const found = Object.entries(value).find(([key]) => key === name);
  return found === undefined ? [] : [found[1]];
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new JsonPathError("the value is not an array or slice");
}

function sliceOf(
  list: readonly unknown[],
  { from, to, by }: { readonly from: number; readonly to?: number; readonly by: number },
): readonly unknown[] {
  const start = from < 0 ? from + list.length : from;
  const end = to === undefined ? list.length : to < 0 ? to + list.length : to;
  if (start === end) return [];
  if (start < 0 || start >= list.length || end < 0 || end > list.length || start > end || by <= 0) {
    throw new JsonPathError("array index out of bounds");
  }
  return list.slice(start, end).filter((_, index) => index % by === 0);
}

function membersOf(value: unknown): readonly unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}

/** All values with members, from the outside inwards. */
function descendantsOf(value: unknown): readonly unknown[] {
  const members = membersOf(value);
  return members.length === 0 ? [] : [value, ...members.flatMap(descendantsOf)];
}

function passes({ left, comparison }: Filter, element: unknown): boolean {
  const lefts = findAll(left, element);
  if (comparison === undefined) return lefts.length > 0;
  const rights = findAll(comparison.right, element);
  if (lefts.length === 0 || rights.length === 0) return false;
  if (lefts.length > 1 || rights.length > 1) {
    throw new JsonPathError("can only compare one element at a time");
  }
  return holds(comparison.operator, lefts[0], rights[0]);
}

function holds(operator: Operator, left: unknown, right: unknown): boolean {
  if (typeof left !== typeof right || typeof left === "object") {
    throw new JsonPathError("incompatible types for comparison");
  }
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== right;
  const order = orderOf(left, right);
  if (operator === "<") return order < 0;
  if (operator === "<=") return order <= 0;
  return operator === ">" ? order > 0 : order >= 0;
}

function orderOf(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") {
    return left < right ? -1 : Number(left > right);
  }
  throw new JsonPathError("invalid type for comparison");
}
