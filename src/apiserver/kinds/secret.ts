// Secrets: data like that of ConfigMaps, with required keys by type.
import { jsonSyntaxProblem } from "../decode/json-scanner.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  textColumn,
} from "../tables/columns.ts";
import {
  dataMaxBytes,
  decodedBytes,
  entriesOf,
  validateFrozen,
  validateKeys,
} from "./config-map.ts";
import type { FieldErrors } from "./field-errors.ts";
import { ensureObject, objectAt, setDefaults, setField, textAt, textMapAt } from "./fields.ts";
import { validateImmutable } from "./object-meta.ts";
import { defineKind } from "./resource-kind.ts";

const secretColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Type", "What it is used for."),
    textColumn("Data", "How many entries it has."),
    ageColumn,
  ],
  cells: (secret, now) => [
    nameOf(secret),
    textAt(secret, "type"),
    entriesOf(secret, "data"),
    ageOf(secret, now),
  ],
};

export const secretKind = defineKind({
  kind: "Secret",
  resource: "secrets",
  namespaced: true,
  schema: "core.v1.Secret",
  columns: secretColumns,
  selectableFields: { type: (secret) => textAt(secret, "type") },
  setDefaults(secret) {
    setDefaults(secret, { type: "Opaque" });
    const plain = objectAt(secret, "stringData");
    if (plain !== undefined) {
      const data = ensureObject(secret, "data");
      for (const [key, value] of Object.entries(textMapAt(plain))) {
        setField(data, key, Buffer.from(value, "utf8").toString("base64"));
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
    if (textAt(secret, "type") === serviceAccountTokenType) {
      const named = secret.metadata.annotations?.[accountAnnotation] ?? "";
      if (named === "") errors.required(`metadata.annotations[${accountAnnotation}]`);
    }
    validateSecretType(secret, data, errors);
  },
  validateUpdate(secret, current, errors) {
    validateImmutable("type", secret["type"], current["type"], errors);
    validateFrozen(secret, current, ["data"], errors);
  },
});

const serviceAccountTokenType = "kubernetes.io/service-account-token";

const accountAnnotation = "kubernetes.io/service-account.name";

const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
};

/** Their content is JSON that a container runtime reads. */
const registryFiles = [".dockerconfigjson", ".dockercfg"];

function validateSecretType(
  secret: KubeObject,
  data: Readonly<Record<string, string>>,
  errors: FieldErrors,
): void {
  const type = textAt(secret, "type");
  if (type === "kubernetes.io/basic-auth" && !("username" in data) && !("password" in data)) {
    errors.required("data[username]");
    errors.required("data[password]");
  }
  const required = Object.hasOwn(requiredKeys, type) ? requiredKeys[type] : undefined;
  for (const key of required ?? []) {
    const value = data[key];
    if (value === undefined) {
      errors.required(`data[${key}]`);
    } else if (registryFiles.includes(key)) {
      validateJson(`data[${key}]`, value, errors);
    }
  }
}

function validateJson(field: string, value: string, errors: FieldErrors): void {
  const text = Buffer.from(value, "base64").toString("utf8");
  try {
    JSON.parse(text);
  } catch {
    errors.invalid(field, "<secret contents redacted>", jsonSyntaxProblem(text));
  }
}
