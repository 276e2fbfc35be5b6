// The clauses of a template for `format`, `%s` and the like: what each may be given. The checker asks
// about types and the function about values; both get the same words.

export interface FormatClause {
  readonly verb: string;
  /** Undefined when the clause says none. */
  readonly precision: number | undefined;
}

interface VerbRule {
  readonly allowed: readonly string[];
  readonly rule: string;
}

const rules: Readonly<Record<string, VerbRule>> = {
  s: {
    allowed:
      "string bool bytes int uint double map list type duration timestamp null null_type".split(
        " ",
      ),
    rule:
      "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, " +
      "durations, and timestamps",
  },
  d: { allowed: ["int", "uint"], rule: "decimal clause can only be used on integers" },
  f: { allowed: ["double"], rule: "fixed-point clause can only be used on doubles" },
  e: { allowed: ["double"], rule: "scientific clause can only be used on doubles" },
  b: {
    allowed: ["int", "uint", "bool"],
    rule: "only integers and bools can be formatted as binary",
  },
  x: {
    allowed: ["int", "uint", "bytes", "string"],
    rule: "only integers, byte buffers, and strings can be formatted as hex",
  },
  X: {
    allowed: ["int", "uint", "bytes", "string"],
    rule: "only integers, byte buffers, and strings can be formatted as hex",
  },
  o: { allowed: ["int", "uint"], rule: "octal clause can only be used on integers" },
};

/** With an escape for the sign itself: `%%`. */
export const clausePattern = /%(?:%|(?:\.(\d+))?([a-zA-Z]))/g;

export function formatClauses(template: string): readonly FormatClause[] {
  return [...template.matchAll(clausePattern)].flatMap(([, precision, verb]) =>
    verb === undefined
      ? []
      : [{ verb, precision: precision === undefined ? undefined : Number(precision) }],
  );
}

/** What is wrong with a value of that type there; undefined when nothing is. */
export function clauseProblem(verb: string, type: string): string | undefined {
  const rule = Object.hasOwn(rules, verb) ? rules[verb] : undefined;
  if (rule === undefined) {
    return `could not parse formatting clause: unrecognized formatting clause "${verb}"`;
  }
  if (rule.allowed.includes(type)) return undefined;
  return `error during formatting: ${rule.rule}, was given ${type}`;
}
