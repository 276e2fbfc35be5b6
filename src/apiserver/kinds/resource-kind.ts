// One kind of objects beyond its schema: names, subresources, defaults, rules, columns. The verbs
// are the same for all kinds; every difference between kinds is a field here. `setDefaults` and the
// `prepare…` functions change the object they get, which is the request's own copy.
import type { WallMs } from "../../environment/clock.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { Conformed } from "../decode/conform.ts";
import type { KubeObject } from "../kube-object.ts";
import type { StoredForm } from "../listwatch/encoded-object.ts";
import type { KindColumns } from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import type { JsonObject } from "./fields.ts";
import { dnsSubdomain, type NameRule } from "./names.ts";

export type Subresource =
  | "status"
  | "scale"
  | "log"
  | "proxy"
  | "binding"
  | "eviction"
  | "finalize"
  | "token";

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
  /** Its type in the schema table; "" for custom kinds. */
  readonly schema: string;
  /**
   * Present for a kind that a CustomResourceDefinition has added: its shape is not in the table.
   */
  readonly custom?: CustomType;
  /** The kind of its lists, where it is another than the kind with `List` behind it. */
  readonly listKind?: string;
  readonly subresources: readonly Subresource[];
  /** Ends with "/". */
  readonly prefix: string;
  /**
   * Where objects are stored otherwise than they are shown: in another version, or another kind.
   */
  readonly storedForm?: StoredForm;
  readonly nameRule: NameRule;
  /** Sent with every answer by servers of 1.`sinceMinor` and later. Absent: not deprecated. */
  readonly deprecation?: { readonly sinceMinor: number; readonly warning: string };
  /** No DELETE of the whole collection: each has a life of its own. */
  readonly isDeletedSingly?: true;
  /** A PUT of an absent object creates it. */
  readonly createOnUpdate: boolean;
  /** A PUT without resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** DELETE answers with the removed object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** A question that is answered as it is created; nothing of it is stored. Absent: stored. */
  readonly createOnly?: true;
  /** A deletion leaves its dependents unless its options differ. Absent: they are deleted too. */
  readonly orphansByDefault?: true;
  /** Fields for field selectors, beside metadata.name and metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, (object: KubeObject) => string>>;

  /** Fills absent fields, at creation and at every update. */
  setDefaults(object: KubeObject): void;
  /** Removes or sets the fields that a client cannot set at creation. */
  prepareCreate(object: KubeObject): void;
  prepareUpdate(object: KubeObject, current: KubeObject): void;
  prepareStatusUpdate(object: KubeObject, current: KubeObject): void;
  validate(object: KubeObject, errors: FieldErrors): void;
  /** Rules for new objects only. Absent: none. */
  validateNew?(object: KubeObject, errors: FieldErrors): void;
  /** The rules of a write to the status; the rest of the object is not looked at again. */
  validateStatus?(object: KubeObject, current: KubeObject, errors: FieldErrors): void;
  validateUpdate(object: KubeObject, current: KubeObject, errors: FieldErrors): void;
  /** As `validateUpdate`, for rules that the real server checks last. */
  validateUpdateLast?(object: KubeObject, current: KubeObject, errors: FieldErrors): void;
  /** Warnings about an object that is accepted. Absent: none. */
  warnings?(object: KubeObject): readonly string[];
  /** Brings a valid object into the form it is stored in. Absent: as it is. */
  canonicalize?(object: KubeObject): void;
  /** The columns of `kubectl get`. Absent: the name and the time of creation. */
  readonly columns?: KindColumns;
  /** The numbers it takes from ranges of the cluster. Absent: it takes none. */
  readonly allocation?: AllocationRules;
  /** Objects that no client may delete. */
  readonly undeletableNames?: readonly string[];
  /** Marks it at its first deletion and holds it. Absent: its finalizers decide. */
  markDeleted?(object: KubeObject, now: string): KubeObject;
  /** Replaces the deletion by grace period and finalizers, with its options. */
  planDeletion?(current: KubeObject, now: WallMs): DeletionPlan;
  /** Finalizers that are not in the metadata and hold a deleted object just as those do. */
  otherFinalizers?(object: KubeObject): readonly string[];
  /** Seconds between DELETE and removal; 0 removes at once. Absent: kinds without grace. */
  gracePeriodSeconds?(object: KubeObject, requested: number | undefined): number;
}

/** The first step of a DELETE. */
export interface DeletionPlan {
  /** To be stored now; the current object itself when nothing is to be written. */
  readonly object: KubeObject;
  /** It is removed right after. */
  readonly goesNow: boolean;
}

export interface AllocationRules {
  /**
   * Completes an object, which it may change, with the numbers it lacks. Throws if there are none.
   */
  allocate(object: KubeObject, previous: KubeObject | undefined, taking: Taking): Promise<void>;
  /** The storage keys of all numbers that an object holds. */
  heldKeys(object: KubeObject): readonly string[];
}

/** Takes numbers for one write. */
export interface Taking {
  /** Nothing is taken. */
  readonly dryRun: boolean;
  /** False if another object holds the key. */
  take(key: string): Promise<boolean>;
  /** A free number of the range, chosen at random, by its name. */
  takeAny<Name extends string | number>(range: {
    readonly prefix: string;
    readonly count: number;
    readonly nameOf: (offset: number) => Name;
    /** For the refusal when the range is full. */
    readonly what: string;
  }): Promise<Name>;
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

/** Completes a definition with the fields that most kinds share. */
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

/** The status subresource's PUT touches the status and the metadata, and nothing else. */
export function keepAllButStatus(object: KubeObject, current: KubeObject): void {
  const { status, metadata } = object;
  for (const field of Object.keys(object)) {
    if (!Object.hasOwn(current, field)) {
      delete object[field];
    }
  }
  Object.assign(object, current, { metadata });
  assignOrDelete(object, "status", status);
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

/**
 * A kind that a CustomResourceDefinition has added has this instead of a type in the schema table:
 * it decodes objects, validates changes and finds the scale. `custom/` implements it.
 */
export interface CustomType {
  /** The OpenAPI v3 schema of this version, as its definition has it. */
  readonly openApi: JsonObject;
  /** Absent when it has no scale subresource. */
  readonly scale?: ScalePaths;
  /** Sent with every answer: that the version is deprecated. */
  readonly warnings: readonly string[];
  /** Drops fields that are not in the schema. */
  conform(document: JsonObject): Conformed;
  /** Validates a state against the one before it; unchanged fields may stay invalid. */
  validateChange(change: CustomChange, errors: FieldErrors): void;
  /** Throws where the version cannot be served at all: its objects cannot be converted to it. */
  refuseUse(): void;
  /** Waits until every server knows of the kind; throws while its definition is being deleted. */
  admitCreate(name: string): Promise<void>;
}

export interface CustomChange {
  readonly object: KubeObject;
  readonly current: KubeObject;
  readonly isStatus: boolean;
}

/** Steps to the fields of an object that its Scale shows. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  /** Undefined when the definition names none. */
  readonly labelSelector: readonly string[] | undefined;
}
