// Validates a CustomResourceDefinition: group, names, versions and conversion. Parts that all versions
// have in common are reported at the top of the spec (`spec.validation`), as in Kubernetes; others at
// their version.

import { isDeepStrictEqual } from "node:util";
import { FieldErrors } from "../kinds/field-errors.ts";
import { type JsonObject, objectAt, textAt, textsAt, valueAt } from "../kinds/fields.ts";
import { dns1035Label, dnsSubdomain } from "../kinds/names.ts";
import { validateImmutable } from "../kinds/object-meta.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  acceptedNames,
  approvalProblem,
  type DefinitionNames,
  type DefinitionVersion,
  groupOf,
  isTrue,
  requestedNames,
  versionsOf,
} from "./definition.ts";
import { childPath, followPath, keyPath } from "./field-paths.ts";
import { runes } from "./go-texts.ts";
import { shownSchema, shownVersion } from "./internal-form.ts";
import { type JsonSchema, readSchema } from "./json-schema.ts";
import { ruleTypesOf } from "./rules.ts";
import { checkDefaults, checkSchema, unsupportedKeyword } from "./schema-validation.ts";
import { checkStructural } from "./structural-schema.ts";

export function checkDefinition(
  definition: KubeObject,
  current: KubeObject | undefined,
  errors: FieldErrors,
): void {
  const names = requestedNames(definition);
  if (definition.metadata.name !== `${names.plural}.${groupOf(definition)}`) {
    const detail = 'must be spec.names.plural+"."+spec.group';
    errors.invalid("metadata.name", definition.metadata.name, detail);
  }
  checkGroup(groupOf(definition), errors);
  errors.oneOf("spec.scope", textAt(definition, "spec", "scope"), ["Cluster", "Namespaced"]);
  checkVersions(definition, current, errors);
  checkVersionList(definition, errors);
  for (const name of ["plural", "singular", "kind", "listKind"] as const) {
    if (names[name] === "") errors.required(`spec.names.${name}`);
  }
  checkNames(names, "spec.names", errors);
  checkConversion(definition, errors);
  if (current !== undefined) checkImmutable(definition, current, errors);
  checkNames(acceptedNames(definition), "status.acceptedNames", errors);
  checkStoredVersions(definition, errors);
  const problem = approvalProblem(definition, current);
  if (problem !== undefined) errors.include([problem]);
  if (valueAt(definition, "spec", "preserveUnknownFields") === true) {
    const detail =
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    errors.invalid("spec.preserveUnknownFields", true, detail);
  }
}

function checkGroup(group: string, errors: FieldErrors): void {
  const problems = group === "" ? [] : dnsSubdomain(group);
  if (group === "") errors.required("spec.group");
  else if (problems.length > 0) errors.invalid("spec.group", group, problems.join(","));
  else if (!group.includes(".")) {
    errors.invalid("spec.group", group, "should be a domain with at least one dot");
  }
}

function checkVersionList(definition: KubeObject, errors: FieldErrors): void {
  const versions = versionsOf(definition);
  const names = versions.map((version) => version.name);
  const shared = sharedParts(versions);
  const shown = versions.map((version) => shownVersion(version, shared));
  const problems = versions[0] === undefined ? [] : dns1035Label(versions[0].name);
  if (problems.length > 0) errors.invalid("spec.version", names[0], problems.join(","));
  if (new Set(names).size < names.length) {
    errors.invalid("spec.versions", shown, "must contain unique version names");
  }
  if (versions.filter((version) => version.isStorage).length !== 1) {
    const detail = "must have exactly one version marked as storage version";
    errors.invalid("spec.versions", shown, detail);
  }
}

function checkNames(names: DefinitionNames, path: string, errors: FieldErrors): void {
  const check = (field: string, name: string, rule = "") => {
    const problems = name === "" ? [] : dns1035Label(rule === "" ? name : name.toLowerCase());
    if (problems.length > 0) {
      errors.invalid(childPath(path, field), name, `${rule}${problems.join(",")}`);
    }
  };
  const mixed = "may have mixed case, but should otherwise match: ";
  check("plural", names.plural);
  check("singular", names.singular);
  check("kind", names.kind, mixed);
  check("listKind", names.listKind, mixed);
  for (const [index, name] of names.shortNames.entries()) check(keyPath("shortNames", index), name);
  if (names.kind !== "" && names.kind === names.listKind) {
    const detail = "kind and listKind may not be the same";
    errors.invalid(childPath(path, "listKind"), names.listKind, detail);
  }
  for (const [index, name] of names.categories.entries()) check(keyPath("categories", index), name);
}

