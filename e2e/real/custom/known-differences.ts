// Where rules in CEL differ on the embedded server, and why. It runs them with a library
// (docs/decisions/cel.md). Each entry must occur: one that does not is outdated and fails the test.

export interface KnownRuleDifference {
  readonly what: string;
  readonly why: string;
}

/** Rules of `rule-cases.ts` with another result, or that only the real server accepts. */
export const differingRules: Readonly<Record<string, KnownRuleDifference>> = {
  "-(-9223372036854775808) > 0": {
    what: "The negation of the least integer does not overflow.",
    why: "The library negates without a check.",
  },
  "self.set == ['y', 'x']": {
    what: "Lists of type set are compared in order.",
    why: "To the library every list is a list.",
  },
  "self.set + ['x', 'z'] == ['x', 'y', 'z']": {
    what: "Items that are added to a list of type set may repeat.",
    why: "To the library every list is a list.",
  },
  "self.since.getHours('+02:00') == 14": {
    what: "A time zone has to be a name such as Europe/Berlin.",
    why: "Node 20 knows no time zones that are written as an offset.",
  },
  "[?optional.of(1), ?optional.none()] == [1]": {
    what: "Optional items of list literals are refused.",
    why: "The library does not parse them.",
  },
  "{?'a': optional.of(1), ?'b': optional.none()} == {'a': 1}": {
    what: "Optional entries of map literals are refused.",
    why: "The library does not parse them.",
  },
};

const lateConversion: KnownRuleDifference = {
  what: "A literal that cannot be converted is an error of the object, not of the definition.",
  why: "The library converts literals when a rule runs.",
};
const lateFormat: KnownRuleDifference = {
  what: "A wrong argument of format is an error of the object, not of the definition.",
  why: "The library does not compare templates with their arguments.",
};

/** Rules of `rule-cases.ts` that are wrong, and are accepted in a definition. */
export const acceptedRules: Readonly<Record<string, KnownRuleDifference>> = {
  "self.labels[1] == ''": {
    what: "A map with keys of type string may be indexed by a number.",
    why: "The library does not compare the types of keys.",
  },
  "self.?nothing.hasValue()": {
    what: "An optional selection may name a field that does not exist.",
    why: "The library gives it a dynamic type.",
  },
  "duration('x') == duration('1s')": lateConversion,
  "timestamp('x') == self.since": lateConversion,
  "int('x') == 12": lateConversion,
  "'%d'.format(['x']) == ''": lateFormat,
  "'%s %s'.format(['x']) == ''": lateFormat,
  "'%f'.format([1]) == ''": lateFormat,
};

interface KnownCause extends KnownRuleDifference {
  /** Of the text of a cause, on the real server. */
  readonly pattern: RegExp;
  /** The rest to compare; a cause without a rest is not compared at all. */
  readonly rest: string;
}

/** Texts of refusals. */
export const knownCauses: readonly KnownCause[] = [
  {
    what: "Errors of compilation have other words.",
    why: "They are the library's.",
    pattern: /(compilation|instantiation) failed: .*$/s,
    rest: "compilation failed",
  },
  {
    what: "Some errors of evaluation have other words.",
    why: "They are the library's, except for absent fields, indexes, overloads and division by zero.",
    pattern: /(Invalid value: "\w+": ).*( evaluating rule: )/s,
    rest: "$1an error$2",
  },
  {
    what: "A rule is accepted however much it could cost.",
    why: "The library estimates no cost. The work of rules is bounded when they run.",
    pattern: /^.*(estimated rule cost|estimated messageExpression cost).*$/s,
    rest: "",
  },
];
