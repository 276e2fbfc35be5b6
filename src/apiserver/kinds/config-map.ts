// ConfigMaps: maps of data with a size bound, which may be immutable. Secrets share these rules.
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, objectAt, textMapAt } from "./fields.ts";
import { configKey } from "./names.ts";
import { defineKind } from "./resource-kind.ts";

const configMapColumns: KindColumns = {
  columns: [nameColumn, textColumn("Data", "How many entries it has."), ageColumn],
  cells: (map, now) => [
    nameOf(map),
    entriesOf(map, "data") + entriesOf(map, "binaryData"),
    ageOf(map, now),
  ],
};

/** All values together, as in Kubernetes: etcd's own limit is little more. */
export const dataMaxBytes = 1024 * 1024;

export const configMapKind = defineKind({
  kind: "ConfigMap",
  resource: "configmaps",
  shortNames: ["cm"],
  namespaced: true,
  schema: "core.v1.ConfigMap",
  columns: configMapColumns,
  validate(configMap, errors) {
    const data = textMapAt(configMap, "data");
    const binary = textMapAt(configMap, "binaryData");
    validateKeys("data", Object.keys(data), errors);
    validateKeys("binaryData", Object.keys(binary), errors);
    for (const key of Object.keys(data).filter((key) => Object.hasOwn(binary, key))) {
      errors.invalid(`data[${key}]`, key, "duplicate of key present in binaryData");
    }
    if (textBytes(data) + decodedBytes(binary) > dataMaxBytes) {
      errors.tooLong("[]", dataMaxBytes);
    }
  },
  validateUpdate(configMap, current, errors) {
    validateFrozen(configMap, current, ["data", "binaryData"], errors);
  },
});

export function validateKeys(field: string, keys: readonly string[], errors: FieldErrors): void {
  for (const key of keys) {
    errors.invalidForEach(`${field}[${key}]`, key, configKey(key));
  }
}

export function validateFrozen(
  object: KubeObject,
  current: KubeObject,
  fields: readonly string[],
  errors: FieldErrors,
): void {
  if (current["immutable"] !== true) {
    return;
  }
  for (const field of ["immutable", ...fields]) {
    if (!sameJson(object[field], current[field])) {
      errors.forbidden(field, "field is immutable when `immutable` is set");
    }
  }
}

function textBytes(data: Readonly<Record<string, string>>): number {
  return Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
}

export function decodedBytes(data: Readonly<Record<string, string>>): number {
  return Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, "base64"), 0);
}

export function entriesOf(object: JsonObject, field: string): number {
  return Object.keys(objectAt(object, field) ?? {}).length;
}
