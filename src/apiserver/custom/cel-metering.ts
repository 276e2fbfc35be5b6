// Bounds the work of CEL expressions. The library has no bound, so every node of a syntax tree is
// metered: each evaluation costs one unit, and each value that an operator or a function reads as a
// whole costs its size. The same walk replaces calls that Kubernetes defines otherwise.
import { replacedMethods, replacementOf } from "./cel-functions.ts";
import { type CelNode, hasMacro, type Macro } from "./cel-macros.ts";
import { patternProblem } from "./go-texts.ts";

/** Levels of a syntax tree; each takes several frames of the stack. */
const maxLevels = 600;

/** An error takes a stack trace and an excerpt of the source. */
const errorUnits = 100;

/** Characters of a text that cost as much as one item of a list. */
const charactersPerUnit = 10;

class WorkLimitError extends Error {
  override readonly name = "WorkLimitError";
  readonly code = "CEL_WORK";
}

export const limitReached = new WorkLimitError("operation cancelled: actual cost limit exceeded");

/** Units that the running expression has left. Expressions do not nest, so there is one meter. */
export const meter = {
  left: 0,
  charge(units: number): void {
    this.left -= units;
    if (this.left < 0) throw limitReached;
  },
};

/** Whether an operation reads the whole value of a node, or only selects a part of it. */
type Use = "read" | "selected";

/** Operators that look at all of their operands. */
const reading: ReadonlySet<string> = new Set("== != in + - * / % < <= > >= !_ -_".split(" "));

/** Prepares a syntax tree before it is type-checked. */
export class Preparation {
  readonly #source: string;
  #usesOldSelf = false;
  /** An error passes many nodes on its way up; its cost is charged once. */
  #charged: unknown;

  constructor(source: string) {
    this.#source = source;
  }

  get usesOldSelf(): boolean {
    return this.#usesOldSelf;
  }

  prepare(node: CelNode, use: Use, level: number): void {
    if (level > maxLevels) throw new Error(`expression recursion limit exceeded: ${maxLevels}`);
    this.#meter(node, use);
    const { alternate, macro } = node.meta;
    const next = level + 1;
    if (alternate !== undefined) this.prepare(alternate, use, next);
    else if (macro !== undefined) this.#prepareMacro(node, macro, next);
    else this.#prepareArguments(node, next);
  }

  #prepareArguments(node: CelNode, level: number): void {
    const { op, args } = node;
    if (op === "id") this.#usesOldSelf ||= args === "oldSelf";
    if (op === "rcall") {
      this.#replaceMethod(node);
      if (isCallOf(node, "format")) allowMixedItems(node);
    }
    if (op === "comprehension") {
      const { iterable, init, step } = args as Record<string, CelNode>;
      for (const [part, use] of [
        [iterable, "read"],
        [init, "selected"],
        [step, "selected"],
      ] as const) {
        if (part !== undefined) this.prepare(part, use, level);
      }
      return;
    }
    const isReader = reading.has(op) || op === "call" || op === "rcall";
    for (const child of nodesIn(args)) this.prepare(child, isReader ? "read" : "selected", level);
  }

  #prepareMacro(node: CelNode, macro: object, level: number): void {
    if (node.op === "call" && isCallOf(node, "has")) {
      const [field] = nodesIn(node.args);
      if (field !== undefined) {
        const has = hasMacro(field);
        node.setMeta("macro", has);
        this.prepare(field, "selected", level);
      }
      return;
    }
    const own = macro as Partial<Macro>;
    if (own.bodies !== undefined && own.receiver !== undefined) {
      this.prepare(own.receiver, "read", level);
      for (const body of own.bodies) this.prepare(body, "selected", level);
      return;
    }
    for (const child of nodesIn(Object.values(macro).filter((one) => one !== node))) {
      this.prepare(child, "selected", level);
    }
  }

  /** Methods of the library that are not as in Go get another name; see `replacedMethods`. */
  #replaceMethod({ args }: CelNode): void {
    if (!Array.isArray(args)) return;
    const [method, , given] = args;
    if (!replacedMethods.has(method)) return;
    args[0] = replacementOf(method);
    const [pattern] = nodesIn(given);
    if (method !== "matches" || pattern?.op !== "value" || typeof pattern.args !== "string") return;
    const problem = patternProblem(pattern.args);
    if (problem !== undefined) throw new Error(`invalid matches argument: ${problem}`);
  }

  #meter(node: CelNode, use: Use): void {
    const sourceLength = this.#source.length;
    let evaluate = node.evaluate;
    const metered: CelNode["evaluate"] = (evaluator, _, context) => {
      meter.charge(1);
      try {
        const value = evaluate.call(node, evaluator, node, context);
        if (use === "read") meter.charge(sizeOf(value));
        return value;
      } catch (error) {
        if (error !== limitReached && error !== this.#charged) {
          this.#charged = error;
          meter.left -= errorUnits + sourceLength / charactersPerUnit;
        }
        throw error;
      }
    };
    // The library replaces the function of a node when it first runs.
    Object.defineProperty(node, "evaluate", {
      get: () => metered,
      set: (next: CelNode["evaluate"]) => {
        evaluate = next;
      },
    });
  }
}

/** The list that `format` gets may have items of several types. */
function allowMixedItems({ args }: CelNode): void {
  const [, list] = nodesIn(args);
  if (list?.op !== "list") return;
  const check: Macro["typeCheck"] = (checker, _, context) => {
    for (const item of nodesIn(list.args)) checker.check(item, context);
    return checker.getType("list<dyn>");
  };
  list.setMeta("check", check);
}

function isCallOf({ args }: CelNode, name: string): boolean {
  return Array.isArray(args) && args[0] === name;
}

function nodesIn(args: unknown): readonly CelNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  const isNode = typeof args === "object" && args !== null && "evaluate" in args && "op" in args;
  return isNode ? [args as CelNode] : [];
}

const sizes = new WeakMap<object, number>();

/**
 * How much there is to read in a value, one for each item at any depth. A part that occurs twice
 * counts twice, because comparing reads it twice.
 */
function sizeOf(value: unknown): number {
  if (typeof value === "string" || value instanceof Uint8Array) {
    return value.length / charactersPerUnit;
  }
  if (typeof value !== "object" || value === null) return 0;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  let size = 0;
  for (const item of itemsOf(value)) size += 1 + sizeOf(item);
  sizes.set(value, size);
  return size;
}

function itemsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Map) return value.values();
  // A map literal is a plain object; times, addresses and the like have no items.
  return value.constructor === Object ? Object.values(value) : [];
}
