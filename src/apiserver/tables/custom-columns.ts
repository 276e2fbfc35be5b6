// The columns of a custom resource, as its definition's additionalPrinterColumns give them. A value
// that is absent or of another type than its column leaves the cell empty. After a column whose
// path cannot be read there are no more, as on a real server.
import type { WallMs } from "../../environment/clock.ts";
import { type JsonObject, numberAt, textAt } from "../kinds/fields.ts";
import { type Cell, type Column, type KindColumns, nameColumn, nameOf } from "./columns.ts";
import { ageAt } from "./human-duration.ts";
import { findAll, type JsonPath, JsonPathError, parseJsonPath } from "./json-path.ts";

/** `definitions` conform to `apiextensions.v1.CustomResourceColumnDefinition`. */
export function customColumns(definitions: readonly JsonObject[]): KindColumns {
  const columns = parsedColumns(definitions.length === 0 ? [ageDefinition] : definitions);
  return {
    columns: [nameColumn, ...columns.map(({ column }) => column)],
    cells: (object, now) => [
      nameOf(object),
      ...columns.map(({ column, path }) => cellOf(firstAt(path, object), column.type, now)),
    ],
  };
}

/** The column of a definition that has none. */
const ageDefinition: JsonObject = {
  name: "Age",
  type: "date",
  description: "Time since the server created the object.",
  jsonPath: ".metadata.creationTimestamp",
};

interface ParsedColumn {
  readonly column: Column;
  readonly path: JsonPath;
}

function parsedColumns(definitions: readonly JsonObject[]): readonly ParsedColumn[] {
  const columns: ParsedColumn[] = [];
  for (const definition of definitions) {
    const path = readPath(textAt(definition, "jsonPath"));
    if (path === undefined) break;
    columns.push({ column: columnOf(definition), path });
  }
  return columns;
}

function readPath(text: string): JsonPath | undefined {
  try {
    return parseJsonPath(text);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function columnOf(definition: JsonObject): Column {
  const path = textAt(definition, "jsonPath");
  return {
    name: textAt(definition, "name"),
    type: textAt(definition, "type"),
    format: textAt(definition, "format"),
    description:
      textAt(definition, "description") ||
      `Custom resource definition column (in JSONPath format): ${path}`,
    priority: numberAt(definition, "priority") ?? 0,
  };
}

/** The first that the path leads to, or undefined. */
function firstAt(path: JsonPath, object: JsonObject): unknown {
  try {
    return findAll(path, object)[0];
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function cellOf(value: unknown, type: string, now: WallMs): Cell {
  if (value === undefined) return null;
  switch (type) {
    case "string":
      return textOf(value);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? dateText(value, now) : null;
    default:
      return null;
  }
}

function textOf(value: unknown): string {
  if (value === null) return "<no value>";
  if (typeof value === "number") return numberText(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** As Go prints a float: with an exponent of two digits when it is large or small. */
function numberText(value: number): string {
  const [digits = "", exponent = ""] = value.toExponential().split("e");
  const power = Number(exponent);
  if (Number.isInteger(value) || (power >= smallestPower && power < largestPower)) {
    return String(value);
  }
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** strconv.FormatFloat with format 'g' and the fewest digits. */
const smallestPower = -4;
const largestPower = 6;

function dateText(value: string, now: WallMs): string {
  const isTime = value === "" || /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(value);
  return isTime ? ageAt(value, now) : "<invalid>";
}
