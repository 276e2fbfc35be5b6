// One version of a CustomResourceDefinition as a kind that the server serves: the same verbs as for
// built-in kinds, with the rules of its schema. Objects are stored in one version and shown in the
// requested one. The conversion None changes only `apiVersion`; the schema of each version then prunes
// and defaults objects, including objects that were written with an earlier schema.

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
import type { StoredForm } from "../listwatch/encoded-object.ts";
import { customColumns } from "../tables/custom-columns.ts";
import { applyDefaults, conformTo } from "./conforming.ts";
import {
  acceptedNames,
  type DefinitionVersion,
  deprecationWarnings,
  groupOf,
  isNamespaced,
  versionsOf,
} from "./definition.ts";
import { type JsonSchema, readSchema } from "./json-schema.ts";
import { ObjectRules } from "./object-validation.ts";

/** State of a definition that changes without a change of its spec. */
export interface DefinitionState {
  /** Throws while the definition is being deleted; waits while it is new. */
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

/** The status can be neither changed nor added by an update of the object. */
function keepStatus(object: KubeObject, current: KubeObject): void {
  if (Object.hasOwn(current, "status")) object["status"] = current["status"];
  else delete object["status"];
}

/** An update of the status changes nothing else, not even labels and annotations. */
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

/** The generation counts changes of everything but metadata; an empty list differs from none. */
function sameContent(object: KubeObject, current: KubeObject): boolean {
  const { metadata: _, ...content } = object;
  const { metadata: __, ...before } = current;
  return isDeepStrictEqual(content, before);
}

/** Webhooks are not called, so only the stored version can be shown. */
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

function storedFormOf(
  definition: KubeObject,
  version: DefinitionVersion,
  schema: JsonSchema,
): StoredForm {
  const group = groupOf(definition);
  const storage = versionsOf(definition).find((one) => one.isStorage) ?? version;
  const isStored = storage.name === version.name;
  const storageSchema = isStored ? schema : readSchema(storage.schema ?? {});
  return {
    fromStorage(stored) {
      const shown = inVersion(stored, `${group}/${version.name}`, schema);
      applyDefaults(shown, schema);
      return isDeepStrictEqual(shown, stored) ? stored : shown;
    },
    toStorage(object) {
      return isStored ? object : inVersion(object, `${group}/${storage.name}`, storageSchema);
    },
  };
}

function inVersion(object: KubeObject, apiVersion: string, schema: JsonSchema): KubeObject {
  const { value } = conformTo(schema, object);
  return { ...copyJson(value), apiVersion, kind: object.kind, metadata: object.metadata };
}
