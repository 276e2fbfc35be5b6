// `metadata.managedFields` of one object: for each manager the fields it owns. Managers are
// identified by name, operation (apply or update), subresource and, for updates, apiVersion.

import { goJson } from "../decode/go-format.ts";
import { isJsonObject, type JsonObject, textAt, valueAt } from "../kinds/fields.ts";
import { FieldSet } from "./field-set.ts";
import { compareText, PathElementError } from "./path-element.ts";

export type Operation = "Apply" | "Update";

export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: Operation;
  /** The version that has the fields. */
  readonly apiVersion: string;
  readonly subresource: string;
  /** Of the manager's last change. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** By `managerKey`. */
export type ManagedFields = Map<string, ManagedFieldsEntry>;

/** Entries that cannot be decoded. */
export class ManagedFieldsError extends Error {
  override readonly name = "ManagedFieldsError";
}

type ManagerIdentity = Pick<
  ManagedFieldsEntry,
  "manager" | "operation" | "apiVersion" | "subresource"
>;

/** Identifies a manager. Keys sort as in the real server: the order decides the order of merges. */
export function managerKey(identity: ManagerIdentity): string {
  const { manager, operation, apiVersion, subresource } = identity;
  return goJson({
    ...(manager === "" ? {} : { manager }),
    operation,
    ...(operation === "Apply" ? {} : { apiVersion }),
    ...(subresource === "" ? {} : { subresource }),
  });
}

/** Throws a `ManagedFieldsError` or a `PathElementError`. */
export function decodeManagedFields(entries: readonly unknown[] | undefined): ManagedFields {
  const managers: ManagedFields = new Map();
  for (const [index, json] of (entries ?? []).entries()) {
    const entry = decodeEntry(json, index);
    managers.set(managerKey(entry), entry);
  }
  return managers;
}

function decodeEntry(json: unknown, index: number): ManagedFieldsEntry {
  const operation = textAt(json, "operation");
  if (operation !== "Apply" && operation !== "Update") {
    throw new ManagedFieldsError("operation must be `Apply` or `Update`");
  }
  const apiVersion = textAt(json, "apiVersion");
  if (apiVersion === "") {
    throw new ManagedFieldsError("apiVersion must not be empty");
  }
  const fieldsType = textAt(json, "fieldsType");
  if (fieldsType !== "FieldsV1") {
    throw new ManagedFieldsError(
      fieldsType === ""
        ? `missing fieldsType in managed fields entry ${index}`
        : `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`,
    );
  }
  const time = textAt(json, "time");
  return {
    manager: textAt(json, "manager"),
    operation,
    apiVersion,
    subresource: textAt(json, "subresource"),
    time: time === "" ? undefined : time,
    fields: FieldSet.fromFieldsV1(isJsonObject(json) ? (json["fieldsV1"] ?? {}) : {}),
  };
}

/** Undefined if no field has a manager. */
export function encodeManagedFields(managers: ManagedFields): JsonObject[] | undefined {
  if (managers.size === 0) return undefined;
  return [...managers.values()].sort(compareEntries).map((entry) => ({
    ...(entry.manager === "" ? {} : { manager: entry.manager }),
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: "FieldsV1",
    fieldsV1: entry.fields.toFieldsV1(),
    ...(entry.subresource === "" ? {} : { subresource: entry.subresource }),
  }));
}

/** Seconds since 1970, 0 without a time: entries are compared by the second. */
function entrySeconds({ time }: ManagedFieldsEntry): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);
}

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    entrySeconds(a) - entrySeconds(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

/** The entries of an object as they are in its JSON. */
export function encodedManagedFields(
  object: JsonObject | undefined,
): readonly unknown[] | undefined {
  const entries = valueAt(object, "metadata", "managedFields");
  return Array.isArray(entries) ? entries : undefined;
}

/**
 * The managed fields that an update starts from. A client may send changed entries, and reset them
 * with an empty list or one empty entry. Without entries, or with malformed ones, they do not
 * change.
 */
export function managedFieldsForUpdate(
  live: JsonObject | undefined,
  updated: JsonObject,
  subresource: string,
): ManagedFields {
  const given = encodedManagedFields(updated);
  if (subresource === "" && given !== undefined) {
    if (isReset(given)) return new Map();
    const managers = decodeOrEmpty(given);
    if (managers.size > 0) return managers;
  }
  return decodeOrEmpty(encodedManagedFields(live));
}

function decodeOrEmpty(entries: readonly unknown[] | undefined): ManagedFields {
  try {
    return decodeManagedFields(entries);
  } catch (error) {
    const isMalformed = error instanceof ManagedFieldsError || error instanceof PathElementError;
    if (isMalformed) return new Map();
    throw error;
  }
}

function isReset([first, ...more]: readonly unknown[]): boolean {
  if (first === undefined) return true;
  return more.length === 0 && isJsonObject(first) && Object.keys(first).length === 0;
}

/** As in k8s.io/apimachinery/pkg/util/managedfields. */
const maxUpdateManagers = 10;

const ancientManager = "ancient-changes";

/**
 * Merges the oldest managers of updates into `ancient-changes`, so that an object which new
 * clients keep updating does not grow without bound. Changes the given map.
 */
export function capUpdateManagers(managers: ManagedFields): void {
  const updaters = [...managers].filter(([, entry]) => entry.operation === "Update");
  let count = updaters.length;
  if (count <= maxUpdateManagers) return;
  updaters.sort(compareByAge);
  const firstOfVersion = new Map<string, string>();
  for (const [key, entry] of updaters) {
    if (count <= maxUpdateManagers) return;
    const first = firstOfVersion.get(entry.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(entry.apiVersion, key);
    } else {
      mergeIntoAncient(managers, first, key);
      count--;
    }
  }
}

function mergeIntoAncient(managers: ManagedFields, first: string, key: string): void {
  const entry = managers.get(key);
  if (entry === undefined) return;
  const ancient: ManagedFieldsEntry = {
    ...entry,
    manager: ancientManager,
    operation: "Update",
    subresource: "",
  };
  const ancientKey = managerKey(ancient);
  const before = managers.get(ancientKey) ?? managers.get(first);
  if (!managers.has(ancientKey)) managers.delete(first);
  managers.delete(key);
  // The entry keeps the time of the latest merged change.
  const fields = before === undefined ? entry.fields : entry.fields.union(before.fields);
  managers.set(ancientKey, { ...ancient, fields });
}

function compareByAge(
  [a, left]: [string, ManagedFieldsEntry],
  [b, right]: [string, ManagedFieldsEntry],
): number {
  return entrySeconds(left) - entrySeconds(right) || compareText(a, b);
}
