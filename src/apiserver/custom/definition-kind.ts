// The kind CustomResourceDefinition. The server writes its status: accepted names, whether objects are
// served, and the versions in which objects have been stored.
import { conform } from "../decode/conform.ts";
import {
  ensureObject,
  isJsonObject,
  type JsonObject,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
  textsAt,
} from "../kinds/fields.ts";
import {
  bumpGenerationIfChanged,
  defineKind,
  keepAllButStatus,
  startGeneration,
} from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { cleanupFinalizer, versionsOf, withCondition } from "./definition.ts";
import { checkDefinition } from "./definition-validation.ts";
import { isKnownFormat } from "./formats.ts";
import { type JsonSchema, readSchema, someSchema } from "./json-schema.ts";

export const customResourceDefinitionKind = defineKind({
  group: "apiextensions.k8s.io",
  kind: "CustomResourceDefinition",
  resource: "customresourcedefinitions",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  schema: "apiextensions.v1.CustomResourceDefinition",
  subresources: ["status"],
  prefix: "/registry/apiextensions.k8s.io/customresourcedefinitions/",
  unconditionalUpdate: false,
  returnsDeleted: true,
  setDefaults(definition) {
    const spec = ensureObject(definition, "spec");
    const names = ensureObject(spec, "names");
    const kind = textAt(names, "kind");
    setDefaults(names, { singular: kind.toLowerCase() });
    if (kind !== "") setDefaults(names, { listKind: `${kind}List` });
    setDefaults(spec, { conversion: { strategy: "None" } });
    const service = objectAt(spec, "conversion", "webhook", "clientConfig", "service");
    if (service !== undefined) setDefaults(service, { port: 443 });
  },
  prepareCreate(definition) {
    startGeneration(definition);
    definition["status"] = { acceptedNames: { kind: "", plural: "" }, storedVersions: [] };
    noteStoredVersion(definition);
  },
  prepareUpdate(definition, current) {
    definition["status"] = current["status"];
    bumpGenerationIfChanged(definition, current, ["spec"]);
    noteStoredVersion(definition);
  },
  prepareStatusUpdate: keepAllButStatus,
  validateNew(definition, errors) {
    checkDefinition(definition, undefined, errors);
  },
  validateUpdate(definition, current, errors) {
    checkDefinition(definition, current, errors);
  },
  validateStatus() {
    // Clients with the permission to write the status are trusted.
  },
  warnings(definition) {
    const schemas = versionsOf(definition).flatMap(({ schema }) => (schema ? [schema] : []));
    const formats = schemas.flatMap((schema) => unknownFormats(readSchema(schema)));
    return [...new Set(formats)].map((format) => `unrecognized format ${JSON.stringify(format)}`);
  },
  canonicalize(definition) {
    for (const version of objectsAt(definition, "spec", "versions")) {
      const schema = objectAt(version, "schema", "openAPIV3Schema");
      if (schema !== undefined) conformSchema(schema);
    }
  },
  /** A finalizer keeps it until its objects are deleted. */
  markDeleted(definition, now) {
    const { finalizers = [] } = definition.metadata;
    const held = finalizers.includes(cleanupFinalizer)
      ? finalizers
      : [...finalizers, cleanupFinalizer];
    const metadata = { ...definition.metadata, deletionTimestamp: now, finalizers: held };
    const pending = {
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionPending",
      message:
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    };
    return withCondition({ ...definition, metadata }, pending, now);
  },
});

/** Adds the storage version to the versions in which objects have been stored. */
function noteStoredVersion(definition: KubeObject): void {
  const storage = versionsOf(definition).find((version) => version.isStorage);
  const stored = textsAt(definition, "status", "storedVersions");
  if (storage === undefined || stored.includes(storage.name)) return;
  const status = objectAt(definition, "status") ?? {};
  definition["status"] = { ...status, storedVersions: [...stored, storage.name] };
}

/** The table of schemas has only `json` in some places that hold a schema. */
function conformSchema(schema: JsonObject): void {
  for (const keyword of ["items", "additionalProperties"]) {
    const inner = schema[keyword];
    if (isJsonObject(inner)) {
      schema[keyword] = conform("apiextensions.v1.JSONSchemaProps", inner).value;
    }
  }
  for (const inner of schemasIn(schema)) conformSchema(inner);
}

function schemasIn(schema: JsonObject): readonly JsonObject[] {
  const single = ["items", "additionalProperties", "not"].map((keyword) => schema[keyword]);
  const listed = ["allOf", "anyOf", "oneOf"].flatMap((keyword) => objectsAt(schema, keyword));
  const named = Object.values(objectAt(schema, "properties") ?? {});
  return [...single, ...listed, ...named].filter(isJsonObject);
}

function unknownFormats(schema: JsonSchema): readonly string[] {
  const found: string[] = [];
  someSchema(schema, (one) => {
    if (one.format !== "" && !isKnownFormat(one)) found.push(one.format);
    return false;
  });
  return found;
}
