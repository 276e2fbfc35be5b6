// Whose fields they are before a write, as the objects in the request and in the storage say.
import { isJsonObject, type JsonObject, valueAt } from "../kinds/fields.ts";
import { decodeOwnership, type Ownership, OwnershipError } from "./ownership.ts";
import { PathElementError } from "./path-element.ts";
import { ListItemError } from "./typed-value.ts";

/**
 * Clients may write `managedFields` as they are, and reset them by an empty list or entry. Whoever
 * leaves them out, or sends what makes no sense, does not change them.
 */
export function ownershipForUpdate(
  live: JsonObject | undefined,
  updated: JsonObject,
  subresource: string,
): Ownership {
  const given = managedFieldsOf(updated);
  if (subresource === "" && given !== undefined) {
    if (isReset(given)) return new Map();
    const ownership = decodeOrEmpty(given);
    if (ownership.size > 0) return ownership;
  }
  return decodeOrEmpty(managedFieldsOf(live));
}

function decodeOrEmpty(entries: readonly unknown[] | undefined): Ownership {
  try {
    return decodeOwnership(entries);
  } catch (error) {
    if (isMisfit(error)) return new Map();
    throw error;
  }
}

function isReset([first, ...more]: readonly unknown[]): boolean {
  if (first === undefined) return true;
  return more.length === 0 && isJsonObject(first) && Object.keys(first).length === 0;
}

export function managedFieldsOf(object: JsonObject | undefined): readonly unknown[] | undefined {
  const entries = valueAt(object, "metadata", "managedFields");
  return Array.isArray(entries) ? entries : undefined;
}

/** Something that could not be understood, in objects that are otherwise fine. */
export function isMisfit(error: unknown): boolean {
  return (
    error instanceof OwnershipError ||
    error instanceof PathElementError ||
    error instanceof ListItemError
  );
}
