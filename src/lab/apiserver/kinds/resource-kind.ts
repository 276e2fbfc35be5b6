// What the server knows of one kind beyond its schema: its names, its rules, its subresources. The
// verbs are the same for all kinds; whatever differs is a field here. The `prepare…` and `default`
// functions get a copy that is theirs to change.

import { sameJson } from "../../same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import { dnsSubdomain, type NameRule } from "./names.ts";

export type Subresource = "status" | "scale" | "log" | "binding" | "finalize";

export interface ResourceKind {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, lower case, as in paths. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Its type in the schema table. */
  readonly schema: string;
  readonly subresources: readonly Subresource[];
  /** Ends with "/". */
  readonly prefix: string;
  readonly nameRule: NameRule;
  /** A PUT of an absent object creates it. */
  readonly createOnUpdate: boolean;
  /** A PUT without resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** DELETE answers with the removed object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** What field selectors may name, beside metadata.name and metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, (object: KubeObject) => string>>;

  /** Fills what the client left out, at creation and at every update. */
  setDefaults(object: KubeObject): void;
  /** Removes or sets what a creator has no say in. */
  prepareCreate(object: KubeObject): void;
  prepareUpdate(object: KubeObject, current: KubeObject): void;
  prepareStatusUpdate(object: KubeObject, current: KubeObject): void;
  validate(object: KubeObject, errors: FieldErrors): void;
  validateUpdate(object: KubeObject, current: KubeObject, errors: FieldErrors): void;
  /** Brings a valid object into the form it is stored in. Absent: as it is. */
  canonicalize?(object: KubeObject): void;
  /** Seconds between DELETE and removal; 0 removes at once. Absent: kinds without grace. */
  gracePeriodSeconds?(object: KubeObject, requested: number | undefined): number;
}

type Optional =
  | "categories"
  | "createOnUpdate"
  | "group"
  | "nameRule"
  | "prepareCreate"
  | "prepareStatusUpdate"
  | "prepareUpdate"
  | "returnsDeleted"
  | "selectableFields"
  | "setDefaults"
  | "shortNames"
  | "singular"
  | "prefix"
  | "subresources"
  | "unconditionalUpdate"
  | "validate"
  | "validateUpdate"
  | "version";

export type KindDefinition = Omit<ResourceKind, Optional> & Partial<Pick<ResourceKind, Optional>>;

/** Completes a definition with what most kinds share: a spec with generations, and a status. */
export function defineKind(definition: KindDefinition): ResourceKind {
  const hasStatus = definition.subresources?.includes("status") ?? false;
  return {
    group: "",
    version: "v1",
    singular: definition.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    subresources: [],
    prefix: `/registry/${definition.resource}/`,
    nameRule: dnsSubdomain,
    createOnUpdate: false,
    unconditionalUpdate: true,
    returnsDeleted: false,
    selectableFields: {},
    setDefaults: doNothing,
    prepareCreate: hasStatus ? dropStatus : doNothing,
    prepareUpdate: hasStatus ? keepStatus : doNothing,
    prepareStatusUpdate: keepAllButStatus,
    validate: doNothing,
    validateUpdate: doNothing,
    ...definition,
  };
}

/** `pods`, or `deployments.apps`: how messages name a resource. */
export function qualifiedResource(kind: { group: string; resource: string }): string {
  return kind.group === "" ? kind.resource : `${kind.resource}.${kind.group}`;
}

export function groupVersion(kind: { group: string; version: string }): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** For kinds whose generation counts changes of the spec. */
export function startGeneration(object: KubeObject): void {
  object.metadata.generation = 1;
}

export function bumpGenerationIfChanged(
  object: KubeObject,
  current: KubeObject,
  fields: readonly string[],
): void {
  if (fields.some((field) => !sameJson(object[field], current[field]))) {
    bumpGeneration(object, current);
  }
}

export function bumpGeneration(object: KubeObject, current: KubeObject): void {
  object.metadata.generation = (current.metadata.generation ?? 0) + 1;
}

export function dropStatus(object: KubeObject): void {
  delete object["status"];
}

/** The main resource's PUT does not touch the status. */
export function keepStatus(object: KubeObject, current: KubeObject): void {
  if (current["status"] === undefined) {
    delete object["status"];
  } else {
    object["status"] = current["status"];
  }
}

/** The status subresource's PUT touches the status, labels and annotations, and nothing else. */
export function keepAllButStatus(object: KubeObject, current: KubeObject): void {
  const { status } = object;
  const { labels, annotations, resourceVersion } = object.metadata;
  for (const field of Object.keys(object)) {
    if (!Object.hasOwn(current, field)) {
      delete object[field];
    }
  }
  Object.assign(object, current);
  object.metadata = { ...current.metadata };
  assignOrDelete(object, "status", status);
  assignOrDelete(object.metadata, "labels", labels);
  assignOrDelete(object.metadata, "annotations", annotations);
  assignOrDelete(object.metadata, "resourceVersion", resourceVersion);
}

function assignOrDelete<T extends object, F extends keyof T>(
  target: T,
  field: F,
  value: T[F] | undefined,
): void {
  if (value === undefined) {
    delete target[field];
  } else {
    target[field] = value;
  }
}

function doNothing(): void {
  // Most kinds have no rule here.
}
