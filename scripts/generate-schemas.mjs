// Writes src/apiserver/kinds/schemas.json from what Kubernetes publishes: the OpenAPI v3
// documents (field names, types, list keys, merge keys) and the tags of the Go types (protobuf
// numbers, which zero values are left out). Only facts are taken, no prose. Needs Go once, to
// download the modules: `node scripts/generate-schemas.mjs`.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readGoTypes } from "./go-types.mjs";

const module = "k8s.io/kubernetes@v1.36.0";
const apiModule = "k8s.io/api@v0.36.0";
const machineryModule = "k8s.io/apimachinery@v0.36.0";
const extensionsModule = "k8s.io/apiextensions-apiserver@v0.36.0";

/** The documents to read, and the kinds of each that are served or spoken. */
const roots = {
  api__v1: [
    "authentication.v1.TokenRequest",
    "core.v1.Binding",
    "core.v1.ConfigMap",
    "core.v1.Endpoints",
    "core.v1.Event",
    "core.v1.Namespace",
    "core.v1.Node",
    "core.v1.Pod",
    "core.v1.ReplicationController",
    "core.v1.Secret",
    "core.v1.Service",
    "core.v1.ServiceAccount",
    "meta.v1.DeleteOptions",
    "meta.v1.Status",
    "policy.v1.Eviction",
  ],
  "apis__apiextensions.k8s.io__v1": ["apiextensions.v1.CustomResourceDefinition"],
  apis__apps__v1: [
    "apps.v1.DaemonSet",
    "apps.v1.Deployment",
    "apps.v1.ReplicaSet",
    "autoscaling.v1.Scale",
  ],
  "apis__authentication.k8s.io__v1": [
    "authentication.v1.SelfSubjectReview",
    "authentication.v1.TokenReview",
  ],
  "apis__authorization.k8s.io__v1": [
    "authorization.v1.LocalSubjectAccessReview",
    "authorization.v1.SelfSubjectAccessReview",
    "authorization.v1.SelfSubjectRulesReview",
    "authorization.v1.SubjectAccessReview",
  ],
  "apis__coordination.k8s.io__v1": ["coordination.v1.Lease"],
  "apis__discovery.k8s.io__v1": ["discovery.v1.EndpointSlice"],
  "apis__events.k8s.io__v1": ["events.v1.Event"],
  "apis__networking.k8s.io__v1": ["networking.v1.Ingress", "networking.v1.IngressClass"],
  apis__policy__v1: ["policy.v1.PodDisruptionBudget"],
  "apis__rbac.authorization.k8s.io__v1": [
    "rbac.v1.ClusterRole",
    "rbac.v1.ClusterRoleBinding",
    "rbac.v1.Role",
    "rbac.v1.RoleBinding",
  ],
};

/** Types that are one JSON value rather than an object with fields. */
const leaves = {
  "api.resource.Quantity": { type: "quantity" },
  "apiextensions.v1.JSON": { type: "json" },
  "apiextensions.v1.JSONSchemaPropsOrArray": { type: "json" },
  "apiextensions.v1.JSONSchemaPropsOrBool": { type: "json" },
  "apiextensions.v1.JSONSchemaPropsOrStringArray": { type: "json" },
  "apiextensions.v1.CustomResourceSubresourceStatus": { type: "json" },
  "meta.v1.FieldsV1": { type: "json" },
  "meta.v1.MicroTime": { type: "microTime" },
  "meta.v1.Time": { type: "time" },
  "runtime.RawExtension": { type: "json" },
  "util.intstr.IntOrString": { type: "intOrString" },
};

/** Go leaves their zero values out when the tag says omitempty; structs it always writes. */
const omittable = ["array", "boolean", "bytes", "int32", "int64", "map", "number", "string"];

/** Types that Go encodes as null without a value, though they are no pointers. */
const nullable = ["array", "bytes", "json", "map", "microTime", "time"];

const table = {};
const goTypes = new Map();
const apiDirectory = downloadModule(apiModule);
const machineryDirectory = downloadModule(machineryModule);
const extensionsDirectory = downloadModule(extensionsModule);
const specificationDirectory = join(downloadModule(module), "api/openapi-spec/v3");
for (const [document, names] of Object.entries(roots)) {
  const path = join(specificationDirectory, `${document}_openapi.json`);
  const definitions = new Map(
    Object.entries(JSON.parse(readFileSync(path, "utf8")).components.schemas).map(
      ([name, definition]) => [shortName(name), definition],
    ),
  );
  for (const name of names) {
    addType(name, definitions);
  }
}
const target = fileURLToPath(new URL("../src/apiserver/kinds/schemas.json", import.meta.url));
writeFileSync(target, render(table));
process.stdout.write(`${Object.keys(table).length} types written to ${target}\n`);

function downloadModule(name) {
  const answer = execFileSync("go", ["mod", "download", "-json", name], { encoding: "utf8" });
  return JSON.parse(answer).Dir;
}

