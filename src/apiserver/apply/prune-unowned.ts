// What an applier mentioned the last time and does not mention now is removed, if nobody else owns
// it. Only what he owned can go: what lies beside it, or was there before, stays.
import { FieldSet } from "./field-set.ts";
import type { Owner, Ownership } from "./ownership.ts";
import { fieldSetOf, removeItems } from "./typed-value.ts";
import type { ValueType } from "./value-type.ts";

interface Types {
  typeAt(apiVersion: string): ValueType | undefined;
}

/** `last` is the applier as it was before; `ownership` has it as it is now. */
export function pruneUnowned(
  types: Types,
  merged: unknown,
  ownership: Ownership,
  last: Owner | undefined,
): unknown {
  if (last === undefined || last.fields.isEmpty) return merged;
  const type = types.typeAt(last.apiVersion);
  if (type === undefined) return merged;
  const lastFields = last.fields.withNamedFields(type);
  const removed = removeItems(type, merged, lastFields);
  const pruned = addBackOwned(types, merged, removed, { ownership, first: last.apiVersion });
  const kept = fieldSetOf(type, pruned).withNamedFields(type);
  const all = fieldSetOf(type, merged).withNamedFields(type);
  return removeItems(type, merged, all.difference(kept).intersection(lastFields));
}

/** Puts back what any owner, or the applier by its new configuration, still owns. */
function addBackOwned(
  types: Types,
  merged: unknown,
  removed: unknown,
  { ownership, first }: { readonly ownership: Ownership; readonly first: string },
): unknown {
  const byVersion = new Map<string, FieldSet>([[first, new FieldSet()]]);
  for (const { apiVersion, fields } of ownership.values()) {
    byVersion.set(apiVersion, byVersion.get(apiVersion)?.union(fields) ?? fields);
  }
  let pruned = removed;
  for (const [apiVersion, fields] of byVersion) {
    const type = types.typeAt(apiVersion);
    if (type === undefined) continue;
    const all = fieldSetOf(type, merged).withNamedFields(type);
    const kept = fieldSetOf(type, pruned).withNamedFields(type);
    const owned = fields.withNamedFields(type);
    pruned = removeItems(type, merged, all.difference(kept.union(owned)));
  }
  return pruned;
}
