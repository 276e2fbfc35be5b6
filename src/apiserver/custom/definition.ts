// A CustomResourceDefinition, read from its object: its names, its versions, its conditions.
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
  condition: Omit<Condition, "lastTransitionTime">,
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
