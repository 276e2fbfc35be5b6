// The rules of `metadata`, which all kinds share: the fields that only the server sets, those that
// a client may set, and those that never change.
import { toTime, type WallMs } from "../../environment/clock.ts";
import { type Random, randomInt } from "../../environment/random.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject, ObjectMeta, OwnerReference } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, objectsAt, textAt, textMapAt, textsAt } from "./fields.ts";
import { dnsLabel, labelValue, type NameRule, qualifiedName } from "./names.ts";

/** All annotations of an object together, as in Kubernetes. */
export const annotationsMaxBytes = 256 * 1024;

/** Generated names are cut so that, with the suffix, they still fit a DNS label. */
const generatedBaseMaxLength = 58;
const suffixLength = 5;

/** Without vowels and look-alikes, so that no generated name spells a word or is misread. */
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** Sets the fields that the server decides at creation; the object is the caller's own copy. */
export function initializeMeta(object: KubeObject, wall: WallMs, random: Random): void {
  const meta = object.metadata;
  if (meta.name === "" && meta.generateName !== undefined && meta.generateName !== "") {
    meta.name = generateName(meta.generateName, random);
  }
  meta.uid = random.uuid();
  meta.creationTimestamp = toTime(wall);
  delete meta.generation;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
}

/** Carries over the fields that an update can neither set nor remove. */
export function inheritMeta(object: KubeObject, current: KubeObject): void {
  const meta = object.metadata;
  const old = current.metadata;
  if (meta.uid === undefined || meta.uid === "") {
    inherit(meta, old, "uid");
  }
  inherit(meta, old, "generation");
  inherit(meta, old, "creationTimestamp");
  if (old.deletionTimestamp !== undefined) {
    inherit(meta, old, "deletionTimestamp");
    if (meta.deletionGracePeriodSeconds === undefined) {
      inherit(meta, old, "deletionGracePeriodSeconds");
    }
  } else {
    delete meta.deletionTimestamp;
    delete meta.deletionGracePeriodSeconds;
  }
}

/** Sets the deletion timestamp and, the first time, the generation. */
export function markForDeletion(
  current: KubeObject,
  options: { wall: WallMs; grace: number | undefined; finalizers: readonly string[] },
): KubeObject {
  const { metadata } = current;
  const isFirst = metadata.deletionTimestamp === undefined;
  const { finalizers: _, ...rest } = metadata;
  const graceMs = (options.grace ?? 0) * 1000;
  return {
    ...current,
    metadata: {
      ...rest,
      ...(options.finalizers.length === 0 ? {} : { finalizers: [...options.finalizers] }),
      ...(isFirst && metadata.generation !== undefined
        ? { generation: metadata.generation + 1 }
        : {}),
      deletionTimestamp: isFirst
        ? `${new Date(options.wall + graceMs).toISOString().slice(0, 19)}Z`
        : (metadata.deletionTimestamp ?? ""),
      ...(options.grace === undefined ? {} : { deletionGracePeriodSeconds: options.grace }),
    },
  };
}

export function setManagedFields(
  object: KubeObject,
  managedFields: readonly unknown[] | undefined,
): void {
  if (managedFields === undefined || managedFields.length === 0) {
    delete object.metadata.managedFields;
  } else {
    object.metadata.managedFields = [...managedFields];
  }
}

export function validateMeta(
  object: KubeObject,
  rules: { readonly namespaced: boolean; readonly name: NameRule },
  errors: FieldErrors,
): void {
  const meta = object.metadata;
  const { generateName: base = "" } = meta;
  if (base !== "") {
    // A trailing dash is allowed here; the whole name is checked later.
    errors.invalidForEach("metadata.generateName", base, rules.name(base.replace(/-$/, "a")));
  }
  if (meta.name === "") {
    errors.required("metadata.name", "name or generateName is required");
  } else {
    errors.invalidForEach("metadata.name", meta.name, rules.name(meta.name));
  }
  const namespace = meta.namespace ?? "";
  if (!rules.namespaced && namespace !== "") {
    errors.forbidden("metadata.namespace", "not allowed on this type");
  } else if (rules.namespaced) {
    errors.invalidForEach("metadata.namespace", namespace, dnsLabel(namespace));
  }
  validateLabels("metadata.labels", meta.labels ?? {}, errors);
  validateAnnotations("metadata.annotations", meta.annotations ?? {}, errors);
  validateOwners(meta.ownerReferences ?? [], errors);
  validateFinalizers(meta.finalizers ?? [], errors);
}

export function validateMetaUpdate(
  object: KubeObject,
  current: KubeObject,
  errors: FieldErrors,
): void {
  const meta = object.metadata;
  const old = current.metadata;
  if (old.deletionTimestamp !== undefined) {
    const added = (meta.finalizers ?? []).filter((name) => !old.finalizers?.includes(name));
    if (added.length > 0) {
      const list = added.map((name) => JSON.stringify(name)).join(", ");
      errors.forbidden(
        "metadata.finalizers",
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
      );
    }
  }
  for (const field of ["name", "namespace", "uid"] as const) {
    validateImmutable(`metadata.${field}`, meta[field], old[field], errors);
  }
}