/** The path of objects in storage depends on these. */
function checkImmutable(definition: KubeObject, current: KubeObject, errors: FieldErrors): void {
  const fields = isTrue(current, "Established")
    ? ["scope", "names.kind", "group", "names.plural"]
    : ["group", "names.plural"];
  for (const field of fields) {
    const read = (object: KubeObject) => textAt(object, "spec", ...field.split("."));
    validateImmutable(`spec.${field}`, read(definition), read(current), errors);
  }
}

function checkStoredVersions(definition: KubeObject, errors: FieldErrors): void {
  const path = "status.storedVersions";
  const stored = textsAt(definition, "status", "storedVersions");
  if (stored.length === 0) {
    errors.invalid(path, null, "must have at least one stored version");
    return;
  }
  const versions = versionsOf(definition);
  for (const { name, isStorage } of versions) {
    if (isStorage && !stored.includes(name)) {
      errors.invalid(path, stored, `must have the storage version ${name}`);
    }
  }
  for (const [index, name] of stored.entries()) {
    if (versions.some((version) => version.name === name)) continue;
    errors.invalid(
      keyPath(path, index),
      name,
      `missing from spec.versions; ${name} was previously a storage version, and must remain in ` +
        "spec.versions until a storage migration ensures no data remains persisted in " +
        `${name} and removes ${name} from status.storedVersions`,
    );
  }
}

function checkVersions(
  definition: KubeObject,
  current: KubeObject | undefined,
  errors: FieldErrors,
): void {
  const versions = versionsOf(definition);
  const known = new Map(
    (current === undefined ? [] : versionsOf(current)).map((one) => [one.name, one.schema]),
  );
  const shared = sharedParts(versions);
  for (const [index, version] of versions.entries()) {
    const path = keyPath("spec.versions", index);
    if (version.schema === undefined) {
      errors.required(childPath(path, "schema.openAPIV3Schema"));
    }
    const problems = dns1035Label(version.name);
    if (problems.length > 0) {
      errors.invalid(childPath(path, "name"), version.name, problems.join(","));
    }
    checkDeprecation(version, childPath(path, "deprecationWarning"), errors);
    // An unchanged schema has been accepted before.
    const isKnown = isDeepStrictEqual(known.get(version.name), version.schema);
    if (!shared.has("schema") && !isKnown) {
      checkVersionSchema(version, childPath(path, "schema"), version.hasStatus, errors);
    }
    if (!shared.has("subresources")) checkScale(version, childPath(path, "subresources"), errors);
    if (!shared.has("additionalPrinterColumns"))
      checkColumns(version, childPath(path, "additionalPrinterColumns"), errors);
    if (!shared.has("selectableFields")) {
      checkSelectableFields(version, childPath(path, "selectableFields"), errors);
    }
  }
  const [first] = versions;
  if (first === undefined) return;
  const isKnown = isDeepStrictEqual(known.get(first.name), first.schema);
  const hasStatus = versions.some((version) => version.hasStatus);
  if (shared.has("schema") && !isKnown)
    checkVersionSchema(first, "spec.validation", hasStatus, errors);
  if (shared.has("subresources")) checkScale(first, "spec.subresources", errors);
  if (shared.has("additionalPrinterColumns"))
    checkColumns(first, "spec.additionalPrinterColumns", errors);
  if (shared.has("selectableFields")) checkSelectableFields(first, "spec.selectableFields", errors);
}

/** Parts that are equal in all versions. */
function sharedParts(versions: readonly DefinitionVersion[]): ReadonlySet<string> {
  const parts = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];
  return new Set(
    parts.filter((part) => {
      const values = versions.map((version) => valueAt(version.raw, part));
      return values.every((value) => value !== undefined && isDeepStrictEqual(value, values[0]));
    }),
  );
}

/** Internal.v1 of the real server lets only these stand beside a status subresource. */
const rootKeywords =
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength " +
  "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties " +
  "ExternalDocs Example XPreserveUnknownFields XValidations";
