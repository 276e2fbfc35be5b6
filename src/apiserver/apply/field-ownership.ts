// Field ownership of one kind, through one of its subresources: what `managedFields` an object has
// after an ordinary write, and what object comes of applying a configuration. Every function reads
// the ownership from the objects and leaves them as they are.
import { type Clock, toTime } from "../../environment/clock.ts";
import { ApiError } from "../api-error.ts";
import { badRequest } from "../decode/body.ts";
import { isJsonObject, type JsonObject, textAt, valueAt } from "../kinds/fields.ts";
import { conflictError } from "./conflict-error.ts";
import { FieldSet } from "./field-set.ts";
import { isMisfit, managedFieldsOf, ownershipForUpdate } from "./given-ownership.ts";
import { lastAppliedFields, withLastApplied } from "./last-applied.ts";
import {
  decodeOwnership,
  encodeOwnership,
  type Operation,
  type Owner,
  type Ownership,
  ownerKey,
} from "./ownership.ts";
import {
  applyFields,
  FieldConflicts,
  type FieldRules,
  ownershipAfterUpdate,
  ownType,
} from "./ownership-change.ts";
import { fieldElement } from "./path-element.ts";
import { capUpdateOwners } from "./update-owners.ts";
import { validate } from "./validate.ts";

export interface FieldOwnershipOptions {
  readonly rules: FieldRules;
  readonly kind: string;
  /** "" is the object itself. */
  readonly subresource: string;
  /** What an object is before anybody has set anything. */
  readonly empty: () => JsonObject;
  readonly clock: Clock;
  /** Objects have owners from their creation on, or only from when they are first applied. */
  readonly trackFrom: "creation" | "first-apply";
}

/** `live` is undefined when there was no object before. */
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
  /** Without defaults for what is new in it. */
  readonly object: JsonObject;
  readonly managedFields: JsonObject[] | undefined;
}

/** `kubectl apply` hands its fields over to itself when it starts to apply on the server. */
const kubectlManager = "kubectl";

/** Owns what was there when nobody had been recorded yet. */
const beforeApplyManager = "before-first-apply";

export class FieldOwnership {
  readonly #options: FieldOwnershipOptions;

  constructor(options: FieldOwnershipOptions) {
    this.#options = options;
  }

