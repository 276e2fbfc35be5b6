// The keywords that say how lists and maps merge: `x-kubernetes-list-type`, its keys, and
// `x-kubernetes-map-type`.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { childPath, keyPath } from "./field-path.ts";
import type { JsonSchema } from "./json-schema.ts";

export function checkMapKeywords(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { mapType } = schema;
  if (mapType === "") return;
  requireType(schema, "object", "x-kubernetes-map-type", path, errors);
  if (!["atomic", "granular"].includes(mapType)) {
    const place = childPath(path, "x-kubernetes-map-type");
    errors.notSupported(place, mapType, ["atomic", "granular"]);
  }
}

export function checkListKeywords(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { listType, listMapKeys, items } = schema;
  const typePath = childPath(path, "x-kubernetes-list-type");
  if (listType !== "") {
    requireType(schema, "array", "x-kubernetes-list-type", path, errors);
    if (schema.type === "array" && listType === "set") checkSetItems(items, path, errors);
    if (!["atomic", "set", "map"].includes(listType)) {
      errors.notSupported(typePath, listType, ["atomic", "set", "map"]);
    }
  }
  if (listMapKeys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    if (listType === "") errors.required(typePath, detail);
    else errors.invalid(typePath, listType, detail);
  }
  if (listType === "map") checkListMap(schema, path, errors);
  if (listType === "map" || listType === "set") checkNullable(schema, path, errors);
}

function requireType(
  { type }: JsonSchema,
  expected: string,
  keyword: string,
  path: string,
  errors: FieldErrors,
): void {
  if (type === expected) return;
  const detail = `must be ${expected} if ${keyword} is specified`;
  if (type === "") errors.required(childPath(path, "type"), detail);
  else errors.invalid(childPath(path, "type"), type, detail);
}

/** What is in a set is compared as a whole. */
function checkSetItems(items: JsonSchema | undefined, path: string, errors: FieldErrors): void {
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const place = childPath(path, "items");
  if (items?.type === "array" && !["", "atomic"].includes(items.listType)) {
    errors.invalid(childPath(place, "x-kubernetes-list-type"), items.listType, detail);
  }
  if (items?.type === "object" && items.mapType !== "atomic") {
    errors.invalid(childPath(place, "x-kubernetes-map-type"), items.listType || null, detail);
  }
}

function checkListMap(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { listMapKeys, items } = schema;
  const keysPath = childPath(path, "x-kubernetes-list-map-keys");
  const itemsPath = childPath(path, "items");
  if (listMapKeys.length === 0) {
    errors.required(keysPath, "must not be empty if x-kubernetes-list-type is map");
  }
  if (items === undefined) {
    errors.required(itemsPath, "must have a schema if x-kubernetes-list-type is map");
    return;
  }
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    errors.invalid(childPath(itemsPath, "type"), items.type, detail);
    return;
  }
  for (const [index, key] of listMapKeys.entries()) {
    const property = items.properties.get(key);
    if (property === undefined) {
      errors.invalid(keysPath, listMapKeys, "entries must all be names of item properties");
    } else if (property.type === "array" || property.type === "object") {
      const place = childPath(keyPath(childPath(itemsPath, "properties"), key), "type");
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.invalid(place, items.type, detail);
    }
    if (listMapKeys.indexOf(key) < index) {
      errors.invalid(keysPath, listMapKeys, "must not contain duplicate entries");
    }
  }
}

function checkNullable(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { items, listType, listMapKeys } = schema;
  if (items === undefined) return;
  const place = childPath(path, "items");
  if (items.nullable) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    errors.forbidden(childPath(place, "nullable"), detail);
  }
  if (listType !== "map") return;
  for (const key of listMapKeys) {
    const property = items.properties.get(key);
    if (property === undefined) continue;
    const own = keyPath(childPath(place, "properties"), key);
    const reason = "this property is in x-kubernetes-list-map-keys, so it";
    if (!items.required.includes(key) && property.default === undefined) {
      const detail = `${reason} must have a default or be a required property`;
      errors.required(childPath(own, "default"), detail);
    }
    if (property.nullable)
      errors.forbidden(childPath(own, "nullable"), `${reason} cannot be nullable`);
  }
}
