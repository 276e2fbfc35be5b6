// Runs all cases about custom resources on two servers and collects the differences.
import { type AskedServers, ask, compareAnswers, type Difference } from "./compare.ts";
import { costCases, definition, definitionCases, kindOf } from "./definition-cases.ts";
import { acceptedRules, differingRules, type KnownRuleDifference } from "./known-differences.ts";
import { changeCases, objectCases, shopDefinition, specCases } from "./object-cases.ts";
import { booleanRules, ruleSubject, ruleSubjectSchema, wrongRules } from "./rule-cases.ts";

export interface CaseReport {
  readonly compared: number;
  /** Those that no known difference explains. */
  readonly differences: readonly Difference[];
  /** How many cases each known difference explains. */
  readonly known: ReadonlyMap<KnownRuleDifference, number>;
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Both servers delay objects of a new definition by two seconds; the rest is for slow machines. */
const settleMs = 4000;

/** The real server stops compiling when a definition has too many rules. */
const rulesAtOnce = 60;

export async function compareDefinitions(servers: AskedServers): Promise<CaseReport> {
  return collect(
    Object.entries({ ...definitionCases, ...costCases }).map(
      ([name, change]) =>
        () =>
          compareAnswers(`a definition that ${name}`, servers, {
            method: "POST",
            path: `${definitionsPath}?dryRun=All`,
            body: definition("things", change),
          }),
    ),
  );
}

export async function compareObjects(servers: AskedServers): Promise<CaseReport> {
  await install(servers, [shopDefinition]);
  const path = "/apis/cases.example.com/v1/namespaces/default/shops";
  const shop = (metadata: object, rest: object) => ({
    apiVersion: "cases.example.com/v1",
    kind: "Shop",
    metadata,
    ...rest,
  });
  const created = [
    ...Object.entries(specCases).map(([name, spec], at) => ({
      name: `an object whose spec ${name}`,
      body: shop({ name: `spec-${at}` }, { spec }),
    })),
    ...Object.entries(objectCases).map(([name, rest]) => ({
      name: `an object that ${name}`,
      body: { ...shop({}, { spec: {} }), ...rest },
    })),
  ];
  const queries = ["", "?fieldValidation=Strict"];
  const creations = queries.flatMap((query) =>
    created.map(
      ({ name, body }) =>
        () =>
          compareAnswers(`${name} ${query}`, servers, {
            method: "POST",
            path: `${path}${query}${query === "" ? "?" : "&"}dryRun=All`,
            body,
          }),
    ),
  );
  const changes = Object.entries(changeCases).map(
    ([name, { from, patch, subresource }], at) =>
      async () => {
        const own = `change-${at}`;
        const body = shop({ name: own }, { spec: from });
        const first = await compareAnswers(name, servers, { method: "POST", path, body });
        const place = subresource === undefined ? own : `${own}/${subresource}`;
        return (
          first ??
          compareAnswers(`a change that ${name}`, servers, {
            method: "PATCH",
            path: `${path}/${place}`,
            contentType: "application/merge-patch+json",
            body: patch,
          })
        );
      },
  );
  return collect([...creations, ...changes]);
}

/** Each rule belongs to one field; its result on the field's value is one case. */
export async function compareRules(servers: AskedServers): Promise<CaseReport> {
  const groups: { readonly plural: string; readonly rules: readonly string[] }[] = [];
  const alike = booleanRules.filter((rule) => differingRules[rule] === undefined);
  for (let from = 0; from < alike.length; from += rulesAtOnce) {
    groups.push({ plural: `rules${groups.length}s`, rules: alike.slice(from, from + rulesAtOnce) });
  }
  await install(
    servers,
    groups.map(({ plural, rules }) => ruled(plural, rules)),
  );
  const report = await collect([
    () =>
      compareAnswers("wrong rules", servers, {
        method: "POST",
        path: `${definitionsPath}?dryRun=All`,
        body: ruled(
          "wrongs",
          wrongRules.filter((rule) => acceptedRules[rule] === undefined),
        ),
      }),
    ...groups.map((group) => () => compareSubject(servers, group)),
    ...Object.entries({ ...differingRules, ...acceptedRules }).map(
      ([rule, known], at) =>
        () =>
          compareKnown(servers, `known${at}s`, rule, known),
    ),
  ]);
  return { ...report, compared: booleanRules.length + wrongRules.length };
}

/** A known difference has to occur: in the definition, or in the result of the rule. */
async function compareKnown(
  servers: AskedServers,
  plural: string,
  rule: string,
  known: KnownRuleDifference,
): Promise<Difference> {
  const body = ruled(plural, [rule]);
  const question = { method: "POST", path: `${definitionsPath}?dryRun=All`, body };
  let found = await compareAnswers(rule, servers, question);
  if (found === undefined) {
    await install(servers, [body]);
    found = await compareSubject(servers, { plural, rules: [rule] });
  }
  return found === undefined
    ? { name: `outdated: ${rule}`, ours: "the same", theirs: "the same", known: [] }
    : { ...found, known: [known] };
}

function compareSubject(
  servers: AskedServers,
  { plural, rules }: { readonly plural: string; readonly rules: readonly string[] },
): Promise<Difference | undefined> {
  const spec = Object.fromEntries(rules.map((_, at) => [`rule${at}`, ruleSubject]));
  return compareAnswers(plural, servers, {
    method: "POST",
    path: `/apis/cases.example.com/v1/namespaces/default/${plural}`,
    body: {
      apiVersion: "cases.example.com/v1",
      kind: kindOf(plural),
      metadata: { name: "subject" },
      spec,
    },
  });
}

function ruled(plural: string, rules: readonly string[]): Record<string, unknown> {
  const fields = rules.map((rule, at) => [
    `rule${at}`,
    {
      ...ruleSubjectSchema,
      "x-kubernetes-validations": [{ rule, message: rule.split("\n").at(-1) }],
    },
  ]);
  const spec = { type: "object", properties: Object.fromEntries(fields) };
  return definition(plural, { schema: { properties: { spec } } });
}

/** Makes the definitions on both and waits until objects of them can be created. */
export async function install(servers: AskedServers, bodies: readonly unknown[]): Promise<void> {
  for (const body of bodies) {
    for (const server of [servers.ours, servers.theirs]) {
      const answer = await ask(server, { method: "POST", path: definitionsPath, body });
      if (answer.status !== 201) throw new Error(`refused: ${JSON.stringify(answer)}`);
    }
  }
  await servers.ours.environment.timers.sleep(settleMs);
}

export async function collect(
  cases: readonly (() => Promise<Difference | undefined>)[],
): Promise<CaseReport> {
  const differences: Difference[] = [];
  const known = new Map<KnownRuleDifference, number>();
  for (const one of cases) {
    const difference = await one();
    if (difference === undefined) continue;
    if (difference.known.length === 0) differences.push(difference);
    for (const reason of difference.known) known.set(reason, (known.get(reason) ?? 0) + 1);
  }
  return { compared: cases.length, differences, known };
}
