// What a call can cost at most, without its arguments, and how large its result can be: the figures
// of cel-go's checker and of Kubernetes' library, by which definitions are refused.
import { formatType, type Type } from "./types.ts";
import { byFactor, plus, times, unbounded } from "./value-sizes.ts";
import type { Value } from "./values.ts";

export interface Operand {
  readonly type: Type;
  readonly size: number;
  /** Of its items, where it is a list; undefined when it is none. */
  readonly itemSize: number | undefined;
  /** Of a literal; undefined for anything else. */
  readonly literal: Value | undefined;
}

export interface CallEstimate {
  readonly cost: number;
  /** Undefined when the call says nothing about it. */
  readonly size: number | undefined;
}

export interface EstimatedCall {
  readonly name: string;
  /** The receiver; undefined for functions and operators. */
  readonly target: Operand | undefined;
  readonly args: readonly Operand[];
}

/** common.StringTraversalCostFactor and RegexStringLengthCostFactor of cel-go. */
const perCharacter = 0.1;
const perPatternCharacter = 0.25;
const listCost = 10;

/** cel.MaxNameFormatRegexSize of Kubernetes. */
const nameFormatPatternSize = 128;

export function estimateCall(call: EstimatedCall): CallEstimate {
  const { name, target, args } = call;
  const own = (target === undefined ? functions : methods).get(name)?.(call);
  if (own !== undefined) return own;
  const [left, right] = args;
  if (target === undefined && left !== undefined && right !== undefined) {
    const opaque = name === "_==_" ? opaqueEquality(left, right) : undefined;
    if (opaque !== undefined) return costOnly(opaque);
    if (comparisons.has(name) && (name === "_==_" || name === "_!=_" || isTextual(left.type))) {
      return costOnly(byFactor(Math.min(left.size, right.size), perCharacter));
    }
    if (name === "_+_" && (isTextual(left.type) || left.type.kind === "list")) {
      const size = plus(left.size, right.size);
      const isList = left.type.kind === "list";
      return { cost: isList ? 1 : byFactor(size, perCharacter), size };
    }
    if (name === "@in" && right.type.kind !== "map") return costOnly(right.size);
  }
  return costOnly(1);
}

/** cel.MaxFormatSize of Kubernetes. */
const namedFormatMax = 64;

/** Values of the libraries' own types are equal or not at once, but for those that are texts. */
function opaqueEquality(left: Operand, right: Operand): number | undefined {
  if (left.type.kind !== "opaque" || formatType(left.type) !== formatType(right.type)) {
    return undefined;
  }
  if (left.type.name === "kubernetes.URL") {
    return right.size >= unbounded ? 1 : traversal(right);
  }
  return left.type.name === "kubernetes.NamedFormat" ? byFactor(namedFormatMax, perCharacter) : 1;
}

const comparisons: ReadonlySet<string> = new Set(["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"]);

type Estimator = (call: EstimatedCall) => CallEstimate | undefined;

function costOnly(cost: number): CallEstimate {
  return { cost, size: undefined };
}

/** Texts, bytes, and what may turn out to be one. */
function isTextual(type: Type): boolean {
  return ["string", "bytes", "dyn"].includes(formatType(type));
}

function sizeOf(operand: Operand | undefined): number {
  return operand?.size ?? unbounded;
}

function traversal(operand: Operand | undefined, factor = perCharacter): number {
  return byFactor(sizeOf(operand), factor);
}

const pattern: Estimator = ({ name, target, args }) => {
  const text = byFactor(plus(sizeOf(target), 1), perCharacter);
  const cost = times(text, traversal(args[0], perPatternCharacter));
  return { cost, size: name === "matches" ? undefined : sizeOf(target) };
};

/** Each item is looked at, and the characters of those that are texts. */
const overItems: Estimator = ({ target }) => {
  if (target?.type.kind !== "list") return costOnly(traversal(target));
  const isText = isTextual(target.type.of) && target.type.of.kind !== "dyn";
  const item = plus(1, isText ? byFactor(target.itemSize ?? unbounded, perCharacter) : 0);
  return costOnly(times(target.size, item));
};

const sameLength: Estimator = ({ target }) => ({ cost: traversal(target), size: sizeOf(target) });

const parsed: Estimator = ({ args }) => costOnly(traversal(args[0]));

/** A list is made: its base cost, and that of the call. */
function listCall(factor: number, size: number): CallEstimate {
  return { cost: plus(byFactor(size, factor), listCost + 1), size };
}

