// A CustomResourceDefinition, read from its object: its names, versions, conditions and API approval.
import type { StatusCause } from "../api-error.ts";
import { type JsonObject, objectAt, objectsAt, textAt, textsAt, valueAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";

export interface DefinitionNames {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly kind: string;
  readonly listKind: string;
  readonly categories: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly isServed: boolean;
  readonly isStorage: boolean;
  readonly isDeprecated: boolean;
  /** Undefined when not given. */
  readonly deprecationWarning: string | undefined;
  /** `openAPIV3Schema`; undefined when there is none. */
  readonly schema: JsonObject | undefined;
  readonly hasStatus: boolean;
  readonly scale: JsonObject | undefined;
  readonly printerColumns: readonly JsonObject[];
  readonly selectableFields: readonly string[];
  readonly raw: JsonObject;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** A condition as it is decided; its time follows from the one before. */
export type ConditionUpdate = Omit<Condition, "lastTransitionTime">;

export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export function groupOf(definition: KubeObject): string {
  return textAt(definition, "spec", "group");
}

export function isNamespaced(definition: KubeObject): boolean {
  return textAt(definition, "spec", "scope") === "Namespaced";
}

export function namesIn(raw: JsonObject | undefined): DefinitionNames {
  return {
    plural: textAt(raw, "plural"),
    singular: textAt(raw, "singular"),
    shortNames: textsAt(raw, "shortNames"),
    kind: textAt(raw, "kind"),
    listKind: textAt(raw, "listKind"),
    categories: textsAt(raw, "categories"),
  };
}

export function requestedNames(definition: KubeObject): DefinitionNames {
  return namesIn(objectAt(definition, "spec", "names"));
}

export function acceptedNames(definition: KubeObject): DefinitionNames {
  return namesIn(objectAt(definition, "status", "acceptedNames"));
}

export function versionsOf(definition: KubeObject): readonly DefinitionVersion[] {
  return objectsAt(definition, "spec", "versions").map(readVersion);
}

export function conditionOf(definition: KubeObject, type: string): Condition | undefined {
  const found = objectsAt(definition, "status", "conditions").find(
    (condition) => condition["type"] === type,
  );
  return found && readCondition(found);
}

export function isTrue(definition: KubeObject, type: string): boolean {
  return conditionOf(definition, type)?.status === "True";
}

/** The definition with the condition set; its time moves only with its status. */
export function withCondition(
  definition: KubeObject,
  condition: ConditionUpdate,
  now: string,
): KubeObject {
  const status = objectAt(definition, "status") ?? {};
  const known = objectsAt(status, "conditions");
  const old = conditionOf(definition, condition.type);
  const isUnmoved = old?.status === condition.status && old.lastTransitionTime !== "";
  const lastTransitionTime = isUnmoved ? old.lastTransitionTime : now;
  const next = { ...condition, lastTransitionTime };
  const conditions =
    old === undefined
      ? [...known, next]
      : known.map((one) => (one["type"] === condition.type ? next : one));
  return { ...definition, status: { ...status, conditions } };
}

function readVersion(raw: JsonObject): DefinitionVersion {
  const warning = valueAt(raw, "deprecationWarning");
  return {
    name: textAt(raw, "name"),
    isServed: raw["served"] === true,
    isStorage: raw["storage"] === true,
    isDeprecated: raw["deprecated"] === true,
    deprecationWarning: typeof warning === "string" ? warning : undefined,
    schema: objectAt(raw, "schema", "openAPIV3Schema"),
    hasStatus: objectAt(raw, "subresources", "status") !== undefined,
    scale: objectAt(raw, "subresources", "scale"),
    printerColumns: objectsAt(raw, "additionalPrinterColumns"),
    selectableFields: objectsAt(raw, "selectableFields").map((field) => textAt(field, "jsonPath")),
    raw,
  };
}

function readCondition(raw: JsonObject): Condition {
  return {
    type: textAt(raw, "type"),
    status: textAt(raw, "status"),
    reason: textAt(raw, "reason"),
    message: textAt(raw, "message"),
    lastTransitionTime: textAt(raw, "lastTransitionTime"),
  };
}

const stages = ["alpha", "beta", ""];

/** Negative when `a` is preferred. */
export function compareVersions(a: string, b: string): number {
  const x = parseVersion(a);
  const y = parseVersion(b);
  if (x === undefined || y === undefined) {
    if (x !== undefined) return -1;
    if (y !== undefined) return 1;
    return a < b ? -1 : Number(a > b);
  }
  return y.stage - x.stage || y.major - x.major || y.minor - x.minor;
}

/** Sent with the answer to every request on the version. */
export function deprecationWarnings(
  definition: KubeObject,
  version: DefinitionVersion,
): readonly string[] {
  if (!version.isDeprecated) return [];
  if (version.deprecationWarning !== undefined) return [version.deprecationWarning];
  const group = groupOf(definition);
  const { kind } = acceptedNames(definition);
  const [better] = versionsOf(definition)
    .filter((one) => one.isServed && !one.isDeprecated)
    .map((one) => one.name)
    .filter((name) => compareVersions(name, version.name) < 0)
    .sort(compareVersions);
  const instead = better === undefined ? "" : `; use ${group}/${better} ${kind}`;
  return [`${group}/${version.name} ${kind} is deprecated${instead}`];
}

interface KubeVersion {
  readonly stage: number;
  readonly major: number;
  readonly minor: number;
}

/** `v1`, `v2beta3`; undefined for other names. */
function parseVersion(name: string): KubeVersion | undefined {
  const found = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(name);
  if (found === null) return undefined;
  const [, major, stage = "", minor = "0"] = found;
  return { stage: stages.indexOf(stage), major: Number(major), minor: Number(minor) };
}

const annotation = "api-approved.kubernetes.io";
const seeAlso = "see https://github.com/kubernetes/enhancements/pull/1111";

type Approval = {
  readonly state: "Missing" | "Unapproved" | "Approved" | "Invalid";
  readonly reason: string;
};

function isProtectedGroup(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

/** Undefined for groups that need no approval. */
export function approvalCondition(definition: KubeObject): ConditionUpdate | undefined {
  if (!isProtectedGroup(groupOf(definition))) return undefined;
  const { state, reason } = approvalOf(definition);
  const status = state === "Approved" ? "True" : "False";
  return {
    type: "KubernetesAPIApprovalPolicyConformant",
    status,
    reason: `${state}Annotation`,
    message: reason,
  };
}

/** An unchanged state is never refused. */
export function approvalProblem(
  definition: KubeObject,
  current: KubeObject | undefined,
): StatusCause | undefined {
  if (!isProtectedGroup(groupOf(definition))) return undefined;
  const { state, reason } = approvalOf(definition);
  const isAccepted = state === "Approved" || state === "Unapproved";
  if (isAccepted || (current !== undefined && approvalOf(current).state === state))
    return undefined;
  const field = `metadata.annotations[${annotation}]`;
  if (state === "Missing") {
    return { reason: "FieldValueRequired", message: `Required value: ${reason}`, field };
  }
  const value = JSON.stringify(definition.metadata.annotations?.[annotation] ?? "");
  const message = `Invalid value: ${value}: ${reason}`;
  return { reason: "FieldValueInvalid", message, field };
}

function approvalOf({ metadata }: KubeObject): Approval {
  const given = metadata.annotations?.[annotation] ?? "";
  const rule = `protected groups must have approval annotation "${annotation}"`;
  if (given === "") return { state: "Missing", reason: `${rule}, ${seeAlso}` };
  if (given.startsWith("unapproved")) {
    return { state: "Unapproved", reason: `not approved: ${JSON.stringify(given)}` };
  }
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/\s]+/.test(given)) {
    return { state: "Approved", reason: `approved in ${given}` };
  }
  const detail = 'with either a URL or a reason starting with "unapproved"';
  return { state: "Invalid", reason: `${rule} ${detail}, ${seeAlso}` };
}
