// One version of a CustomResourceDefinition as a kind the server serves: the same verbs as for the
// built-in kinds, with the rules its schema states.
import { isDeepStrictEqual } from "node:util";
import { ApiError } from "../api-error.ts";
import { copyJson, type JsonObject, textAt, valueAt } from "../kinds/fields.ts";
import {
  bumpGeneration,
  type CustomChange,
  type CustomType,
  defineKind,
  type ResourceKind,
  type ScalePaths,
  startGeneration,
} from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { customColumns } from "../tables/custom-columns.ts";
import { conformTo } from "./conform-object.ts";
import { applyDefaults } from "./defaulting.ts";
import { acceptedNames, type DefinitionVersion, groupOf, isNamespaced } from "./definition.ts";
import { readSchema } from "./json-schema.ts";
import { ObjectRules } from "./object-rules.ts";
import { storedFormOf } from "./version-conversion.ts";
import { deprecationWarnings } from "./version-order.ts";

/** What changes while the definition itself stays the same. */
export interface DefinitionState {
  /** Throws while the definition is being deleted; waits while it is very young. */
  admitCreate(
    kind: { readonly group: string; readonly resource: string },
    name: string,
  ): Promise<void>;
}

export function customKind(
  definition: KubeObject,
  version: DefinitionVersion,
  state: DefinitionState,
): ResourceKind {
  const names = acceptedNames(definition);
  const group = groupOf(definition);
  const schema = readSchema(version.schema ?? {});
  const scale = version.scale && scalePaths(version.scale);
  const rules = new ObjectRules(schema, scale);
  const resource = names.plural;
  const custom: CustomType = {
    openApi: version.schema ?? {},
    ...(scale === undefined ? {} : { scale }),
    warnings: deprecationWarnings(definition, version),
    conform: (document) => conformTo(schema, document),
    validateChange: (change: CustomChange, errors) => rules.checkChange(change, errors),
    refuseUse: () => refuseUse(definition, version),
    admitCreate: (name) => state.admitCreate({ group, resource }, name),
  };
  return defineKind({
    group,
    version: version.name,
    kind: names.kind,
    listKind: names.listKind,
    resource,
    singular: names.singular,
    shortNames: names.shortNames,
    categories: names.categories,
    namespaced: isNamespaced(definition),
    schema: "",
    custom,
    columns: customColumns(version.printerColumns),
    storedForm: storedFormOf(definition, version, schema),
    subresources: [
      ...(version.hasStatus ? (["status"] as const) : []),
      ...(scale === undefined ? [] : (["scale"] as const)),
    ],
    prefix: `/registry/${group}/${resource}/`,
    unconditionalUpdate: false,
    selectableFields: selectableFields(version.selectableFields),
    setDefaults: (object) => applyDefaults(object, schema),
    prepareCreate(object) {
      if (version.hasStatus) delete object["status"];
      startGeneration(object);
    },
    prepareUpdate(object, current) {
      if (version.hasStatus) keepStatus(object, current);
      if (!sameContent(object, current)) bumpGeneration(object, current);
    },
    prepareStatusUpdate: takeStatusOnly,
    validate: (object, errors) => rules.checkNew(object, errors),
  });
}

function selectableFields(
  paths: readonly string[],
): Readonly<Record<string, (object: KubeObject) => string>> {
  return Object.fromEntries(
    paths.map((path) => {
      const steps = stepsOf(path);
      return [steps.join("."), (object: KubeObject) => scalarText(valueAt(object, ...steps))];
    }),
  );
}

function scalarText(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

function scalePaths(scale: JsonObject): ScalePaths {
  const selector = textAt(scale, "labelSelectorPath");
  return {
    specReplicas: stepsOf(textAt(scale, "specReplicasPath")),
    statusReplicas: stepsOf(textAt(scale, "statusReplicasPath")),
    labelSelector: selector === "" ? undefined : stepsOf(selector),
  };
}

function stepsOf(path: string): readonly string[] {
  return path.replace(/^\./, "").split(".");
}

/** A status that was there stays; one that was not does not come in this way. */
function keepStatus(object: KubeObject, current: KubeObject): void {
  if (Object.hasOwn(current, "status")) object["status"] = current["status"];
  else delete object["status"];
}

/** Everything but the status is as it was, labels and annotations too. */
function takeStatusOnly(object: KubeObject, current: KubeObject): void {
  const { status } = object;
  const hasStatus = Object.hasOwn(object, "status");
  const { resourceVersion = "", managedFields } = object.metadata;
  for (const field of Object.keys(object)) delete object[field];
  Object.assign(object, copyJson(current));
  object.metadata = { ...current.metadata, resourceVersion };
  if (managedFields === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = managedFields;
  if (hasStatus) object["status"] = status;
  else delete object["status"];
}

/** The generation counts changes of everything but the metadata; an empty list is not none. */
function sameContent(object: KubeObject, current: KubeObject): boolean {
  const { metadata: _, ...content } = object;
  const { metadata: __, ...before } = current;
  return isDeepStrictEqual(content, before);
}

/** The lab calls no webhooks, so there is only one version it can show. */
function refuseUse(definition: KubeObject, version: DefinitionVersion): void {
  const strategy = textAt(definition, "spec", "conversion", "strategy");
  if (strategy !== "Webhook" || version.isStorage) return;
  const kind = `${groupOf(definition)}/${version.name}, Kind=${acceptedNames(definition).kind}`;
  throw new ApiError(
    500,
    "InternalError",
    `Internal error occurred: conversion webhook for ${kind} failed: ` +
      "this server calls no conversion webhooks",
    { causes: [{ reason: "", message: `conversion webhook for ${kind} failed` }] },
  );
}