const allowedAtRoot: ReadonlySet<string> = new Set([
  ...rootKeywords
    .split(" ")
    .slice(0, -2)
    .map((name) => name.charAt(0).toLowerCase() + name.slice(1)),
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
]);

function checkVersionSchema(
  version: DefinitionVersion,
  path: string,
  hasStatus: boolean,
  errors: FieldErrors,
): void {
  if (version.schema === undefined) return;
  const schema = readSchema(version.schema);
  const place = childPath(path, "openAPIV3Schema");
  if (hasStatus) checkRootKeywords(schema, version.schema, place, errors);
  if (schema.nullable) {
    errors.forbidden(childPath(place, "nullable"), "nullable cannot be true at the root");
  }
  const structural = new FieldErrors();
  const unsupported = unsupportedKeyword(schema);
  if (unsupported === undefined) checkStructural(schema, place, structural);
  const isStructural = structural.causes.length === 0 && unsupported === undefined;
  const types = isStructural ? ruleTypesOf(schema, { isResource: true }) : undefined;
  if (isStructural) checkDefaults(schema, place, types, structural);
  errors.include(structural.causes);
  const context = {
    noDefaults: undefined,
    isInMeta: false,
    uncorrelatable: undefined,
    types: structural.causes.length === 0 ? types : undefined,
    isRoot: true,
  };
  const found = errors.causes.length;
  checkSchema(schema, place, context, errors);
  if (unsupported === "$schema" && errors.causes.length === found) {
    errors.invalid(place, "", "OpenAPIV3Schema 'schema' is not supported");
  }
}

function checkRootKeywords(
  schema: JsonSchema,
  raw: JsonObject,
  place: string,
  errors: FieldErrors,
): void {
  if (schema.type !== "" && schema.type !== "object") {
    errors.invalid(
      childPath(place, "type"),
      schema.type,
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
    );
  } else if (Object.keys(raw).some((keyword) => !allowedAtRoot.has(keyword))) {
    const detail = `only [${rootKeywords}] fields are allowed at the root of the schema if the status subresource is enabled`;
    errors.invalid(place, shownSchema(raw), detail);
  }
}

/** Bytes of a warning, as in Kubernetes. */
const warningMaxBytes = 256;

function checkDeprecation(version: DefinitionVersion, path: string, errors: FieldErrors): void {
  const warning = version.deprecationWarning;
  if (warning === undefined) return;
  const refuse = (detail: string) => errors.invalid(path, warning, detail);
  if (!version.isDeprecated) {
    refuse("can only be set for deprecated versions");
    return;
  }
  if (Buffer.byteLength(warning) > warningMaxBytes) refuse("must be <= 256 characters long");
  if (warning === "") refuse("must not be an empty string");
  const at = runes(warning).findIndex(
    (character) => !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character),
  );
  if (at >= 0) {
    const rule = "must only contain printable UTF-8 characters";
    refuse(`${rule}; non-printable character found at index ${at}`);
  }
}

/** The versions of ConversionReview that real servers support. */
const reviewVersions = ["v1", "v1beta1"];

function checkConversion(definition: KubeObject, errors: FieldErrors): void {
  const conversion = objectAt(definition, "spec", "conversion");
  if (conversion === undefined) return;
  const strategy = textAt(conversion, "strategy");
  errors.oneOf("spec.conversion.strategy", strategy, ["None", "Webhook"]);
  const config = objectAt(conversion, "webhook", "clientConfig");
  const versions = textsAt(conversion, "webhook", "conversionReviewVersions");
  const configPath = "spec.conversion.webhookClientConfig";
  const versionsPath = "spec.conversion.conversionReviewVersions";
  if (strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (config !== undefined) errors.forbidden(configPath, detail);
    if (versions.length > 0) errors.forbidden(versionsPath, detail);
    return;
  }
  if (config === undefined) {
    errors.required(configPath, "required when strategy is set to Webhook");
  } else if ((config["url"] === undefined) === (config["service"] === undefined)) {
    errors.required(configPath, "exactly one of url or service is required");
  }
  checkReviewVersions(versions, versionsPath, errors);
}

