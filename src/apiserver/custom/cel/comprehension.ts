// Runs the macros that go over a list or the entries of a map.
import { compareValues } from "./compare.ts";
import type { Evaluation, Scope } from "./evaluator.ts";
import type { Comprehension } from "./syntax.ts";
import { CelError, type KeyValue, ListValue, MapValue, ObjectValue, type Value } from "./values.ts";

/** What each round costs beside what is evaluated in it: the accumulator and its condition. */
const roundCost = 3;

export function runComprehension(
  evaluation: Evaluation,
  comprehension: Comprehension,
  scope: Scope,
): Value {
  const range = evaluation.run(comprehension.range, scope);
  const rounds = roundsOf(evaluation, comprehension, range, scope);
  switch (comprehension.fold) {
    case "all":
      return quantify(evaluation, comprehension, rounds, false);
    case "exists":
      return quantify(evaluation, comprehension, rounds, true);
    case "existsOne":
      return existsOne(evaluation, comprehension, rounds);
    case "filter":
      return filter(evaluation, comprehension, rounds);
    case "list":
      return new ListValue(
        [...rounds].map(({ inner }) => evaluation.run(comprehension.body, inner)),
      );
    case "map":
      return new MapValue(
        [...rounds].map(
          ({ key, inner }) => [key, evaluation.run(comprehension.body, inner)] as const,
        ),
      );
    case "mapEntries":
      return mergeEntries(evaluation, comprehension, rounds);
    case "sortBy":
      return sortBy(evaluation, comprehension, rounds);
  }
}

interface Round {
  readonly key: KeyValue;
  /** What a comprehension with one name goes over. */
  readonly element: Value;
  readonly inner: Scope;
}

function* roundsOf(
  evaluation: Evaluation,
  { name, secondName, filter }: Comprehension,
  range: Value,
  scope: Scope,
): Generator<Round, void, undefined> {
  for (const [key, value] of entriesOf(range)) {
    evaluation.charge(roundCost);
    const element = range instanceof ListValue ? value : key;
    const inner = new Map(scope);
    inner.set(name, secondName === undefined ? element : key);
    if (secondName !== undefined) inner.set(secondName, value);
    if (filter !== undefined && !asBool(evaluation.run(filter, inner))) continue;
    yield { key, element, inner };
  }
}

function* entriesOf(range: Value): Generator<readonly [KeyValue, Value], void, undefined> {
  if (range instanceof ListValue) {
    for (const [index, item] of range.items.entries()) yield [BigInt(index), item];
  } else if (range instanceof MapValue) {
    yield* range.entries.values();
  } else if (range instanceof ObjectValue) {
    yield* range.fields;
  } else {
    throw new CelError("no such overload");
  }
}

/** Ends with the first decisive answer; an error counts only when none is. */
function quantify(
  evaluation: Evaluation,
  { body }: Comprehension,
  rounds: Iterable<Round>,
  decisive: boolean,
): boolean {
  let failure: CelError | undefined;
  for (const { inner } of rounds) {
    const answer = evaluation.attempt(body, inner);
    if (answer === decisive) return decisive;
    if (answer instanceof CelError) failure ??= answer;
    else if (typeof answer !== "boolean") failure ??= new CelError("no such overload");
  }
  if (failure !== undefined) throw failure;
  return !decisive;
}

function existsOne(
  evaluation: Evaluation,
  { body }: Comprehension,
  rounds: Iterable<Round>,
): boolean {
  let count = 0;
  for (const { inner } of rounds) {
    if (asBool(evaluation.run(body, inner))) count += 1;
  }
  return count === 1;
}

function filter(
  evaluation: Evaluation,
  { body }: Comprehension,
  rounds: Iterable<Round>,
): ListValue {
  const items: Value[] = [];
  for (const { element, inner } of rounds) {
    if (asBool(evaluation.run(body, inner))) items.push(element);
  }
  return new ListValue(items);
}

function mergeEntries(
  evaluation: Evaluation,
  { body }: Comprehension,
  rounds: Iterable<Round>,
): MapValue {
  const entries = new Map<string, readonly [KeyValue, Value]>();
  for (const { inner } of rounds) {
    const made = evaluation.run(body, inner);
    if (!(made instanceof MapValue)) throw new CelError("no such overload");
    for (const [text, entry] of made.entries) {
      if (entries.has(text))
        throw new CelError(`insert failed: key ${text.slice(1)} already exists`);
      entries.set(text, entry);
    }
  }
  return new MapValue(entries.values());
}

function sortBy(
  evaluation: Evaluation,
  { body }: Comprehension,
  rounds: Iterable<Round>,
): ListValue {
  const keyed = [...rounds].map(({ element, inner }) => ({
    element,
    key: evaluation.run(body, inner),
  }));
  keyed.sort((a, b) => {
    evaluation.charge(1);
    return compareValues(a.key, b.key) ?? 0;
  });
  return new ListValue(keyed.map(({ element }) => element));
}

function asBool(value: Value): boolean {
  if (typeof value !== "boolean") throw new CelError("no such overload");
  return value;
}
