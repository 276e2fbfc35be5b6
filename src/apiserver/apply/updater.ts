// Updates and applies: how a write changes the object and the owners of its fields. A manager that
// updates owns the fields it changes, and all other managers lose them. A manager that applies owns
// the applied fields; another value than that of another owner is a conflict, unless it is forced.
import { isDeepStrictEqual } from "node:util";
import { ApiError } from "../api-error.ts";
import { type Comparison, compareValues, excludeFields } from "./compare.ts";
import { FieldSet } from "./field-set.ts";
import { type ManagedFields, type ManagedFieldsEntry, managerKey } from "./managed-fields.ts";
import { type PathElement, showPath } from "./path-element.ts";
import { fieldSetOf, mergeValues, removeItems } from "./typed-value.ts";
import type { ValueType } from "./value-type.ts";

/** The types of a kind's versions, and the fields that a request cannot change. */
export interface UpdaterOptions {
  /** The version of the request. */
  readonly apiVersion: string;
  /** Undefined for a version that is not served any more: its managers are dropped. */
  readonly typeAt: (apiVersion: string) => ValueType | undefined;
  /** Fields that the server resets, by version. The request cannot own them. */
  readonly resetFields: (apiVersion: string) => FieldSet;
}

export interface Application {
  readonly live: unknown;
  readonly applied: unknown;
  /** The manager that applies, without its fields. */
  readonly applier: ManagedFieldsEntry;
  readonly isForced: boolean;
}

export interface FieldConflict {
  readonly owner: ManagedFieldsEntry;
  readonly path: readonly PathElement[];
}

/** Applied fields that other managers own with other values. */
export class FieldConflicts extends Error {
  override readonly name = "FieldConflicts";
  readonly conflicts: readonly FieldConflict[];

  constructor(conflicts: readonly FieldConflict[]) {
    super("apply failed with conflicts");
    this.conflicts = conflicts;
  }

  /** 409, with each field and its owner. */
  toApiError(): ApiError {
    const causes = this.conflicts.map(({ owner, path }) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${managerText(owner)}`,
      field: showPath(path),
    }));
    return new ApiError(409, "Conflict", conflictMessage(this.conflicts), { causes });
  }
}

export class Updater {
  readonly #options: UpdaterOptions;

  constructor(options: UpdaterOptions) {
    this.#options = options;
  }

  /** The type of the request's version. */
  get type(): ValueType {
    const { apiVersion } = this.#options;
    const type = this.#options.typeAt(apiVersion);
    if (type === undefined) throw new Error(`no type for ${apiVersion}`);
    return type;
  }

  /** The fields that the update changes, and the managers after it without the one that updates. */
  update(
    objects: { readonly live: unknown; readonly updated: unknown },
    managers: ManagedFields,
  ): { readonly changed: FieldSet; readonly managers: ManagedFields } {
    const { live, updated } = objects;
    const after = this.#disown(live, updated, this.#reconciled(managers), {
      applier: undefined,
      isForced: true,
    });
    const { modified, added } = after.comparison;
    return { changed: modified.union(added), managers: after.managers };
  }

  /** The merged object, or undefined if it equals the live one. Throws `FieldConflicts`. */
  apply(
    { live, applied, applier, isForced }: Application,
    given: ManagedFields,
  ): { readonly merged: unknown; readonly managers: ManagedFields } {
    const { apiVersion, resetFields } = this.#options;
    const { type } = this;
    const managers = this.#reconciled(given);
    const merged = mergeValues(type, live, applied);
    const key = managerKey(applier);
    const before = managers.get(key);
    const fields = fieldSetOf(type, applied).recursiveDifference(resetFields(apiVersion));
    managers.set(key, { ...applier, time: before?.time, fields });
    const pruned = this.#prune(merged, managers, before);
    const after = this.#disown(live, pruned, managers, { applier: key, isForced });
    const isSame = isDeepStrictEqual(live, pruned);
    return { merged: isSame ? undefined : pruned, managers: after.managers };
  }

  /** Removes changed fields from all managers except the applier. */
  #disown(
    before: unknown,
    after: unknown,
    managers: ManagedFields,
    options: { readonly applier: string | undefined; readonly isForced: boolean },
  ): { readonly managers: ManagedFields; readonly comparison: Comparison } {
    const comparisonAt = this.#comparisons(before, after);
    const comparison = comparisonAt(this.#options.apiVersion);
    if (comparison === undefined) throw new Error(`no type for ${this.#options.apiVersion}`);
    const result: ManagedFields = new Map();
    const conflicts: FieldConflict[] = [];
    for (const [key, owner] of managers) {
      if (key === options.applier) {
        result.set(key, owner);
        continue;
      }
      const theirs = comparisonAt(owner.apiVersion);
      if (theirs === undefined) continue;
      const lost = owner.fields.intersection(theirs.modified.union(theirs.added));
      conflicts.push(...lost.paths().map((path) => ({ owner, path })));
      const fields = owner.fields.difference(lost).difference(theirs.removed);
      result.set(key, { ...owner, fields });
    }
    if (!options.isForced && conflicts.length > 0) throw new FieldConflicts(conflicts);
    for (const [key, owner] of result) {
      if (owner.fields.isEmpty) result.delete(key);
    }
    return { managers: result, comparison };
  }

  /** Compares two objects in each version at most once; undefined for a version not served. */
  #comparisons(before: unknown, after: unknown): (apiVersion: string) => Comparison | undefined {
    const { typeAt, resetFields } = this.#options;
    const comparisons = new Map<string, Comparison>();
    return (apiVersion) => {
      const known = comparisons.get(apiVersion);
      const type = typeAt(apiVersion);
      if (known !== undefined || type === undefined) return known;
      const all = compareValues(type, before, after);
      const comparison = excludeFields(all, resetFields(apiVersion));
      comparisons.set(apiVersion, comparison);
      return comparison;
    };
  }

  /**
   * The merged object without the fields that the applier no longer applies, unless another manager
   * owns them. `last` is the applier's entry before; `managers` has its new one.
   */
  #prune(merged: unknown, managers: ManagedFields, last: ManagedFieldsEntry | undefined): unknown {
    if (last === undefined || last.fields.isEmpty) return merged;
    const type = this.#options.typeAt(last.apiVersion);
    if (type === undefined) return merged;
    const lastFields = last.fields.withNamedFields(type);
    const removed = removeItems(type, merged, lastFields);
    const pruned = this.#addBackOwned(merged, removed, { managers, first: last.apiVersion });
    const kept = fieldSetOf(type, pruned).withNamedFields(type);
    const all = fieldSetOf(type, merged).withNamedFields(type);
    return removeItems(type, merged, all.difference(kept).intersection(lastFields));
  }

