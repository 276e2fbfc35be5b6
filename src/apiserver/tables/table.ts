// Tables and PartialObjectMetadata: what a client gets that asked for less, or for something to
// show, instead of the objects themselves (`as=Table` in its Accept header).
import type { WallMs } from "../../environment/clock.ts";
import { type JsonObject, objectAt, textAt } from "../kinds/fields.ts";
import type { Column, KindColumns } from "./columns.ts";

export type IncludeObject = "None" | "Metadata" | "Object";

export interface TableOptions {
  readonly kind: KindColumns;
  /** The version of meta.k8s.io that the client asked for. */
  readonly version: string;
  readonly includeObject: IncludeObject;
  readonly now: WallMs;
  /** False after the first event of a watch. */
  readonly headers: boolean;
}

/** `metadata` is that of the list, or of the one object. */
export function tableOf(
  objects: readonly JsonObject[],
  metadata: JsonObject,
  options: TableOptions,
): JsonObject {
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.headers ? options.kind.columns.map(definitionOf) : null,
    rows: objects.map((object) => rowOf(object, options)),
  };
}

/** The metadata of a Table of one object is its version alone. */
export function versionOf(object: JsonObject): JsonObject {
  const resourceVersion = textAt(object, "metadata", "resourceVersion");
  return resourceVersion === "" ? {} : { resourceVersion };
}

export function partialMetadata(object: JsonObject, version: string): JsonObject {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: `meta.k8s.io/${version}`,
    metadata: objectAt(object, "metadata") ?? {},
  };
}

export function partialMetadataList(
  objects: readonly JsonObject[],
  metadata: JsonObject,
  version: string,
): JsonObject {
  return {
    kind: "PartialObjectMetadataList",
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    items: objects.map((object) => partialMetadata(object, version)),
  };
}

/** In the order in which a real server writes the fields. */
function definitionOf({ name, type, format, description, priority }: Column): JsonObject {
  return { name, type, format, description, priority };
}

function rowOf(object: JsonObject, { kind, now, ...options }: TableOptions): JsonObject {
  const conditions = kind.conditions?.(object) ?? [];
  return {
    cells: kind.cells(object, now),
    ...(conditions.length === 0 ? {} : { conditions }),
    object: includedOf(object, options),
  };
}

function includedOf(
  object: JsonObject,
  { includeObject, version }: Pick<TableOptions, "includeObject" | "version">,
): JsonObject | null {
  if (includeObject === "Object") return object;
  // The bookmark that ends a watch's initial events is known by its annotation, so it has to show.
  return includeObject === "Metadata" || endsInitialEvents(object)
    ? partialMetadata(object, version)
    : null;
}

function endsInitialEvents(object: JsonObject): boolean {
  return textAt(object, "metadata", "annotations", "k8s.io/initial-events-end") === "true";
}
