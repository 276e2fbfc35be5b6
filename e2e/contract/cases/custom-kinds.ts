// CustomResourceDefinitions: what makes a valid one, and how its objects are kept.
import type { CaseWorld, ContractCase } from "../contract-case.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const merge = { contentType: "application/merge-patch+json" };

export const customKindCases: readonly ContractCase[] = [
  customCase("a definition is installed and its objects are kept", objects),
  customCase("a structural schema validates and prunes", validated),
  customCase("status and scale are apart", subresources),
  customCase("definitions have their rules", invalidDefinitions),
  customCase("custom objects as Tables", tables),
];

function customCase(name: string, run: (world: CaseWorld) => Promise<void>): ContractCase {
  return {
    area: "custom kinds",
    name,
    async run(world) {
      await world.open();
      await run(world);
    },
  };
}

const schema = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10, default: 2 },
        colour: { type: "string", enum: ["red", "green"] },
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
        replicas: { type: "integer" },
        tags: {
          type: "array",
          items: { type: "string" },
          maxItems: 2,
          "x-kubernetes-list-type": "set",
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
    status: { type: "object", properties: { replicas: { type: "integer" } } },
  },
};

/** A group of the case's own, because definitions are of the whole cluster. */
function group({ name }: CaseWorld): string {
  return `${name}.example.com`;
}

function definition(world: CaseWorld, version: object = {}, spec: object = {}): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group(world)}` },
    spec: {
      group: group(world),
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", shortNames: ["wd"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...version,
        },
      ],
      ...spec,
    },
  };
}

function widgets(world: CaseWorld): string {
  return `/apis/${group(world)}/v1/namespaces/${world.name}/widgets`;
}

function widget(world: CaseWorld, name: string, rest: object): object {
  return { apiVersion: `${group(world)}/v1`, kind: "Widget", metadata: { name }, ...rest };
}

/** Conditions are written by a controller of the server, at its own pace. */
async function install(world: CaseWorld, version: object = {}): Promise<void> {
  await world.call("POST", definitions, definition(world, version));
  await world.sleep(1500);
  await world.call("GET", `${definitions}/widgets.${group(world)}`);
}

/** Which form objects are stored in is each server's own affair. */
function withoutHashes(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (key, value: unknown) =>
    key === "storageVersionHash" ? undefined : value,
  );
}

async function objects(world: CaseWorld): Promise<void> {
  await install(world);
  await world.call("GET", `/apis/${group(world)}/v1`, undefined, { project: withoutHashes });
  await world.call("POST", widgets(world), widget(world, "a", { spec: {} }));
  await world.call("GET", `${widgets(world)}/a`);
  await world.call("GET", widgets(world));
  await world.call("PATCH", `${widgets(world)}/a`, { spec: { size: 3 } }, merge);
  await world.call("PATCH", `${widgets(world)}/a`, { metadata: { labels: { a: "b" } } }, merge);
  await world.call(
    "PATCH",
    `${widgets(world)}/a`,
    {},
    {
      contentType: "application/strategic-merge-patch+json",
    },
  );
  await world.call("DELETE", `${widgets(world)}/a`);
  await world.call("GET", `${widgets(world)}/a`);
}

async function validated(world: CaseWorld): Promise<void> {
  await install(world);
  for (const spec of [
    undefined,
    { size: 0 },
    { size: 11 },
    { colour: "blue" },
    { size: "3" },
    { size: 1.5 },
    { name: "UPPER" },
    { name: "toolong" },
    { tags: ["a", "b", "c"] },
    { tags: ["a", "a"] },
    { tags: "a" },
    { unknown: 1, free: { any: [1] } },
    [],
  ]) {
    const body = widget(world, "a", spec === undefined ? {} : { spec });
    await world.call("POST", `${widgets(world)}?dryRun=All`, body);
  }
  const strict = `${widgets(world)}?dryRun=All&fieldValidation=Strict`;
  await world.call("POST", strict, widget(world, "a", { spec: { unknown: 1 }, other: 2 }));
  await world.call("POST", widgets(world), widget(world, "Bad_Name", { spec: {} }));
}

async function subresources(world: CaseWorld): Promise<void> {
  await install(world, {
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
    },
  });
  const made = widget(world, "a", { spec: { replicas: 2 }, status: { replicas: 9 } });
  await world.call("POST", widgets(world), made);
  await world.call("PATCH", `${widgets(world)}/a/status`, { status: { replicas: 2 } }, merge);
  await world.call("GET", `${widgets(world)}/a/scale`);
  await world.call("PATCH", `${widgets(world)}/a/scale`, { spec: { replicas: 5 } }, merge);
  await world.call("GET", `${widgets(world)}/a`);
}

async function invalidDefinitions(world: CaseWorld): Promise<void> {
  const post = (body: object) => world.call("POST", `${definitions}?dryRun=All`, body);
  await post({ ...definition(world), metadata: { name: "wrong" } });
  await post(definition(world, { schema: undefined }));
  await post(definition(world, { storage: false }));
  await post(definition(world, {}, { versions: [] }));
  await post(definition(world, {}, { scope: "Everywhere" }));
  await post(definition(world, {}, { group: "short" }));
  await post(definition(world, { schema: { openAPIV3Schema: { type: "array" } } }));
  const untyped = { type: "object", properties: { a: { properties: { b: { type: "string" } } } } };
  await post(definition(world, { schema: { openAPIV3Schema: untyped } }));
  await post(definition(world, {}, { names: { plural: "Widgets", kind: "widget" } }));
}

async function tables(world: CaseWorld): Promise<void> {
  await install(world, {
    additionalPrinterColumns: [
      { name: "Size", type: "integer", jsonPath: ".spec.size" },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    ],
  });
  await world.call("POST", widgets(world), widget(world, "a", { spec: {} }));
  const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  await world.call("GET", widgets(world), undefined, { headers });
}
