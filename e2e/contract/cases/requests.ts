// Requests that are wrong before any rule of a kind is asked: paths, methods, media types, bodies,
// query parameters, identities; and bodies in other formats that are right.
import type { CallOptions, CaseWorld, ContractCase } from "../contract-case.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const dryRun = `${configMaps}?dryRun=All`;
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "thing" } };

/** The limit of a request's body is three mebibytes; this is over it. */
const tooMuch = "x".repeat(3 * 1024 * 1024 + 10);

type Sent = readonly [
  name: string,
  method: string,
  path: string,
  body?: unknown,
  options?: CallOptions,
];

const single: readonly Sent[] = [
  ["an unknown path", "GET", "/nowhere"],
  ["an unknown group", "GET", "/apis/none.example.com"],
  ["an unknown group and version", "GET", "/apis/none.example.com/v1"],
  ["an unknown version of a group", "GET", "/apis/apps/v9"],
  ["an unknown version of the core", "GET", "/api/v9"],
  ["an unknown resource", "GET", "/api/v1/namespaces/default/things"],
  ["an unknown resource of a group", "GET", "/apis/apps/v1/namespaces/default/things"],
  ["an unknown subresource", "GET", `${configMaps}/thing/nothing`],
  ["a resource of the cluster in a namespace", "GET", "/api/v1/namespaces/default/nodes"],
  ["an object of a namespace without its namespace", "GET", "/api/v1/configmaps/thing"],
  ["a path that is too deep", "GET", `${configMaps}/thing/status/more`],
  ["POST on an object", "POST", `${configMaps}/thing`, map],
  ["PUT on a collection", "PUT", configMaps, map],
  ["PATCH on a collection", "PATCH", configMaps, {}],
  ["POST across namespaces", "POST", "/api/v1/configmaps", map],
  ["DELETE across namespaces", "DELETE", "/api/v1/configmaps"],
  ["an unknown method", "BREW", configMaps],
  ["DELETE of the namespaces", "DELETE", "/api/v1/namespaces"],
  ["POST of the root", "POST", "/api/v1", map],
  ["a trailing slash", "GET", `${configMaps}/?limit=1&labelSelector=none%3Dsuch`],
  ["an empty body", "POST", dryRun, ""],
  ["an empty object", "POST", dryRun, {}],
  ["a list as body", "POST", dryRun, []],
  ["null as body", "POST", dryRun, "null"],
  ["a text as body", "POST", dryRun, '"text"'],
  ["a number as body", "POST", dryRun, "7"],
  ["half an object", "POST", dryRun, '{"kind":'],
  ["no JSON at all", "POST", dryRun, "hello"],
  ["more than one object", "POST", dryRun, `${JSON.stringify(map)}${JSON.stringify(map)}`],
  ["a comma too many", "POST", dryRun, '{"kind":"ConfigMap","apiVersion":"v1",}'],
  ["bytes that are not text", "POST", dryRun, Buffer.from([0xff, 0xfe, 0x7b])],
  ["YAML as body", "POST", dryRun, yaml("thing"), { contentType: "application/yaml" }],
  ["broken YAML", "POST", dryRun, "a: [", { contentType: "application/yaml" }],
  ["YAML with tabs", "POST", dryRun, "\ta: b", { contentType: "application/yaml" }],
  ["no media type", "POST", dryRun, map, { contentType: "" }],
  ["an unknown media type", "POST", dryRun, map, { contentType: "text/plain" }],
  ["a form as body", "POST", dryRun, "a=b", { contentType: "application/x-www-form-urlencoded" }],
  ["a media type with parameters", "POST", dryRun, map, { contentType: "application/json; a=b" }],
  [
    "protobuf that is none",
    "POST",
    dryRun,
    "hello",
    { contentType: "application/vnd.kubernetes.protobuf" },
  ],
  ["a body that is too large", "POST", dryRun, JSON.stringify({ ...map, data: { a: tooMuch } })],
  ["a patch of an unknown type", "PATCH", `${configMaps}/thing`, {}, { contentType: "text/plain" }],
  ["a patch as JSON", "PATCH", `${configMaps}/thing`, {}, { contentType: "application/json" }],
  ["another kind", "POST", dryRun, { ...map, kind: "Secret" }],
  ["an unknown kind", "POST", dryRun, { ...map, kind: "Nothing" }],
  ["another version", "POST", dryRun, { ...map, apiVersion: "v2" }],
  ["another group", "POST", dryRun, { ...map, apiVersion: "apps/v1" }],
  ["a kind alone", "POST", dryRun, { kind: "ConfigMap", metadata: { name: "thing" } }],
  ["a version alone", "POST", dryRun, { apiVersion: "v1", metadata: { name: "thing" } }],
  ["a list of objects", "POST", dryRun, { apiVersion: "v1", kind: "ConfigMapList", items: [] }],
  ["an unknown field, ignored", "POST", `${dryRun}&fieldValidation=Ignore`, { ...map, a: 1 }],
  ["an unknown field, warned of", "POST", `${dryRun}&fieldValidation=Warn`, { ...map, a: 1 }],
  ["an unknown field, refused", "POST", `${dryRun}&fieldValidation=Strict`, { ...map, a: 1 }],
  ["unknown fields deep down", "POST", `${dryRun}&fieldValidation=Strict`, deepUnknown()],
  ["unknown fields, by default", "POST", dryRun, deepUnknown()],
  ["a field twice", "POST", `${dryRun}&fieldValidation=Strict`, twice()],
  ["a field twice, warned of", "POST", dryRun, twice()],
  ["a field in another case", "POST", `${dryRun}&fieldValidation=Strict`, { ...map, Data: {} }],
  ["an unknown field validation", "POST", `${dryRun}&fieldValidation=Maybe`, map],
  ["an unknown field manager", "POST", `${dryRun}&fieldManager=${"m".repeat(200)}`, map],
  ["a generated name", "POST", dryRun, { ...map, metadata: { generateName: "thing-" } }],
  ["a long generated name", "POST", dryRun, { ...map, metadata: { generateName: longBase() } }],
  ["a malformed generated name", "POST", dryRun, { ...map, metadata: { generateName: "A_" } }],
  ["no name at all", "POST", dryRun, { ...map, metadata: {} }],
  ["an absent namespace", "POST", "/api/v1/namespaces/absent/configmaps", map],
  ["a list in an absent namespace", "GET", "/api/v1/namespaces/absent/configmaps"],
  ["an object in an absent namespace", "GET", "/api/v1/namespaces/absent/configmaps/a"],
  ["a malformed label selector", "GET", `${configMaps}?labelSelector=a%3D%3D%3Db`],
  ["a label selector with a bad operator", "GET", `${configMaps}?labelSelector=a%20near%20b`],
  ["a label selector with a bad key", "GET", `${configMaps}?labelSelector=A_%2F%3Db`],
  ["a label selector with a bad value", "GET", `${configMaps}?labelSelector=a%3Db%20c`],
  ["a field selector without a value", "GET", `${configMaps}?fieldSelector=metadata.name`],
  ["a field selector of an unknown field", "GET", `${configMaps}?fieldSelector=data.a%3Db`],
  [
    "a field selector of another namespace",
    "GET",
    `${configMaps}?fieldSelector=metadata.namespace%3Dx`,
  ],
  ["a limit that is no number", "GET", `${configMaps}?limit=many`],
  ["a negative limit", "GET", `${configMaps}?limit=-1&labelSelector=none%3Dsuch`],
  ["a resourceVersion that is no number", "GET", `${configMaps}?resourceVersion=new`],
  ["a match without a version", "GET", `${configMaps}?resourceVersionMatch=Exact`],
  ["an unknown match", "GET", `${configMaps}?resourceVersion=1&resourceVersionMatch=Some`],
  ["exactly version zero", "GET", `${configMaps}?resourceVersion=0&resourceVersionMatch=Exact`],
  ["a malformed continue token", "GET", `${configMaps}?limit=1&continue=abc`],
  [
    "a continue token with a version",
    "GET",
    `${configMaps}?limit=1&continue=abc&resourceVersion=5`,
  ],
  ["a timeout that is no number", "GET", `${configMaps}?watch=1&timeoutSeconds=long`],
  ["a watch flag that is no flag", "GET", `${configMaps}?watch=maybe&timeoutSeconds=1`],
  ["initial events without a match", "GET", `${configMaps}?watch=1&sendInitialEvents=true`],
  [
    "initial events without a watch",
    "GET",
    `${configMaps}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
  ],
  [
    "a match of a watch without initial events",
    "GET",
    `${configMaps}?watch=1&resourceVersionMatch=NotOlderThan`,
  ],
  ["no token", "GET", configMaps, undefined, { token: "" }],
  ["a wrong token", "GET", configMaps, undefined, { token: "wrong" }],
  ["a malformed token", "GET", configMaps, undefined, { headers: { authorization: "Basic x" } }],
  ["a user without rights", "GET", configMaps, undefined, { token: "other-token" }],
  ["a user without rights who writes", "POST", configMaps, map, { token: "other-token" }],
  [
    "a user without rights on an object",
    "GET",
    `${configMaps}/a`,
    undefined,
    { token: "other-token" },
  ],
  [
    "a user without rights on the cluster",
    "GET",
    "/api/v1/nodes",
    undefined,
    { token: "other-token" },
  ],
  ["a user without rights on a path", "GET", "/metrics", undefined, { token: "other-token" }],
  ["an answer nobody can give", "GET", configMaps, undefined, accept("text/plain")],
  [
    "an answer in anything",
    "GET",
    `${configMaps}?labelSelector=none%3Dsuch`,
    undefined,
    accept("*/*"),
  ],
  ["an answer in YAML", "GET", `${configMaps}/absent`, undefined, accept("application/yaml")],
  ["a deletion with unknown options", "DELETE", `${configMaps}/absent?propagationPolicy=Maybe`],
  ["a deletion with a bad grace period", "DELETE", `${configMaps}/absent?gracePeriodSeconds=soon`],
  [
    "a deletion with another kind",
    "DELETE",
    `${configMaps}/absent`,
    { kind: "ConfigMap", apiVersion: "v1" },
  ],
  ["a deletion with a broken body", "DELETE", `${configMaps}/absent`, "{"],
  [
    "a deletion that orphans twice",
    "DELETE",
    `${configMaps}/absent`,
    { propagationPolicy: "Orphan", orphanDependents: true },
  ],
  ["HEAD of a collection", "HEAD", configMaps],
  ["OPTIONS of a collection", "OPTIONS", configMaps],
  ["a query nobody knows", "GET", `${configMaps}?labelSelector=none%3Dsuch&what=ever`],
  ["an escaped name", "GET", `${configMaps}/a%2Fb`],
  ["a name with a percent sign", "GET", `${configMaps}/a%25b`],
];

export const requestCases: readonly ContractCase[] = single.map(
  ([name, method, path, body, options]) => ({
    area: "requests",
    name,
    run: async ({ call }: CaseWorld) => {
      await call(method, path, body, options);
    },
  }),
);

function accept(type: string): CallOptions {
  return { headers: { accept: type } };
}

function yaml(name: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  n: "1"\n`;
}

function deepUnknown(): object {
  return { ...map, metadata: { name: "thing", nothing: 1, labels: { a: "b" } }, other: { a: [1] } };
}

/** JSON with a key that stands twice; only text can have one. */
function twice(): string {
  return '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"thing"},"data":{"a":"1","a":"2"}}';
}

function longBase(): string {
  return "a".repeat(70);
}
