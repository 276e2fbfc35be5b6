// Checks the versions of a definition: their schemas, subresources, columns and selectable fields.
import { isDeepStrictEqual } from "node:util";
import { FieldErrors } from "../kinds/field-errors.ts";
import { type JsonObject, valueAt } from "../kinds/fields.ts";
import { dns1035Label } from "../kinds/names.ts";
import type { KubeObject } from "../kube-object.ts";
import { checkDefaults } from "./default-check.ts";
import { type DefinitionVersion, versionsOf } from "./definition.ts";
import { childPath, keyPath } from "./field-path.ts";
import { shownSchema } from "./internal-form.ts";
import { type JsonSchema, readSchema } from "./json-schema.ts";
import { runes } from "./runes.ts";
import { checkSchema, unsupportedKeyword } from "./schema-check.ts";
import { checkSelectableFields } from "./selectable-fields-check.ts";
import { checkStructural } from "./structural-check.ts";
import { checkColumns, checkScale } from "./subresource-check.ts";

export function checkVersions(
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

/** The parts that every version has, and has the same. */
export function sharedParts(versions: readonly DefinitionVersion[]): ReadonlySet<string> {
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
  if (structural.causes.length === 0 && unsupported === undefined) {
    checkDefaults(schema, place, structural);
  }
  errors.include(structural.causes);
  const context = {
    noDefaults: undefined,
    isInMeta: false,
    uncorrelatable: undefined,
    compilesRules: structural.causes.length === 0 && unsupported === undefined,
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