export function validateLabels(
  field: string,
  labels: Readonly<Record<string, string>>,
  errors: FieldErrors,
): void {
  for (const [key, value] of Object.entries(labels)) {
    errors.invalidForEach(field, key, qualifiedName(key));
    errors.invalidForEach(field, value, labelValue(value));
  }
}

export function validateImmutable(
  field: string,
  value: unknown,
  current: unknown,
  errors: FieldErrors,
): void {
  if (!sameJson(value, current)) {
    errors.invalid(field, value ?? "", "field is immutable");
  }
}

function generateName(base: string, random: Random): string {
  let name = base.slice(0, generatedBaseMaxLength);
  for (let i = 0; i < suffixLength; i++) {
    name += suffixAlphabet.charAt(randomInt(random, suffixAlphabet.length));
  }
  return name;
}

function inherit<Field extends keyof ObjectMeta>(
  meta: ObjectMeta,
  old: ObjectMeta,
  field: Field,
): void {
  if (old[field] === undefined) {
    delete meta[field];
  } else {
    meta[field] = old[field];
  }
}

export function validateAnnotations(
  field: string,
  annotations: Readonly<Record<string, string>>,
  errors: FieldErrors,
): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    errors.invalidForEach(field, key, qualifiedName(key.toLowerCase()));
  }
  if (bytes > annotationsMaxBytes) {
    errors.tooLong(field, annotationsMaxBytes);
  }
}

function validateOwners(owners: readonly OwnerReference[], errors: FieldErrors): void {
  const field = "metadata.ownerReferences";
  let controller: string | undefined;
  for (const owner of owners) {
    const missing = (["apiVersion", "kind", "name", "uid"] as const).filter(
      (key) => (owner[key] ?? "") === "",
    );
    for (const key of missing) {
      const detail = key === "apiVersion" ? "version must not be empty" : "must not be empty";
      errors.invalid(`${field}.${key}`, "", detail);
    }
    if (owner.apiVersion.split("/").length > 2) {
      errors.invalid(`${field}.apiVersion`, owner.apiVersion, "version must not be empty");
    }
    if (owner.apiVersion === "v1" && owner.kind === "Event") {
      errors.invalid(field, shownOwner(owner), "/v1, Kind=Event is disallowed from being an owner");
    }
    if (owner.controller === true) {
      const name = `${owner.kind}/${owner.name}`;
      if (controller !== undefined) {
        errors.invalid(
          field,
          owners.map(shownOwner),
          `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
        );
      }
      controller ??= name;
    }
  }
}

/** Those that need no prefix. */
const standardFinalizers = ["kubernetes", orphanFinalizer, foregroundFinalizer];

/** Beyond the rule for all objects, which custom kinds keep to alone. */
export function validateBuiltInFinalizers(object: KubeObject, errors: FieldErrors): void {
  for (const [index, finalizer] of (object.metadata.finalizers ?? []).entries()) {
    if (!finalizer.includes("/") && !standardFinalizers.includes(finalizer)) {
      errors.invalid(
        `metadata.finalizers[${index}]`,
        finalizer,
        "name is neither a standard finalizer name nor is it fully qualified",
      );
    }
  }
}

/** In the order of fields in which the real server shows it. */
function shownOwner({ apiVersion, kind, name, uid, ...rest }: OwnerReference): object {
  return { apiVersion, kind, name, uid, ...rest };
}

function validateFinalizers(finalizers: readonly string[], errors: FieldErrors): void {
  const field = "metadata.finalizers";
  for (const finalizer of finalizers) {
    errors.invalidForEach(field, finalizer, qualifiedName(finalizer));
  }
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    errors.invalid(
      field,
      finalizers,
      `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`,
    );
  }
}

// Label selectors inside objects, as in Deployments and affinities.

/** True when it selects by at least one label. */
export function selectsAnything(selector: JsonObject): boolean {
  return (
    Object.keys(textMapAt(selector, "matchLabels")).length > 0 ||
    objectsAt(selector, "matchExpressions").length > 0
  );
}

/** True when nothing was wrong. */
export function validateLabelSelector(
  selector: JsonObject | undefined,
  path: string,
  errors: FieldErrors,
): boolean {
  if (selector === undefined) {
    return true;
  }
  const before = errors.causes.length;
  validateLabels(`${path}.matchLabels`, textMapAt(selector, "matchLabels"), errors);
  for (const [index, expression] of objectsAt(selector, "matchExpressions").entries()) {
    validateExpression(expression, `${path}.matchExpressions[${index}]`, errors);
  }
  return errors.causes.length === before;
}

function validateExpression(expression: JsonObject, path: string, errors: FieldErrors): void {
  const operator = textAt(expression, "operator");
  const values = textsAt(expression, "values");
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      errors.required(`${path}.values`, detail);
    }
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.forbidden(`${path}.values`, detail);
    }
  } else {
    errors.invalid(`${path}.operator`, operator, "not a valid selector operator");
  }
  const key = textAt(expression, "key");
  errors.invalidForEach(`${path}.key`, key, qualifiedName(key));
  for (const [index, value] of values.entries()) {
    errors.invalidForEach(`${path}.values[${index}]`, value, labelValue(value));
  }
}
