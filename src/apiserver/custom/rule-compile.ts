// The rules of one schema, compiled: what may run, and what is wrong with what may not.
import { compile, type Program } from "./cel/program.ts";
import { isSimple, optionalOf, type Type } from "./cel/types.ts";
import type { JsonSchema, ValidationRule } from "./json-schema.ts";
import { followPath } from "./rule-paths.ts";

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Undefined when the rule is empty or wrong. */
  readonly program: Program | undefined;
  readonly problem: string | undefined;
  readonly message: Program | undefined;
  readonly messageProblem: string | undefined;
  /** It compares with the object before, and so applies only where there is one. */
  readonly usesOldSelf: boolean;
  /** Where its failure is reported, below the value itself; "" for the value. */
  readonly fieldPath: string;
}

/** `self` is the type of values of the schema. */
export function compileRules(schema: JsonSchema, self: Type): readonly CompiledRule[] {
  return schema.rules.map((rule) => compileRule(schema, rule, self));
}

function compileRule(schema: JsonSchema, rule: ValidationRule, self: Type): CompiledRule {
  const oldSelf = rule.optionalOldSelf === true ? optionalOf(self) : self;
  const variables = new Map([
    ["self", self],
    ["oldSelf", oldSelf],
  ]);
  const { program, problem } = compileTo("bool", rule.rule, variables);
  const message = compileTo("string", rule.messageExpression, variables);
  const found = followPath(rule.fieldPath, schema, { allowsBrackets: true });
  return {
    rule,
    program,
    problem,
    message: message.program,
    messageProblem: message.problem,
    usesOldSelf: program?.usedNames.has("oldSelf") ?? false,
    fieldPath: "path" in found ? found.path : "",
  };
}

interface Compiled {
  readonly program: Program | undefined;
  readonly problem: string | undefined;
}

const words = {
  bool: {
    failed: "compilation failed: ",
    lateFailure: "program instantiation failed: ",
    mistyped: "cel expression must evaluate to a bool",
  },
  string: {
    failed: "messageExpression compilation failed: ",
    lateFailure: "messageExpression instantiation failed: ",
    mistyped: "messageExpression must evaluate to a string",
  },
} as const;

function compileTo(
  type: "bool" | "string",
  source: string,
  variables: ReadonlyMap<string, Type>,
): Compiled {
  if (source.trim() === "") return { program: undefined, problem: undefined };
  const compiled = compile(source, variables);
  if ("problem" in compiled) {
    const { isLate, problem } = compiled;
    const reason = isLate ? words[type].lateFailure : words[type].failed;
    return { program: undefined, problem: `${reason}${problem}` };
  }
  const { program } = compiled;
  return isSimple(program.type, type)
    ? { program, problem: undefined }
    : { program: undefined, problem: words[type].mistyped };
}
