// Who owns which fields of one object: the inside of `metadata.managedFields`. An owner is told
// apart by its name, what it does (apply or update), through which subresource and, if it updates,
// in which version; the time of its last change goes along.
import { isJsonObject, type JsonObject, textAt } from "../kinds/fields.ts";
import { FieldSet } from "./field-set.ts";
import { compareText, goJson } from "./path-element.ts";

export type Operation = "Apply" | "Update";

export interface Owner {
  readonly manager: string;
  readonly operation: Operation;
  /** The version in which the fields are named. */
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** By `ownerKey`. */
export type Ownership = Map<string, Owner>;

/** Thrown for entries that cannot be understood. */
export class OwnershipError extends Error {
  override readonly name = "OwnershipError";
}

type Identity = Pick<Owner, "manager" | "operation" | "apiVersion" | "subresource">;

/** One text for one owner. Texts sort as the real server's, which decides who is merged first. */
export function ownerKey({ manager, operation, apiVersion, subresource }: Identity): string {
  return goJson({
    ...(manager === "" ? {} : { manager }),
    operation,
    ...(operation === "Apply" ? {} : { apiVersion }),
    ...(subresource === "" ? {} : { subresource }),
  });
}

/** Throws an `OwnershipError` or a `PathElementError`. */
export function decodeOwnership(entries: readonly unknown[] | undefined): Ownership {
  const ownership: Ownership = new Map();
  for (const [index, entry] of (entries ?? []).entries()) {
    const owner = decodeOwner(entry, index);
    ownership.set(ownerKey(owner), owner);
  }
  return ownership;
}

function decodeOwner(entry: unknown, index: number): Owner {
  const operation = textAt(entry, "operation");
  if (operation !== "Apply" && operation !== "Update") {
    throw new OwnershipError("operation must be `Apply` or `Update`");
  }
  const apiVersion = textAt(entry, "apiVersion");
  if (apiVersion === "") {
    throw new OwnershipError("apiVersion must not be empty");
  }
  const fieldsType = textAt(entry, "fieldsType");
  if (fieldsType !== "FieldsV1") {
    throw new OwnershipError(
      fieldsType === ""
        ? `missing fieldsType in managed fields entry ${index}`
        : `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`,
    );
  }
  const time = textAt(entry, "time");
  return {
    manager: textAt(entry, "manager"),
    operation,
    apiVersion,
    subresource: textAt(entry, "subresource"),
    time: time === "" ? undefined : time,
    fields: FieldSet.fromFieldsV1(isJsonObject(entry) ? (entry["fieldsV1"] ?? {}) : {}),
  };
}

/** Undefined when nobody owns anything. */
export function encodeOwnership(ownership: Ownership): JsonObject[] | undefined {
  if (ownership.size === 0) return undefined;
  return [...ownership.values()].sort(compareOwners).map((owner) => ({
    ...(owner.manager === "" ? {} : { manager: owner.manager }),
    operation: owner.operation,
    apiVersion: owner.apiVersion,
    ...(owner.time === undefined ? {} : { time: owner.time }),
    fieldsType: "FieldsV1",
    fieldsV1: owner.fields.toFieldsV1(),
    ...(owner.subresource === "" ? {} : { subresource: owner.subresource }),
  }));
}

/** Seconds since 1970, 0 for none: times are told apart by the second. */
export function ownerSeconds({ time }: Pick<Owner, "time">): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);
}

function compareOwners(a: Owner, b: Owner): number {
  return (
    compareText(a.operation, b.operation) ||
    ownerSeconds(a) - ownerSeconds(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}
