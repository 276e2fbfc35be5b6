// ConfigMaps and Secrets: maps of data with a size bound, which may be frozen.

import { sameJson } from "../../same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import { ensureObject, objectAt, setDefaults, textAt, textMapAt } from "./fields.ts";
import { configKey } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import { defineKind } from "./resource-kind.ts";

/** All values together, as in Kubernetes: etcd's own limit is little more. */
const dataMaxBytes = 1024 * 1024;

export const configMapKind = defineKind({
  kind: "ConfigMap",
  resource: "configmaps",
  shortNames: ["cm"],
  namespaced: true,
  schema: "core.v1.ConfigMap",
  validate(configMap, errors) {
    const data = textMapAt(configMap, "data");
    const binary = textMapAt(configMap, "binaryData");
    validateKeys("data", Object.keys(data), errors);
    validateKeys("binaryData", Object.keys(binary), errors);
    for (const key of Object.keys(data).filter((key) => key in binary)) {
      errors.invalid(`data[${key}]`, key, "duplicate of key present in binaryData");
    }
    if (textBytes(data) + decodedBytes(binary) > dataMaxBytes) {
      errors.tooLong("", dataMaxBytes);
    }
  },
  validateUpdate(configMap, current, errors) {
    validateFrozen(configMap, current, ["data", "binaryData"], errors);
  },
});

export const secretKind = defineKind({
  kind: "Secret",
  resource: "secrets",
  namespaced: true,
  schema: "core.v1.Secret",
  selectableFields: { type: (secret) => textAt(secret, "type") },
  setDefaults(secret) {
    setDefaults(secret, { type: "Opaque" });
    const plain = objectAt(secret, "stringData");
    if (plain !== undefined) {
      const data = ensureObject(secret, "data");
      for (const [key, value] of Object.entries(textMapAt(plain))) {
        data[key] = Buffer.from(value, "utf8").toString("base64");
      }
      delete secret["stringData"];
    }
  },
  validate(secret, errors) {
    const data = textMapAt(secret, "data");
    validateKeys("data", Object.keys(data), errors);
    if (decodedBytes(data) > dataMaxBytes) {
      errors.tooLong("data", dataMaxBytes);
    }
    for (const key of requiredKeys[textAt(secret, "type")] ?? []) {
      if (!(key in data)) {
        errors.required(`data[${key}]`);
      }
    }
  },
  validateUpdate(secret, current, errors) {
    validateImmutable("type", secret["type"], current["type"], errors);
    validateFrozen(secret, current, ["data"], errors);
  },
});

const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/dockercfg": [".dockercfg"],
};

function validateKeys(field: string, keys: readonly string[], errors: FieldErrors): void {
  for (const key of keys) {
    errors.invalidForEach(`${field}[${key}]`, key, configKey(key));
  }
}

function validateFrozen(
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

function decodedBytes(data: Readonly<Record<string, string>>): number {
  return Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, "base64"), 0);
}
