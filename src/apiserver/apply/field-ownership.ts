// Field ownership of one kind, through one of its subresources: the `managedFields` after an
// ordinary write, and the object after an apply. It adds to the updater the rules of Kubernetes:
// fields without owners, a cap on managers, and the change from client-side to server-side apply.
// Managed fields are read from the objects. No function changes its arguments.
import { type Clock, toTime } from "../../environment/clock.ts";
import { ApiError } from "../api-error.ts";
import { badRequest } from "../decode/body.ts";
import { goJson } from "../decode/go-format.ts";
import { isJsonObject, type JsonObject, objectAt, textAt, valueAt } from "../kinds/fields.ts";
import { annotationsMaxBytes } from "../kinds/object-meta.ts";
import { compareValues } from "./compare.ts";
import { FieldSet } from "./field-set.ts";
import {
  capUpdateManagers,
  decodeManagedFields,
  encodedManagedFields,
  encodeManagedFields,
  type ManagedFields,
  type ManagedFieldsEntry,
  managedFieldsForUpdate,
  managerKey,
  type Operation,
} from "./managed-fields.ts";
import { fieldElement } from "./path-element.ts";
import { fieldSetOf, ListItemError } from "./typed-value.ts";
import { FieldConflicts, Updater, type UpdaterOptions } from "./updater.ts";
import { validate } from "./validate.ts";

/** Fields have owners from the object's creation, or only from its first apply. */
export type TrackFrom = "creation" | "first-apply";

export interface FieldOwnershipOptions extends UpdaterOptions {
  readonly kind: string;
  /** "" is the object itself. */
  readonly subresource: string;
  /** An object without any field set by a client. */
  readonly empty: () => JsonObject;
  readonly clock: Clock;
  readonly trackFrom: TrackFrom;
}

/** `live` is undefined if the object is new. */
export interface FieldUpdate {
  readonly live: JsonObject | undefined;
  readonly updated: JsonObject;
  readonly manager: string;
}

export interface FieldApply {
  readonly live: JsonObject | undefined;
  readonly applied: JsonObject;
  readonly manager: string;
  readonly isForced: boolean;
}

export interface ApplyResult {
  /** New fields have no defaults yet. */
  readonly object: JsonObject;
  readonly managedFields: JsonObject[] | undefined;
}

interface Applied {
  readonly object: JsonObject;
  readonly managers: ManagedFields;
}

/** Its first server-side apply takes over the fields of its client-side applies. */
const kubectlManager = "kubectl";

/** Owns the fields that an object without managed fields has at its first apply. */
const beforeApplyManager = "before-first-apply";

export class FieldOwnership {
  readonly #options: FieldOwnershipOptions;
  readonly #updater: Updater;

  constructor(options: FieldOwnershipOptions) {
    this.#options = options;
    this.#updater = new Updater(options);
  }

  /** `managedFields` after an ordinary write. Never refuses: malformed entries are dropped. */
  afterUpdate({ live, updated, manager }: FieldUpdate): JsonObject[] | undefined {
    const { empty, subresource, trackFrom } = this.#options;
    const managers = managedFieldsForUpdate(live, updated, subresource);
    const isTracked = managers.size > 0 || (live === undefined && trackFrom === "creation");
    if (!isTracked) return undefined;
    try {
      return encodeManagedFields(this.#update(live ?? empty(), updated, managers, manager));
    } catch (error) {
      if (error instanceof ListItemError) return undefined;
      throw error;
    }
  }

  /** Throws an `ApiError` for an invalid configuration or a conflict. */
  apply(request: FieldApply): ApplyResult {
    const { empty } = this.#options;
    const live = request.live ?? empty();
    let managers = decodeManagedFields(encodedManagedFields(live));
    if (managers.size === 0) {
      managers = this.#update(empty(), live, managers, beforeApplyManager);
    }
    this.#refuseInvalid(request.applied);
    const isKubectl = request.manager === kubectlManager;
    try {
      const result = isKubectl
        ? this.#applyAsKubectl(request, live, managers)
        : this.#apply(request, live, managers);
      return {
        object: isKubectl ? withLastApplied(result.object, request.applied) : result.object,
        managedFields: encodeManagedFields(result.managers),
      };
    } catch (error) {
      throw error instanceof FieldConflicts ? error.toApiError() : error;
    }
  }

  #update(
    live: JsonObject,
    updated: JsonObject,
    before: ManagedFields,
    manager: string,
  ): ManagedFields {
    const { changed, managers } = this.#updater.update({ live, updated }, before);
    const owned = changed.difference(strippedFields);
    if (!owned.isEmpty) {
      const entry = this.#entry(manager, "Update");
      const key = managerKey(entry);
      const fields = owned.union(managers.get(key)?.fields ?? new FieldSet());
      managers.set(key, { ...entry, time: this.#now(), fields });
    }
    capUpdateManagers(managers);
    return managers;
  }

  #apply(request: FieldApply, live: JsonObject, before: ManagedFields): Applied {
    const { applied, manager, isForced } = request;
    const applier = this.#entry(manager, "Apply");
    const application = { live, applied, applier, isForced };
    const { merged, managers } = this.#updater.apply(application, before);
    const key = managerKey(applier);
    const entry = managers.get(key);
    if (entry !== undefined) {
      const fields = entry.fields.difference(strippedFields);
      const time = merged === undefined ? entry.time : this.#now();
      if (fields.isEmpty) managers.delete(key);
      else managers.set(key, { ...entry, time, fields });
    }
    return { object: isJsonObject(merged) ? merged : live, managers };
  }

  /** Fields that still have the value of the last client-side apply are kubectl's: no conflict. */
  #applyAsKubectl(request: FieldApply, live: JsonObject, before: ManagedFields): Applied {
    try {
      return this.#apply(request, live, before);
    } catch (error) {
      if (!(error instanceof FieldConflicts)) throw error;
      const own = this.#lastAppliedFields(live);
      if (own === undefined) throw error;
      const conflicts = error.conflicts.filter(({ path }) => !own.has(path));
      if (conflicts.length > 0) throw new FieldConflicts(conflicts);
      return this.#apply({ ...request, isForced: true }, live, before);
    }
  }