function checkReviewVersions(versions: readonly string[], path: string, errors: FieldErrors): void {
  if (versions.length === 0) {
    errors.required(path);
    return;
  }
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index) {
      errors.invalid(keyPath(path, index), version, "duplicate version");
    } else {
      errors.invalidForEach(keyPath(path, index), version, dns1035Label(version));
    }
  }
  if (!versions.some((version) => reviewVersions.includes(version))) {
    const detail = `must include at least one of ${reviewVersions.join(", ")}`;
    errors.invalid(path, versions, detail);
  }
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = [
  "byte",
  "date",
  "date-time",
  "double",
  "float",
  "int32",
  "int64",
  "password",
];

function checkScale({ scale }: DefinitionVersion, path: string, errors: FieldErrors): void {
  if (scale === undefined) return;
  const spec = textAt(scale, "specReplicasPath");
  const specPath = childPath(path, "scale.specReplicasPath");
  if (spec === "") errors.required(specPath);
  else if (checkPath(spec, specPath, errors) && !spec.startsWith(".spec.")) {
    errors.invalid(specPath, spec, "should be a json path under .spec");
  }
  const status = textAt(scale, "statusReplicasPath");
  const statusPath = childPath(path, "scale.statusReplicasPath");
  if (status === "") errors.required(statusPath);
  else if (checkPath(status, statusPath, errors) && !status.startsWith(".status.")) {
    errors.invalid(statusPath, status, "should be a json path under .status");
  }
  const selector = textAt(scale, "labelSelectorPath");
  const selectorPath = childPath(path, "scale.labelSelectorPath");
  const isBelow = selector.startsWith(".spec.") || selector.startsWith(".status.");
  if (selector !== "" && checkPath(selector, selectorPath, errors) && !isBelow) {
    errors.invalid(selectorPath, selector, "should be a json path under either .spec or .status");
  }
}

function checkColumns(version: DefinitionVersion, path: string, errors: FieldErrors): void {
  for (const [index, column] of version.printerColumns.entries()) {
    const place = keyPath(path, index);
    if (textAt(column, "name") === "") errors.required(childPath(place, "name"));
    const type = textAt(column, "type");
    const oneOf = `must be one of ${columnTypes.join(",")}`;
    if (type === "") errors.required(childPath(place, "type"), oneOf);
    else if (!columnTypes.includes(type)) errors.invalid(childPath(place, "type"), type, oneOf);
    const format = textAt(column, "format");
    if (format !== "" && !columnFormats.includes(format)) {
      const detail = `must be one of ${columnFormats.join(",")}`;
      errors.invalid(childPath(place, "format"), format, detail);
    }
    const jsonPath = textAt(column, "jsonPath");
    if (jsonPath === "") errors.required(childPath(place, "JSONPath"));
    else checkPath(jsonPath, childPath(place, "JSONPath"), errors);
  }
}

function checkPath(text: string, path: string, errors: FieldErrors): boolean {
  if (text.startsWith(".")) return true;
  errors.invalid(path, text, "must be a simple json path starting with .");
  return false;
}

/** As in Kubernetes: each costs the watch cache of every server. */
const maxSelectableFields = 8;

function checkSelectableFields(
  version: DefinitionVersion,
  path: string,
  errors: FieldErrors,
): void {
  const { schema, selectableFields } = version;
  if (selectableFields.length === 0 || schema === undefined) return;
  const root = readSchema(schema);
  const seen = new Set<string>();
  for (const [index, jsonPath] of selectableFields.entries()) {
    const place = childPath(keyPath(path, index), "jsonPath");
    if (jsonPath === "") {
      errors.required(place);
      continue;
    }
    const found = followPath(jsonPath, root, { allowsBrackets: false });
    if ("problem" in found) {
      errors.invalid(place, jsonPath, `is an invalid path: ${found.problem}`);
      continue;
    }
    if (found.steps[0] === "metadata") {
      errors.invalid(place, jsonPath, "must not point to fields in metadata");
    }
    if (!["string", "boolean", "integer"].includes(found.schema.type)) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.invalid(place, jsonPath, detail);
    }
    if (seen.has(found.path)) errors.duplicate(place, jsonPath);
    seen.add(found.path);
  }
  if (seen.size > maxSelectableFields) errors.tooMany(path, seen.size, maxSelectableFields);
}
