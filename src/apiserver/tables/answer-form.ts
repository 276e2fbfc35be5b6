// The form of one answer: its media type, and whether its object or list becomes a Table or
// PartialObjectMetadata. Verbs answer with objects; the form is applied when the answer is written.
import type { Clock, WallMs } from "../../environment/clock.ts";
import type { IncomingRequest } from "../../environment/network.ts";
import { ApiError } from "../api-error.ts";
import { type AnswerType, type Conversion, negotiate } from "../decode/negotiate.ts";
import type { ResourceRoute } from "../http/route.ts";
import { type JsonObject, objectAt, objectsAt, textAt } from "../kinds/fields.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import { scaleColumns } from "../verbs/scale.ts";
import { type Column, defaultColumns, type KindColumns } from "./columns.ts";

export interface AnswerForm {
  readonly mediaType: AnswerType;
  /** Indented, for people. */
  readonly pretty: boolean;
  /**
   * Absent: everything is answered as it is. Of a watch it shapes one event's object after another.
   */
  readonly shape?: Shape;
}

type Shape = (value: JsonObject) => JsonObject;

export const plainForm: AnswerForm = { mediaType: "application/json", pretty: false };

export function answerForm(
  route: ResourceRoute,
  { headers }: Pick<IncomingRequest, "headers">,
  clock: Clock,
): AnswerForm {
  const { mediaType, pretty, conversion } = negotiate(headers["accept"], askedOf(route));
  const form = { mediaType, pretty: pretty || isForPeople(route.query, headers["user-agent"]) };
  return conversion === undefined ? form : { ...form, shape: shapeOf(route, conversion, clock) };
}

function askedOf({ verb, subresource }: ResourceRoute): Parameters<typeof negotiate>[1] {
  if (subresource === "log") return "log";
  return verb === "list" || verb === "watch" ? verb : "object";
}

/** k8s.io/apiserver/pkg/endpoints/handlers/negotiation isPrettyPrint. */
function isForPeople(query: URLSearchParams, userAgent = ""): boolean {
  const asked = query.get("pretty") ?? "";
  if (asked !== "") return ["1", "t", "T", "true", "TRUE", "True"].includes(asked);
  return /^(?:curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

function shapeOf(route: ResourceRoute, { kind, version }: Conversion, clock: Clock): Shape {
  const isList = route.verb === "list" || route.verb === "deletecollection";
  switch (kind) {
    case "Table":
      return tableShape(route, version, clock);
    case "PartialObjectMetadata":
      return (value) => {
        if (isStatus(value)) return value;
        if (isList) throw unfit(kind, "is a list", `${goType(route.kind)}List`);
        return partialMetadata(value, version);
      };
    case "PartialObjectMetadataList": {
      const notAList = () => unfit(kind, "is not a list", goType(route.kind));
      // A real server accepts such a watch and ends it at the first event that it cannot convert.
      if (route.verb === "watch") throw notAList();
      return (value) => {
        if (isStatus(value)) return value;
        if (!isList) throw notAList();
        return partialMetadataList(objectsAt(value, "items"), metadataOf(value), version);
      };
    }
  }
}

function tableShape(route: ResourceRoute, version: string, clock: Clock): Shape {
  const includeObject = readIncludeObject(route.query);
  const kind =
    route.subresource === "scale" ? scaleColumns : (route.kind.columns ?? defaultColumns);
  const isList = route.verb === "list" || route.verb === "deletecollection";
  let headers = true;
  return (value) => {
    if (isStatus(value)) return value;
    const options = { kind, version, includeObject, now: clock.wallMs(), headers };
    headers = false;
    return isList
      ? tableOf(itemsOf(value, route.kind), metadataOf(value), options)
      : tableOf([value], versionOf(value), options);
  };
}

function readIncludeObject(query: URLSearchParams): IncludeObject {
  const given = query.get("includeObject") ?? "";
  if (given === "None" || given === "Metadata" || given === "Object") return given;
  if (given === "") return "Metadata";
  throw new ApiError(
    400,
    "BadRequest",
    "Unable to convert to Table as requested: includeObject: Invalid value: " +
      `${JSON.stringify(given)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

function isStatus(value: JsonObject): boolean {
  return value["kind"] === "Status" && textAt(value, "apiVersion") === "v1";
}

/** The items of a list have no kind and apiVersion; the objects in rows have them. */
function itemsOf(list: JsonObject, kind: ResourceKind): readonly JsonObject[] {
  const type = { kind: kind.kind, apiVersion: groupVersion(kind) };
  return objectsAt(list, "items").map((item) => ({ ...type, ...item }));
}

function metadataOf(list: JsonObject): JsonObject {
  return objectAt(list, "metadata") ?? {};
}

function unfit(asked: string, problem: string, type: string): ApiError {
  const message = `you requested ${asked}, but the requested object ${problem} (*${type})`;
  return new ApiError(406, "NotAcceptable", message);
}

/** How the real server's messages name the type of an object. */
function goType({ group, kind, custom, storedForm }: ResourceKind): string {
  if (custom !== undefined) return "unstructured.Unstructured";
  const [owner = ""] = group.split(".");
  // A built-in kind that is stored in another form is a core kind inside the server.
  return `${owner === "" || storedForm !== undefined ? "core" : owner}.${kind}`;
}

// Tables and PartialObjectMetadata: sent instead of the objects to a client that asks for them in
// its Accept header (`as=Table`).

type IncludeObject = "None" | "Metadata" | "Object";

interface TableOptions {
  readonly kind: KindColumns;
  /** The version of meta.k8s.io that the client asked for. */
  readonly version: string;
  readonly includeObject: IncludeObject;
  readonly now: WallMs;
  /** False after the first event of a watch. */
  readonly headers: boolean;
}

/** `metadata` is that of the list, or of the one object. */
function tableOf(
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
function versionOf(object: JsonObject): JsonObject {
  const resourceVersion = textAt(object, "metadata", "resourceVersion");
  return resourceVersion === "" ? {} : { resourceVersion };
}

function partialMetadata(object: JsonObject, version: string): JsonObject {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: `meta.k8s.io/${version}`,
    metadata: objectAt(object, "metadata") ?? {},
  };
}

function partialMetadataList(
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