  /** Adds the removed fields that a manager, the applier included, still owns. */
  #addBackOwned(
    merged: unknown,
    removed: unknown,
    { managers, first }: { readonly managers: ManagedFields; readonly first: string },
  ): unknown {
    const byVersion = new Map<string, FieldSet>([[first, new FieldSet()]]);
    for (const { apiVersion, fields } of managers.values()) {
      byVersion.set(apiVersion, byVersion.get(apiVersion)?.union(fields) ?? fields);
    }
    let pruned = removed;
    for (const [apiVersion, fields] of byVersion) {
      const type = this.#options.typeAt(apiVersion);
      if (type === undefined) continue;
      const all = fieldSetOf(type, merged).withNamedFields(type);
      const kept = fieldSetOf(type, pruned).withNamedFields(type);
      const owned = fields.withNamedFields(type);
      pruned = removeItems(type, merged, all.difference(kept.union(owned)));
    }
    return pruned;
  }

  /** Field sets in terms of today's schema, without versions that are not served any more. */
  #reconciled(managers: ManagedFields): ManagedFields {
    const result: ManagedFields = new Map();
    for (const [key, entry] of managers) {
      const type = this.#options.typeAt(entry.apiVersion);
      if (type !== undefined) {
        result.set(key, { ...entry, fields: entry.fields.reconciledWith(type) });
      }
    }
    return result;
  }
}

function conflictMessage(conflicts: readonly FieldConflict[]): string {
  const [only, ...more] = conflicts;
  if (only !== undefined && more.length === 0) {
    const place = showPath(only.path);
    return `Apply failed with 1 conflict: conflict with ${managerText(only.owner)}: ${place}`;
  }
  const byOwner = new Map<string, FieldConflict[]>();
  for (const conflict of conflicts) {
    const key = managerKey(conflict.owner);
    byOwner.set(key, [...(byOwner.get(key) ?? []), conflict]);
  }
  const lines = [...byOwner.keys()].sort().flatMap((key) => {
    const theirs = byOwner.get(key) ?? [];
    const headings = theirs.slice(0, 1).map(({ owner }) => `conflicts with ${managerText(owner)}:`);
    return [...headings, ...theirs.map(({ path }) => `- ${showPath(path)}`)];
  });
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

function managerText({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const place = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  const how = operation === "Update" ? ` using ${apiVersion}` : "";
  return `${JSON.stringify(manager)}${place}${how}`;
}