const sorted: Estimator = ({ target }) => {
  const isText = target?.type.kind === "list" && isTextual(target.type.of);
  const size = times(sizeOf(target), sizeOf(target));
  return listCall(isText ? 2 + perCharacter : 2, size);
};

function integer(operand: Operand | undefined, otherwise: number): number {
  return typeof operand?.literal === "bigint" ? Number(operand.literal) : otherwise;
}

const joined: Estimator = ({ target, args }) => {
  const items = times(sizeOf(target), target?.itemSize ?? unbounded);
  const separators = Math.max(0, sizeOf(target) - 1);
  const size = args[0] === undefined ? items : plus(items, times(args[0].size, separators));
  return { cost: byFactor(size, perCharacter), size };
};

const replaced: Estimator = ({ target, args }) => {
  const [from, to] = args;
  const size = sizeOf(target);
  const shortest = typeof from?.literal === "string" ? from.size : 0;
  const longest = sizeOf(to);
  const cost = traversal(target, 2 * perCharacter);
  if (shortest === 0) return { cost, size: plus(times(plus(size, 1), longest), size) };
  if (longest <= shortest) return { cost, size };
  return { cost, size: times(Math.ceil(size / shortest), longest) };
};

const methods: ReadonlyMap<string, Estimator> = new Map<string, Estimator>([
  ...["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"].map(
    (name) => [name, overItems] as const,
  ),
  ...["lowerAscii", "upperAscii", "substring", "trim"].map((name) => [name, sameLength] as const),
  ...["matches", "find", "findAll"].map((name) => [name, pattern] as const),
  ["contains", ({ target, args }) => costOnly(times(traversal(target), traversal(args[0])))],
  ["startsWith", parsed],
  ["endsWith", parsed],
  ["format", ({ target }) => costOnly(traversal(target))],
  ["replace", replaced],
  [
    "split",
    ({ target, args }) => ({
      cost: traversal(target, 2 * perCharacter),
      size: integer(args[1], sizeOf(target)),
    }),
  ],
  ["join", joined],
  [
    "validate",
    ({ args }) =>
      costOnly(byFactor(traversal(args[0]), nameFormatPatternSize * perPatternCharacter)),
  ],
  [
    "slice",
    ({ target, args }) => listCall(1, integer(args[1], sizeOf(target)) - integer(args[0], 0)),
  ],
  ["reverse", ({ target }) => listCall(1, sizeOf(target))],
  [
    "flatten",
    ({ target, args }) => {
      const depth = args.length === 0 ? 1 : integer(args[0], unbounded);
      return listCall(depth, sizeOf(target));
    },
  ],
  ["distinct", ({ target }) => listCall(2, times(sizeOf(target), sizeOf(target)))],
  ["sort", sorted],
  ["containsIP", ({ args }) => costOnly(plus(4, textCost(args[0])))],
  ["containsCIDR", ({ args }) => costOnly(plus(7, textCost(args[0])))],
]);

/** What has to be parsed first where a text is given. */
function textCost(operand: Operand | undefined): number {
  return operand !== undefined && isTextual(operand.type) ? traversal(operand) : 0;
}

/** Each of one is compared with each of the other, in one direction or both. */
function setCall(directions: number, { args }: EstimatedCall): CallEstimate {
  return costOnly(plus(byFactor(times(sizeOf(args[0]), sizeOf(args[1])), directions), 1));
}

const functions: ReadonlyMap<string, Estimator> = new Map<string, Estimator>([
  ["url", ({ args }) => ({ cost: traversal(args[0]), size: sizeOf(args[0]) })],
  ...["cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"].map(
    (name) => [name, parsed] as const,
  ),
  ["ip.isCanonical", ({ args }) => costOnly(traversal(args[0], 2 * perCharacter))],
  [
    "bytes",
    ({ args }) =>
      args[0]?.type.kind === "simple" && args[0].type.name === "string"
        ? { cost: traversal(args[0]), size: times(sizeOf(args[0]), 4) }
        : undefined,
  ],
  [
    "string",
    ({ args }) =>
      args[0]?.type.kind === "simple" && args[0].type.name === "bytes"
        ? { cost: traversal(args[0]), size: sizeOf(args[0]) }
        : undefined,
  ],
  [
    "strings.quote",
    ({ args }) => ({ cost: traversal(args[0]), size: plus(times(sizeOf(args[0]), 2), 2) }),
  ],
  ["sets.contains", (call) => setCall(1, call)],
  ["sets.intersects", (call) => setCall(1, call)],
  ["sets.equivalent", (call) => setCall(2, call)],
  ["lists.range", ({ args }) => listCall(1, integer(args[0], unbounded))],
]);