/** `io.k8s.api.core.v1.Pod` → `core.v1.Pod`. */
function shortName(name) {
  return name
    .replace(/^.*\/schemas\//, "")
    .replace(
      /^io\.k8s\.(apimachinery\.pkg\.apis|apimachinery\.pkg|apiextensions-apiserver\.pkg\.apis|api)\./,
      "",
    );
}

function addType(name, definitions) {
  if (name in table || name in leaves) {
    return;
  }
  const definition = definitions.get(name);
  if (definition?.properties === undefined) {
    throw new Error(`${name} is not an object with fields: ${JSON.stringify(definition)}`);
  }
  const fields = {};
  table[name] = { fields };
  const tags = goFields(name);
  for (const [field, property] of Object.entries(definition.properties)) {
    const schema = convert(property, definitions);
    const tag = tags.get(field);
    fields[field] = {
      ...schema,
      ...(tag === undefined || tag.proto.length === 0 ? {} : { proto: tag.proto }),
      ...(tag?.omitsZero && omittable.includes(schema.type) ? { omitZero: true } : {}),
      ...whenAbsent(tag, schema),
    };
  }
  if (name === "meta.v1.ObjectMeta") {
    // An empty list is not the same as none: it resets who owns the fields.
    delete fields.managedFields.omitZero;
  }
  if (definition.required !== undefined) {
    table[name].required = definition.required;
  }
  if (definition["x-kubernetes-map-type"] === "atomic") {
    table[name].atomic = true;
  }
}

/** Go's value for an unset field: structs always, others unless tagged. */
function whenAbsent(tag, schema) {
  if (tag === undefined || tag.isOmittedWhenZero) {
    return {};
  }
  if (tag.isOptional && (tag.isPointer || omittable.includes(schema.type))) {
    return {};
  }
  const isNull = tag.isPointer || nullable.includes(schema.type);
  return { whenAbsent: isNull ? "null" : "zero" };
}

/** The tags of a type's fields, by their JSON names. */
function goFields(name) {
  const [group, version, type] = name.split(".");
  const directory = goDirectory(group, version);
  if (!goTypes.has(directory)) {
    const files = ["types.go", "types_jsonschema.go"].map((file) => join(directory, file));
    const source = files.filter(existsSync).map((file) => readFileSync(file, "utf8"));
    goTypes.set(directory, readGoTypes(source.join("\n")));
  }
  return goTypes.get(directory)(type);
}

function goDirectory(group, version) {
  switch (group) {
    case "meta":
      return join(machineryDirectory, "pkg/apis/meta", version);
    case "apiextensions":
      return join(extensionsDirectory, "pkg/apis/apiextensions", version);
    default:
      return join(apiDirectory, group, version);
  }
}

function convert(property, definitions) {
  const schema = convertValue(property, definitions);
  const strategy = property["x-kubernetes-patch-strategy"];
  const isMeaningfulDefault = !["", 0, false, undefined].includes(property.default);
  return {
    ...schema,
    ...(strategy === undefined ? {} : { patchStrategy: strategy.split(",") }),
    ...(isMeaningfulDefault && typeof property.default !== "object"
      ? { default: property.default }
      : {}),
  };
}

function convertValue(property, definitions) {
  const reference = property.$ref ?? property.allOf?.[0]?.$ref;
  if (reference !== undefined) {
    const name = shortName(reference);
    addType(name, definitions);
    return leaves[name] ?? { type: "ref", to: name };
  }
  switch (property.type) {
    case "array":
      return convertArray(property, definitions);
    case "object":
      return property.additionalProperties === undefined
        ? { type: "json" }
        : {
            type: "map",
            of: convert(property.additionalProperties, definitions),
            ...(property["x-kubernetes-map-type"] === "atomic" ? { atomic: true } : {}),
          };
    case "string":
      return { type: property.format === "byte" ? "bytes" : "string" };
    case "integer":
      return { type: property.format ?? "int64" };
    case "number":
    case "boolean":
      return { type: property.type };
    default:
      throw new Error(`unknown property: ${JSON.stringify(property)}`);
  }
}

function convertArray(property, definitions) {
  const optional = {
    listType: property["x-kubernetes-list-type"],
    mapKeys: property["x-kubernetes-list-map-keys"],
    mergeKey: property["x-kubernetes-patch-merge-key"],
  };
  return {
    type: "array",
    of: convert(property.items, definitions),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  };
}

/** JSON with one line a field, so that a difference between two versions can be read. */
function render(types) {
  const rendered = Object.keys(types)
    .sort()
    .map((name) => `    ${JSON.stringify(name)}: ${renderType(types[name])}`);
  return `{\n  "madeFrom": ${JSON.stringify(module)},\n  "types": {\n${rendered.join(",\n")}\n  }\n}\n`;
}

function renderType({ fields, required, atomic }) {
  const lines = Object.entries(fields).map(
    ([field, schema]) => `        ${JSON.stringify(field)}: ${JSON.stringify(schema)}`,
  );
  return [
    "{\n",
    required === undefined ? "" : `      "required": ${JSON.stringify(required)},\n`,
    atomic ? '      "atomic": true,\n' : "",
    lines.length === 0
      ? '      "fields": {}\n'
      : `      "fields": {\n${lines.join(",\n")}\n      }\n`,
    "    }",
  ].join("");
}
