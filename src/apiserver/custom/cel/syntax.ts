// The syntax tree of a CEL expression (the language of `x-kubernetes-validations`). Macros are
// expanded while parsing, so the tree has only what a checker and an evaluator need to know.

import { runes } from "../runes.ts";
import type { Value } from "./values.ts";

/** Where in the source a node is reported: the offset of its operator or first character. */
interface Located {
  readonly at: number;
}

export type Expression = Located &
  (
    | { readonly node: "literal"; readonly value: Value }
    | { readonly node: "name"; readonly name: string }
    | {
        readonly node: "field";
        readonly of: Expression;
        readonly name: string;
        /** `has(of.name)` */
        readonly isTest: boolean;
        /** `of.?name` */
        readonly isOptional: boolean;
      }
    | {
        readonly node: "call";
        readonly name: string;
        /** `target.name(…)`; undefined for `name(…)` and operators. */
        readonly target: Expression | undefined;
        readonly args: readonly Expression[];
      }
    | { readonly node: "list"; readonly items: readonly ListItem[] }
    | { readonly node: "map"; readonly entries: readonly MapEntry[] }
    | {
        readonly node: "bind";
        readonly name: string;
        readonly value: Expression;
        readonly body: Expression;
      }
    | Comprehension
  );

export interface ListItem {
  readonly value: Expression;
  /** `[?value]` is left out when empty. */
  readonly isOptional: boolean;
}

export interface MapEntry {
  readonly key: Expression;
  readonly value: Expression;
  readonly isOptional: boolean;
}

export type Fold =
  | "all"
  | "exists"
  | "existsOne"
  | "filter"
  | "list"
  | "map"
  | "mapEntries"
  | "sortBy";

/** `range.all(name, body)` and its relatives. */
export interface Comprehension {
  readonly at: number;
  readonly node: "comprehension";
  readonly fold: Fold;
  readonly range: Expression;
  readonly name: string;
  /** With two names the first is the index or key and the second the value. */
  readonly secondName: string | undefined;
  /** Only what fulfils it is taken. */
  readonly filter: Expression | undefined;
  readonly body: Expression;
}

/** The place of what is wrong with the expression as a whole. */
export const nowhere = -1;

/** Something is wrong at a place of the source. */
export interface Issue {
  readonly at: number;
  readonly message: string;
}

export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
  readonly code = "CEL_SYNTAX";
  readonly issue: Issue;

  constructor(issue: Issue) {
    super(issue.message);
    this.issue = issue;
  }
}

/** As cel-go shows issues: the place, what is wrong, and the line with a mark under the place. */
export function formatIssues(source: string, issues: readonly Issue[]): string {
  return issues.map((issue) => formatIssue(source, issue)).join("\n");
}

function formatIssue(source: string, { at, message }: Issue): string {
  if (at === nowhere) return `ERROR: <input>:-1:0: ${message}`;
  const before = source.slice(0, at).split("\n");
  const line = source.split("\n")[before.length - 1] ?? "";
  const column = runes(before.at(-1) ?? "").length;
  const place = `ERROR: <input>:${before.length}:${column + 1}: ${message}`;
  return `${place}\n | ${line}\n | ${".".repeat(column)}^`;
}
