// The columns of `kubectl get` for one kind, and the cells that kinds share. The columns of a kind
// are in its file in kinds/. Names, types, formats and priorities are those of
// pkg/printers/internalversion in Kubernetes 1.36; the descriptions are our own. The object may be
// that of a bookmark, which has only metadata, so every cell function reads an absent field as Go's
// zero value.
import type { WallMs } from "../../environment/clock.ts";
import { type JsonObject, numberAt, objectsAt, textAt } from "../kinds/fields.ts";
import { formatLabelSelector } from "../select/label-selector.ts";
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
  /** Conditions of the row as a whole; absent for nearly all kinds. */
  conditions?(object: JsonObject): readonly JsonObject[];
}

/** The text of an empty cell. */
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

/** How many entries of a list a cell names before it counts the rest. */
export const namedMax = 3;

/** `app=web,tier=gold`, by key. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]}`);
  return pairs.join(",") || none;
}

/** `{matchLabels, matchExpressions}`. */
export function selectorText(selector: unknown): string {
  return formatLabelSelector(selector) || none;
}

/** `a,b,c + 2 more...` */
export function listText(entries: readonly string[]): string {
  const named = entries.slice(0, namedMax).join(",");
  const more = entries.length - namedMax;
  return more > 0 ? `${named} + ${more} more...` : named;
}

/** The addresses in the status of a load balancer, each once, in order. */
export function balancerAddresses(object: JsonObject): string {
  const addresses = objectsAt(object, "status", "loadBalancer", "ingress")
    .map((point) => textAt(point, "ip") || textAt(point, "hostname"))
    .filter((text) => text !== "");
  return [...new Set(addresses)].sort().join(",");
}

/** Of kinds without columns, such as roles: k8s.io/apiserver/pkg/registry/rest table.go. */
export const defaultColumns: KindColumns = {
  columns: [
    nameColumn,
    { ...textColumn("Created At", "When the server created the object."), type: "date" },
  ],
  cells: (object) => [
    nameOf(object),
    textAt(object, "metadata", "creationTimestamp") || "0001-01-01T00:00:00Z",
  ],
};

export function countAt(object: JsonObject, ...path: readonly string[]): number {
  return numberAt(object, ...path) ?? 0;
}
