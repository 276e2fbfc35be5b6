// The rules of a pod's volumes: names, one source each, and what the common sources need. Sources
// that no part of the lab can provide are only checked against the schema.
import { FieldErrors } from "./field-errors.ts";
import { isJsonObject, type JsonObject, numberAt, objectsAt, textAt } from "./fields.ts";
import { dnsLabel } from "./names.ts";

const modeMax = 0o777;
const modeMessage = "must be a number between 0 and 0777 (octal), both inclusive";

/** The names of the volumes in which nothing is wrong: only those can be mounted. */
export function validateVolumes(
  volumes: readonly JsonObject[],
  path: string,
  errors: FieldErrors,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    const own = new FieldErrors();
    validateSources(volume, at, own);
    const name = textAt(volume, "name");
    if (name === "") {
      own.required(`${at}.name`);
    } else {
      own.invalidForEach(`${at}.name`, name, dnsLabel(name));
    }
    if (names.has(name)) {
      own.duplicate(`${at}.name`, name);
    }
    if (own.causes.length === 0) {
      names.add(name);
    }
    errors.include(own.causes);
  }
  return names;
}

/** The key of a ConfigMap or Secret as a file below the mount. */
export function validateLocalPath(path: string, text: string, errors: FieldErrors): void {
  if (text.startsWith("/")) {
    errors.invalid(path, text, "must be a relative path");
  }
  if (text.split("/").includes("..")) {
    errors.invalid(path, text, "must not contain '..'");
  }
}

function validateSources(volume: JsonObject, path: string, errors: FieldErrors): void {
  const sources = Object.keys(volume).filter((field) => isJsonObject(volume[field]));
  for (const extra of sources.slice(1)) {
    errors.forbidden(`${path}.${extra}`, "may not specify more than 1 volume type");
  }
  const [source = ""] = sources;
  const value = volume[source];
  if (isJsonObject(value)) {
    sourceRules[source]?.(value, `${path}.${source}`, errors);
  }
}

type SourceRule = (source: JsonObject, path: string, errors: FieldErrors) => void;

const sourceRules: Readonly<Record<string, SourceRule>> = {
  configMap(source, path, errors) {
    requireText(source, "name", path, errors);
    validateFiles(source, path, errors);
  },
  secret(source, path, errors) {
    requireText(source, "secretName", path, errors);
    validateFiles(source, path, errors);
  },
  hostPath(source, path, errors) {
    requireText(source, "path", path, errors);
  },
  persistentVolumeClaim(source, path, errors) {
    requireText(source, "claimName", path, errors);
  },
};

function requireText(source: JsonObject, field: string, path: string, errors: FieldErrors): void {
  if (textAt(source, field) === "") {
    errors.required(`${path}.${field}`);
  }
}

function validateFiles(source: JsonObject, path: string, errors: FieldErrors): void {
  validateMode(source, "defaultMode", path, errors);
  for (const [index, item] of objectsAt(source, "items").entries()) {
    const at = `${path}.items[${index}]`;
    requireText(item, "key", at, errors);
    requireText(item, "path", at, errors);
    validateLocalPath(`${at}.path`, textAt(item, "path"), errors);
    validateMode(item, "mode", at, errors);
  }
}

function validateMode(source: JsonObject, field: string, path: string, errors: FieldErrors): void {
  const mode = numberAt(source, field) ?? 0;
  if (mode < 0 || mode > modeMax) {
    errors.invalid(`${path}.${field}`, mode, modeMessage);
  }
}