  /** Fields as in the last client-side apply; undefined without a valid annotation. */
  #lastAppliedFields(live: JsonObject): FieldSet | undefined {
    const lastApplied = parse(textAt(live, "metadata", "annotations", lastAppliedAnnotation));
    const apiVersion = textAt(lastApplied, "apiVersion");
    if (!isJsonObject(lastApplied) || apiVersion !== this.#options.apiVersion) {
      return undefined;
    }
    const { type } = this.#updater;
    if (validate(type, lastApplied) ?? validate(type, live)) return undefined;
    const { modified, added, removed } = compareValues(type, lastApplied, live);
    return fieldSetOf(type, lastApplied).difference(modified).difference(added).difference(removed);
  }

  /** The checks of the real server, in its order and with its messages. */
  #refuseInvalid(applied: JsonObject): void {
    const { apiVersion, kind } = this.#options;
    const given = gvkText(textAt(applied, "apiVersion"), textAt(applied, "kind"));
    if (given !== gvkText(apiVersion, kind)) {
      throw badRequest(`invalid object type: ${given}`);
    }
    if (Array.isArray(valueAt(applied, "metadata", "managedFields"))) {
      throw badRequest("metadata.managedFields must be nil");
    }
    const problem = validate(this.#updater.type, applied);
    if (problem !== undefined) {
      const message = `failed to create typed patch object (${objectText(applied)}): ${problem}`;
      throw new ApiError(500, "", message);
    }
  }

  #entry(manager: string, operation: Operation): ManagedFieldsEntry {
    const { apiVersion, subresource } = this.#options;
    return {
      manager: manager === "" ? "unknown" : manager,
      operation,
      apiVersion,
      subresource,
      time: undefined,
      fields: new FieldSet(),
    };
  }

  #now(): string {
    return toTime(this.#options.clock.wallMs());
  }
}

/** `default/web; apps/v1, Kind=Deployment`: an object in messages. */
export function objectText(object: JsonObject): string {
  const place = `${textAt(object, "metadata", "namespace")}/${textAt(object, "metadata", "name")}`;
  return `${place}; ${gvkText(textAt(object, "apiVersion"), textAt(object, "kind"))}`;
}

/** `apps/v1, Kind=Deployment`; the core group is empty: `/v1, Kind=Pod`. */
export function gvkText(apiVersion: string, kind: string): string {
  return `${apiVersion.includes("/") ? "" : "/"}${apiVersion}, Kind=${kind}`;
}

const metadataPath = (field: string) => [fieldElement("metadata"), fieldElement(field)];

/** Fields without owners: they identify the object, or only the server sets them. */
const strippedFields = FieldSet.of(
  [fieldElement("apiVersion")],
  [fieldElement("kind")],
  [fieldElement("metadata")],
  metadataPath("name"),
  metadataPath("namespace"),
  metadataPath("creationTimestamp"),
  metadataPath("selfLink"),
  metadataPath("uid"),
  metadataPath("clusterName"),
  metadataPath("generation"),
  metadataPath("managedFields"),
  metadataPath("resourceVersion"),
);

/** The configuration of the last client-side `kubectl apply`. */
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** Updates the annotation, if there is one, for clients that return to client-side apply. */
function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  if (textAt(object, "metadata", "annotations", lastAppliedAnnotation) === "") return object;
  const metadata = objectAt(object, "metadata") ?? {};
  const annotations: JsonObject = {
    ...objectAt(metadata, "annotations"),
    [lastAppliedAnnotation]: lastAppliedText(applied),
  };
  if (bytesOf(annotations) > annotationsMaxBytes) delete annotations[lastAppliedAnnotation];
  return { ...object, metadata: { ...metadata, annotations } };
}

function lastAppliedText(applied: JsonObject): string {
  const metadata = { ...objectAt(applied, "metadata") };
  const annotations = objectAt(metadata, "annotations");
  if (annotations === undefined) {
    delete metadata["annotations"];
  } else {
    const { [lastAppliedAnnotation]: _, ...others } = annotations;
    metadata["annotations"] = others;
  }
  return `${goJson(sorted({ ...applied, metadata }))}\n`;
}

/** Go encodes the keys of maps in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

function bytesOf(annotations: JsonObject): number {
  return Object.entries(annotations).reduce(
    (bytes, [key, value]) => bytes + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
}

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // An annotation that is not JSON counts as missing.
    return undefined;
  }
}
