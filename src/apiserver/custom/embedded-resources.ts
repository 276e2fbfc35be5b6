// Objects inside objects (`x-kubernetes-embedded-resource`). Each needs a kind and a version. Its
// metadata is pruned and validated like that of any object.
import { conform } from "../decode/conform.ts";
import { SchemaTypeError } from "../decode/schema-type-error.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { dns1035Label } from "../kinds/names.ts";
import { validateMeta } from "../kinds/object-meta.ts";
import type { KubeObject } from "../kube-object.ts";
import { childPath, keyPath } from "./field-paths.ts";
import { fieldSchema, type JsonSchema } from "./json-schema.ts";

/** Removes unknown fields from the metadata of embedded objects, and returns their paths. */
export function cleanEmbedded(value: unknown, schema: JsonSchema): readonly string[] {
  const unknown: string[] = [];
  visitEmbedded(value, schema, "", (object, path) => {
    if (object["metadata"] === undefined) return;
    const place = childPath(path, "metadata");
    const { value: metadata, unknownFields } = conform("meta.v1.ObjectMeta", object["metadata"]);
    unknown.push(...unknownFields.map((field) => childPath(place, field)));
    object["metadata"] = metadata;
  });
  return unknown;
}

export function checkEmbedded(value: unknown, schema: JsonSchema, errors: FieldErrors): void {
  visitEmbedded(value, schema, "", (object, path) => {
    checkApiVersion(object["apiVersion"], childPath(path, "apiVersion"), errors);
    checkKind(object["kind"], childPath(path, "kind"), errors);
    checkMetadata(object["metadata"], childPath(path, "metadata"), errors);
  });
}

function visitEmbedded(
  value: unknown,
  schema: JsonSchema | undefined,
  path: string,
  visit: (object: JsonObject, path: string) => void,
): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      visitEmbedded(item, schema.items, keyPath(path, index), visit);
    }
  } else if (isJsonObject(value)) {
    if (schema.isEmbeddedResource) visit(value, path);
    for (const [field, own] of Object.entries(value)) {
      const isNamed = schema.properties.has(field);
      const place = isNamed ? childPath(path, field) : keyPath(path, field);
      visitEmbedded(own, fieldSchema(schema, field), place, visit);
    }
  }
}

function checkApiVersion(value: unknown, path: string, errors: FieldErrors): void {
  if (value === undefined) errors.required(path);
  else if (typeof value !== "string") errors.invalid(path, value, "must be a string");
  else if (value === "") errors.invalid(path, value, "must not be empty");
  else if (value.split("/").length > 2) {
    errors.invalid(path, value, `unexpected GroupVersion string: ${value}`);
  }
}

function checkKind(value: unknown, path: string, errors: FieldErrors): void {
  if (value === undefined) errors.required(path);
  else if (typeof value !== "string") errors.invalid(path, value, "must be a string");
  else if (value === "") errors.invalid(path, value, "must not be empty");
  else {
    const problems = dns1035Label(value.toLowerCase());
    const rule = "may have mixed case, but should otherwise match: ";
    if (problems.length > 0) errors.invalid(path, value, `${rule}${problems.join(",")}`);
  }
}

/** The rule for names of its kind is not known here, so any name is accepted. */
function checkMetadata(value: unknown, path: string, errors: FieldErrors): void {
  if (value === undefined) return;
  try {
    const { value: metadata } = conform("meta.v1.ObjectMeta", value);
    const namespace = metadata["namespace"];
    const embedded: KubeObject = {
      apiVersion: "v1",
      kind: "Embedded",
      metadata: {
        ...metadata,
        name: typeof metadata["name"] === "string" ? metadata["name"] : "x",
      },
    };
    const namespaced = typeof namespace === "string" && namespace !== "";
    const own = new FieldErrors();
    validateMeta(embedded, { namespaced, name: pathSegment }, own);
    errors.include(own.causes, path.slice(0, -"metadata".length));
  } catch (error) {
    if (!(error instanceof SchemaTypeError)) throw error;
    errors.invalid(path, value, error.message);
  }
}

function pathSegment(name: string): readonly string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"]
    .filter((mark) => name.includes(mark))
    .map((mark) => `may not contain '${mark}'`);
}
