// One element of a path to a field, in its `fieldsV1` form: `f:name` is a field or map key,
// `k:{"name":"web"}` the list item with those keys, `v:"a"` the item of a set, `i:0` an index.
// The form is canonical: equal elements are equal strings, so a Set of strings compares them.
import { goJson } from "../decode/go-format.ts";

export type PathElement = string;

/** The text is not a path element. */
export class PathElementError extends Error {
  override readonly name = "PathElementError";
}

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** Keys are sorted by name. */
export function keyElement(
  keys: readonly (readonly [name: string, value: unknown])[],
): PathElement {
  const sorted = keys.toSorted(([a], [b]) => compareText(a, b));
  return `k:{${sorted.map(([name, value]) => `${goJson(name)}:${goJson(value)}`).join(",")}}`;
}

export function valueElement(value: unknown): PathElement {
  return `v:${goJson(value)}`;
}

/** The canonical form of a client's text; undefined for a type of element that is not known here. */
export function readPathElement(text: string): PathElement | undefined {
  if (text.length < 2) {
    throw new PathElementError("key must be 2 characters long:");
  }
  if (text[1] !== ":") {
    throw new PathElementError(`missing colon: ${text}`);
  }
  switch (text[0]) {
    case "f":
      return text;
    case "v":
      return valueElement(parseJson(text.slice(2)));
    case "k":
      return keyElement(Object.entries(parseKeys(text.slice(2))));
    case "i":
      return `i:${parseIndex(text.slice(2))}`;
    default:
      return undefined;
  }
}

/** The order of `fieldsV1`: fields, then items by key, by value, by index. */
export function comparePathElements(a: PathElement, b: PathElement): number {
  // The fast path: nearly all elements are fields, and every write sorts all of them.
  if (a.startsWith("f:") && b.startsWith("f:")) return compareText(a, b);
  const kind = elementKinds.indexOf(a[0] ?? "") - elementKinds.indexOf(b[0] ?? "");
  if (kind !== 0) return kind;
  const [left, right] = [a.slice(2), b.slice(2)];
  return a.startsWith("k:")
    ? compareKeys(parseKeys(left), parseKeys(right))
    : compareScalars(parseJson(left), parseJson(right));
}

/** The form in messages: `.spec`, `[name="web"]`, `[="a"]`, `[0]`. */
export function showPathElement(element: PathElement): string {
  const text = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${text}`;
    case "k": {
      const keys = Object.entries(parseKeys(text));
      return `[${keys.map(([name, value]) => `${name}=${showValue(value)}`).join(",")}]`;
    }
    case "v":
      return `[=${showValue(parseJson(text))}]`;
    default:
      return `[${text}]`;
  }
}

export function showPath(path: readonly PathElement[]): string {
  return path.map(showPathElement).join("");
}

/** By UTF-16 code units. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const elementKinds = ["f", "k", "v", "i"];

function compareKeys(a: Record<string, unknown>, b: Record<string, unknown>): number {
  const left = Object.entries(a);
  const right = Object.entries(b);
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareText(name, other[0]) || compareScalars(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

const scalarKinds = ["number", "string", "boolean", "object"];

function compareScalars(a: unknown, b: unknown): number {
  const kind = scalarKinds.indexOf(typeof a) - scalarKinds.indexOf(typeof b);
  if (kind !== 0) return kind;
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  return compareText(goJson(a), goJson(b));
}

function showValue(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PathElementError(`not JSON: ${text}`, { cause: error });
  }
}

function parseKeys(text: string): Record<string, unknown> {
  const keys = parseJson(text);
  if (typeof keys !== "object" || keys === null || Array.isArray(keys)) {
    throw new PathElementError(`not the keys of an item: ${text}`);
  }
  return { ...keys };
}

function parseIndex(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) {
    throw new PathElementError(`not an index: ${text}`);
  }
  return Number(text);
}
