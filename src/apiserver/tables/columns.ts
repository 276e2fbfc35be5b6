// What a Table shows of one kind: its columns, and the cells of one object. Names, types, formats
// and priorities are those of pkg/printers/internalversion in Kubernetes 1.36; the descriptions are
// our own. An object may be a bookmark's, which has nothing but metadata, so every cell function
// reads what is absent as Go's zero value.
import type { WallMs } from "../../environment/clock.ts";
import { type JsonObject, textAt } from "../kinds/fields.ts";
import { ageAt } from "./human-duration.ts";

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0 is always shown, more only on request (`-o wide`). */
  readonly priority: number;
}

export type Cell = string | number | boolean | null;

export interface KindColumns {
  readonly columns: readonly Column[];
  /** One for each column, in the same order. */
  cells(object: JsonObject, now: WallMs): readonly Cell[];
  /** What is noteworthy of the row as a whole; absent for nearly all kinds. */
  conditions?(object: JsonObject): readonly JsonObject[];
}

/** What a cell says when there is nothing to say. */
export const none = "<none>";

export const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "The object's name, unique among its kind in its namespace.",
  priority: 0,
};

export const ageColumn = textColumn("Age", "Time since the server created the object.");

export function textColumn(name: string, description: string): Column {
  return { name, type: "string", format: "", description, priority: 0 };
}

export function numberColumn(name: string, description: string): Column {
  return { ...textColumn(name, description), type: "integer" };
}

/** Shown only with `-o wide`. */
export function wideColumn(name: string, description: string): Column {
  return { ...textColumn(name, description), priority: 1 };
}

export function nameOf(object: JsonObject): string {
  return textAt(object, "metadata", "name");
}

export function ageOf(object: JsonObject, now: WallMs): string {
  return ageAt(textAt(object, "metadata", "creationTimestamp"), now);
}