  /** `managedFields` after an ordinary write. Never refuses: what makes no sense is forgotten. */
  afterUpdate({ live, updated, manager }: FieldUpdate): JsonObject[] | undefined {
    const { empty, subresource, trackFrom } = this.#options;
    try {
      const ownership = ownershipForUpdate(live, updated, subresource);
      const isTracked = ownership.size > 0 || (live === undefined && trackFrom === "creation");
      return isTracked
        ? encodeOwnership(this.#ownUpdated(live ?? empty(), updated, ownership, manager))
        : undefined;
    } catch (error) {
      if (isMisfit(error)) return undefined;
      throw error;
    }
  }

  /** Throws an `ApiError` for a configuration that does not fit or conflicts with others. */
  apply(request: FieldApply): ApplyResult {
    const { empty } = this.#options;
    const live = request.live ?? empty();
    let ownership = decodeOwnership(managedFieldsOf(live));
    if (ownership.size === 0) {
      ownership = this.#ownUpdated(empty(), live, ownership, beforeApplyManager);
    }
    this.#refuseMisfit(request.applied);
    const isKubectl = request.manager === kubectlManager;
    try {
      const result = isKubectl
        ? this.#applyAsKubectl(request, live, ownership)
        : this.#apply(request, live, ownership);
      return {
        object: isKubectl ? withLastApplied(result.object, request.applied) : result.object,
        managedFields: encodeOwnership(result.ownership),
      };
    } catch (error) {
      throw error instanceof FieldConflicts ? conflictError(error.conflicts) : error;
    }
  }

  #apply(
    { applied, manager, isForced }: Omit<FieldApply, "live">,
    live: JsonObject,
    ownership: Ownership,
  ): { readonly object: JsonObject; readonly ownership: Ownership } {
    const applier = this.#owner(manager, "Apply");
    const application = { live, applied, applier, isForced };
    const after = applyFields(this.#options.rules, application, ownership);
    const isChanged = after.merged !== undefined;
    const owner = after.ownership.get(ownerKey(applier));
    if (owner !== undefined) {
      setOwner(after.ownership, isChanged ? { ...owner, time: this.#now() } : owner);
    }
    const object = isJsonObject(after.merged) ? after.merged : live;
    return { object, ownership: after.ownership };
  }

  /** What kubectl applied by its client-side form, and is still so, is its own and no conflict. */
  #applyAsKubectl(
    request: FieldApply,
    live: JsonObject,
    ownership: Ownership,
  ): { readonly object: JsonObject; readonly ownership: Ownership } {
    try {
      return this.#apply(request, live, ownership);
    } catch (error) {
      if (!(error instanceof FieldConflicts)) throw error;
      const own = lastAppliedFields(this.#options.rules, live);
      if (own === undefined) throw error;
      const conflicts = error.conflicts.filter(({ path }) => !own.has(path));
      if (conflicts.length > 0) throw new FieldConflicts(conflicts);
      return this.#apply({ ...request, isForced: true }, live, ownership);
    }
  }

  #ownUpdated(
    live: JsonObject,
    updated: JsonObject,
    ownership: Ownership,
    manager: string,
  ): Ownership {
    const after = ownershipAfterUpdate(this.#options.rules, { live, updated }, ownership);
    const changed = after.changed.difference(strippedFields);
    if (!changed.isEmpty) {
      const owner = this.#owner(manager, "Update");
      const before = after.ownership.get(ownerKey(owner));
      const fields = before === undefined ? changed : changed.union(before.fields);
      after.ownership.set(ownerKey(owner), { ...owner, time: this.#now(), fields });
    }
    capUpdateOwners(after.ownership);
    return after.ownership;
  }

  /** The checks of the real server, in its order and words. */
  #refuseMisfit(applied: JsonObject): void {
    const { rules, kind } = this.#options;
    const given = gvkText(textAt(applied, "apiVersion"), textAt(applied, "kind"));
    if (given !== gvkText(rules.apiVersion, kind)) {
      throw badRequest(`invalid object type: ${given}`);
    }
    if (Array.isArray(valueAt(applied, "metadata", "managedFields"))) {
      throw badRequest("metadata.managedFields must be nil");
    }
    const problem = validate(ownType(rules), applied);
    if (problem !== undefined) {
      const message = `failed to create typed patch object (${objectText(applied)}): ${problem}`;
      throw new ApiError(500, "", message);
    }
  }

  #owner(manager: string, operation: Operation): Owner {
    const { rules, subresource } = this.#options;
    return {
      manager: manager === "" ? "unknown" : manager,
      operation,
      apiVersion: rules.apiVersion,
      subresource,
      time: undefined,
      fields: new FieldSet(),
    };
  }

  #now(): string {
    return toTime(this.#options.clock.wallMs());
  }
}

/** `default/web; apps/v1, Kind=Deployment`, as messages name an object. */
export function objectText(object: JsonObject): string {
  const place = `${textAt(object, "metadata", "namespace")}/${textAt(object, "metadata", "name")}`;
  return `${place}; ${gvkText(textAt(object, "apiVersion"), textAt(object, "kind"))}`;
}

/** `apps/v1, Kind=Deployment`; the core group is empty: `/v1, Kind=Pod`. */
export function gvkText(apiVersion: string, kind: string): string {
  return `${apiVersion.includes("/") ? "" : "/"}${apiVersion}, Kind=${kind}`;
}

const metadataPath = (field: string) => [fieldElement("metadata"), fieldElement(field)];

/** Nobody owns these: they are who the object is, or the server's alone. */
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

/** An owner that owns nothing is none. */
function setOwner(ownership: Ownership, owner: Owner): void {
  const fields = owner.fields.difference(strippedFields);
  if (fields.isEmpty) {
    ownership.delete(ownerKey(owner));
  } else {
    ownership.set(ownerKey(owner), { ...owner, fields });
  }
}
