// How a change of an object changes who owns its fields. An update owns what it changed, and what
// it changed is taken from everybody else; whoever applies owns what he applied, and taking over
// what another owns with another value is a conflict, unless he insists.
import { isDeepStrictEqual } from "node:util";
import { type Comparison, compareValues, excludeFields } from "./compare.ts";
import type { FieldSet } from "./field-set.ts";
import { type Owner, type Ownership, ownerKey } from "./ownership.ts";
import type { PathElement } from "./path-element.ts";
import { pruneUnowned } from "./prune-unowned.ts";
import { fieldSetOf, mergeValues } from "./typed-value.ts";
import type { ValueType } from "./value-type.ts";

/** What is known of a kind's versions, and which fields of it a request cannot change. */
export interface FieldRules {
  /** The version of the request. */
  readonly apiVersion: string;
  /** Undefined for a version that is no longer served: its owners are forgotten. */
  typeAt(apiVersion: string): ValueType | undefined;
  /** Fields that the server resets, by version; nobody comes to own them by this request. */
  resetFields(apiVersion: string): FieldSet;
}

export interface FieldConflict {
  readonly owner: Owner;
  readonly path: readonly PathElement[];
}

/** What was applied belongs to others, with other values. */
export class FieldConflicts extends Error {
  override readonly name = "FieldConflicts";
  readonly conflicts: readonly FieldConflict[];

  constructor(conflicts: readonly FieldConflict[]) {
    super("apply failed with conflicts");
    this.conflicts = conflicts;
  }
}

/** After an ordinary write: what the writer changed, and what is left to the others. */
export function ownershipAfterUpdate(
  rules: FieldRules,
  objects: { readonly live: unknown; readonly updated: unknown },
  ownership: Ownership,
): { readonly changed: FieldSet; readonly ownership: Ownership } {
  const { live, updated } = objects;
  const reconciled = reconcileOwnership(rules, ownership);
  const { others, comparison } = takeChanged(rules, live, updated, reconciled, {
    except: undefined,
    isForced: true,
  });
  const changed = comparison.modified
    .union(comparison.added)
    .recursiveDifference(rules.resetFields(rules.apiVersion));
  return { changed, ownership: others };
}

export interface Application {
  readonly live: unknown;
  readonly applied: unknown;
  /** All of the applier but its fields. */
  readonly applier: Owner;
  readonly isForced: boolean;
}

/** The merged object, or undefined when it is the live one. Throws `FieldConflicts`. */
export function applyFields(
  rules: FieldRules,
  application: Application,
  ownership: Ownership,
): { readonly merged: unknown; readonly ownership: Ownership } {
  const { live, applied, applier, isForced } = application;
  const type = ownType(rules);
  const owners = reconcileOwnership(rules, ownership);
  const merged = mergeValues(type, live, applied);
  const key = ownerKey(applier);
  const before = owners.get(key);
  const fields = fieldSetOf(type, applied).recursiveDifference(rules.resetFields(rules.apiVersion));
  owners.set(key, { ...applier, time: before?.time, fields });
  const pruned = pruneUnowned(rules, merged, owners, before);
  const { others } = takeChanged(rules, live, pruned, owners, { except: key, isForced });
  const isSame = isDeepStrictEqual(live, pruned);
  return { merged: isSame ? undefined : pruned, ownership: others };
}

export function ownType(rules: FieldRules): ValueType {
  const type = rules.typeAt(rules.apiVersion);
  if (type === undefined) throw new Error(`no type for ${rules.apiVersion}`);
  return type;
}

/** Takes from all owners but one what is no longer as they wanted it. */
function takeChanged(
  rules: FieldRules,
  before: unknown,
  after: unknown,
  ownership: Ownership,
  options: { readonly except: string | undefined; readonly isForced: boolean },
): { readonly others: Ownership; readonly comparison: Comparison } {
  const comparisons = new Map<string, Comparison>();
  const comparisonAt = (apiVersion: string): Comparison | undefined => {
    const known = comparisons.get(apiVersion);
    const type = rules.typeAt(apiVersion);
    if (known !== undefined || type === undefined) return known;
    const all = compareValues(type, before, after);
    const comparison = excludeFields(all, rules.resetFields(apiVersion));
    comparisons.set(apiVersion, comparison);
    return comparison;
  };
  const comparison = comparisonAt(rules.apiVersion);
  if (comparison === undefined) throw new Error(`no type for ${rules.apiVersion}`);
  const others: Ownership = new Map();
  const conflicts: FieldConflict[] = [];
  for (const [key, owner] of ownership) {
    const theirs = key === options.except ? undefined : comparisonAt(owner.apiVersion);
    if (theirs === undefined) {
      if (key === options.except) others.set(key, owner);
      continue;
    }
    const lost = owner.fields.intersection(theirs.modified.union(theirs.added));
    conflicts.push(...lost.paths().map((path) => ({ owner, path })));
    others.set(key, { ...owner, fields: owner.fields.difference(lost).difference(theirs.removed) });
  }
  if (!options.isForced && conflicts.length > 0) throw new FieldConflicts(conflicts);
  for (const [key, owner] of others) {
    if (owner.fields.isEmpty) others.delete(key);
  }
  return { others, comparison };
}

function reconcileOwnership(rules: FieldRules, ownership: Ownership): Ownership {
  const result: Ownership = new Map();
  for (const [key, owner] of ownership) {
    const type = rules.typeAt(owner.apiVersion);
    if (type !== undefined) {
      result.set(key, { ...owner, fields: owner.fields.reconciledWith(type) });
    }
  }
  return result;
}
