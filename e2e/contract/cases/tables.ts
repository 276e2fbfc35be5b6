// The rows of Tables for objects in every state that has a word of its own, and the forms that
// Accept headers lead to. Only ages are taken out: how long a run takes is no server's choice.
import type { CaseWorld, ContractCase } from "../contract-case.ts";
import { tableSubjects } from "../objects/table-subjects.ts";

const table = "as=Table;v=v1;g=meta.k8s.io";
const protobuf = "application/vnd.kubernetes.protobuf";

const accepts: readonly string[] = [
  "*/*",
  "application/*",
  "*",
  "text/html",
  "text/html,*/*;q=0.1",
  "application/json;q=0",
  "application/yaml;q=0.5,application/json;q=0.9",
  "application/json;q=0.4,application/yaml;q=0.5",
  `${protobuf};${table}`,
  `${protobuf};${table},application/json;${table},application/json`,
  `*/*;${table}`,
  "application/json;as=table;v=v1;g=meta.k8s.io",
  `application/json;${table};foo=bar`,
  "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
  "application/json;as=Table;v=v2;g=meta.k8s.io",
  "application/json;as=Table",
  "application/json;stream=watch",
  "application/json;stream=foo",
  "application/json;pretty=1",
  "application/json;sv=v1",
  "APPLICATION/JSON",
  "application/json; charset=utf-8",
  "application/json ;as=Table ; v=v1; g=meta.k8s.io",
  `application/json;${table};q=0.1,application/json`,
  "garbage",
  "application/cbor",
  "application/json;v=v1",
  "application/json;as=Foo;v=v1;g=meta.k8s.io, application/yaml",
];

export const tableCases: readonly ContractCase[] = [
  ...tableSubjects.map(
    ({ name, collection, objects }): ContractCase => ({
      area: "rows of Tables",
      name,
      run: async (world) => {
        await world.open();
        await showRows(world, collection(world.name), objects);
      },
    }),
  ),
  ...accepts.map(
    (accept): ContractCase => ({
      area: "forms of answers",
      name: `accepting ${accept}`,
      run: async ({ call, open, name }) => {
        await open();
        const headers = { accept };
        const path = `/api/v1/namespaces/${name}/secrets`;
        const secret = {
          metadata: { name: "thing", labels: { on: "yes" } },
          stringData: { a: "1" },
        };
        await call("POST", path, secret);
        await call("GET", path, undefined, { headers, project: withoutAges });
        await call("GET", `${path}/thing`, undefined, { headers, project: withoutAges });
        await call("GET", `${path}/none`, undefined, { headers });
      },
    }),
  ),
];

async function showRows(
  { call, name }: CaseWorld,
  collection: string,
  objects: (typeof tableSubjects)[number]["objects"],
): Promise<void> {
  const setUp = { project: () => "as it may be" };
  for (const { object, status, isDeleted } of objects(name)) {
    const own = `${collection}/${object.metadata.name}`;
    await call("POST", collection, object, setUp);
    if (status !== undefined) await call("PUT", `${own}/status`, { ...object, status }, setUp);
    if (isDeleted) await call("DELETE", own, undefined, setUp);
  }
  const headers = { accept: `application/json;${table}` };
  const query = `includeObject=None&labelSelector=table%3D${name}`;
  await call("GET", `${collection}?${query}`, undefined, { headers, project: withoutAges });
}

/** Without `5m3s`, `62m`, `3 (2d ago)`, and the versions in YAML, which is one text to a reader. */
function withoutAges(body: unknown): unknown {
  const text = JSON.stringify(body) ?? "null";
  return JSON.parse(
    text
      .replaceAll(/(["(])\d+[smhdy](?:\d+[smhd])?( ago\)|")/g, "$1<age>$2")
      .replaceAll(/resourceVersion: \\"\d+\\"/g, "resourceVersion: <n>"),
  );
}
