// Runs all cases about custom resources on two servers and collects where they differ.
import { type AskedServers, ask, compareAnswers, type Difference } from "./compare.ts";
import { costCases, definition, definitionCases, kindOf } from "./definition-cases.ts";
import { changeCases, objectCases, shopDefinition, specCases } from "./object-cases.ts";
import { booleanRules, ruleSubject, ruleSubjectSchema, wrongRules } from "./rule-cases.ts";

export interface CaseReport {
  readonly compared: number;
  readonly differences: readonly Difference[];
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A new definition is not used for two seconds, on both servers; and some for the machine. */
const settleMs = 4000;

/** The real server puts an end to an expression's compilation when there are too many at once. */
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

/** Each rule is for one field; each value of the field is one case. */
export async function compareRules(servers: AskedServers): Promise<CaseReport> {
  const groups: { readonly plural: string; readonly rules: readonly string[] }[] = [];
  for (let from = 0; from < booleanRules.length; from += rulesAtOnce) {
    const rules = booleanRules.slice(from, from + rulesAtOnce);
    groups.push({ plural: `rules${groups.length}s`, rules });
  }
  await install(
    servers,
    groups.map(({ plural, rules }) => ruled(plural, rules)),
  );
  const { differences } = await collect([
    () =>
      compareAnswers("wrong rules", servers, {
        method: "POST",
        path: `${definitionsPath}?dryRun=All`,
        body: ruled("wrongs", wrongRules),
      }),
    ...groups.map((group) => () => compareSubject(servers, group)),
  ]);
  return { compared: booleanRules.length + wrongRules.length, differences };
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

/** Makes the definitions on both and waits until their objects can be. */
export async function install(servers: AskedServers, bodies: readonly unknown[]): Promise<void> {
  for (const body of bodies) {
    for (const server of [servers.ours, servers.theirs]) {
      const answer = await ask(server, { method: "POST", path: definitionsPath, body });
      if (!isCreated(answer)) throw new Error(`refused: ${JSON.stringify(answer)}`);
    }
  }
  await servers.ours.environment.timers.sleep(settleMs);
}

function isCreated(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && Reflect.get(answer, "status") === 201;
}

export async function collect(
  cases: readonly (() => Promise<Difference | undefined>)[],
): Promise<CaseReport> {
  const differences: Difference[] = [];
  for (const one of cases) {
    const difference = await one();
    if (difference !== undefined) differences.push(difference);
  }
  return { compared: cases.length, differences };
}
