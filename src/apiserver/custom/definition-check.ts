// Checks a CustomResourceDefinition: its group, names and versions. As in Kubernetes, what all
// versions have in common is reported at the top of the spec (`spec.validation`), and what differs
// at its version.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { textAt, textsAt, valueAt } from "../kinds/fields.ts";
import { dns1035Label, dnsSubdomain } from "../kinds/names.ts";
import { validateImmutable } from "../kinds/object-meta.ts";
import type { KubeObject } from "../kube-object.ts";
import { approvalProblem } from "./api-approval.ts";
import { checkConversion } from "./conversion-check.ts";
import {
  acceptedNames,
  type DefinitionNames,
  groupOf,
  isTrue,
  requestedNames,
  versionsOf,
} from "./definition.ts";
import { childPath, keyPath } from "./field-path.ts";
import { shownVersion } from "./internal-form.ts";
import { checkVersions, sharedParts } from "./version-check.ts";

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

/** Where objects are stored follows from these. */
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
