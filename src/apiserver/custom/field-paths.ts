// Paths of fields. Messages write them as Kubernetes does: `spec.ports[0].name`,
// `metadata.annotations[example.com/key]`; no field at all is `<nil>`. Rules and selectable fields
// write them as `.spec.name` or `['a.b'].c`; such a path is followed through a schema.
import type { JsonSchema } from "./json-schema.ts";

export const noPath = "<nil>";

export function childPath(parent: string, name: string): string {
  return parent === "" ? name : `${parent}.${name}`;
}

export function keyPath(parent: string, key: string | number): string {
  return `${parent}[${key}]`;
}

/** Of a field in a schema: `properties[spec]`. */
export function propertyPath(path: string, name: string): string {
  return keyPath(childPath(path, "properties"), name);
}

export type FoundPath =
  | {
      /** As messages show it: `spec.name`. */
      readonly path: string;
      readonly steps: readonly string[];
      readonly schema: JsonSchema;
    }
  /** The path is malformed or leads nowhere. */
  | { readonly problem: string };

const stepPattern = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/y;
const escapeMeanings: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
};

export function followPath(
  text: string,
  root: JsonSchema,
  options: { readonly allowsBrackets: boolean },
): FoundPath {
  let schema = root;
  let path = "";
  const steps: string[] = [];
  let at = 0;
  while (at < text.length) {
    if (text[at] === "[" && !options.allowsBrackets) {
      return { problem: "array notation is not allowed" };
    }
    stepPattern.lastIndex = at;
    const found = stepPattern.exec(text);
    if (found === null) return { problem: malformed(text.slice(at)) };
    at += found[0].length;
    const step = found[1] ?? (found[2] ?? "").replace(/\\(.)/g, (_, c) => escapeMeanings[c] ?? c);
    const isMap = schema.properties.size === 0 && typeof schema.additionalProperties === "object";
    const next = isMap ? schema.additionalProperties : schema.properties.get(step);
    if (typeof next !== "object") return { problem: "does not refer to a valid field" };
    path = isMap ? keyPath(path, step) : childPath(path, step);
    steps.push(step);
    schema = next;
  }
  return { path, steps, schema };
}

function malformed(rest: string): string {
  if (rest === "." || rest === "[") return "unexpected end of JSON path";
  if (rest.startsWith("[")) {
    return `expected single quoted string but got ${rest.slice(1).replace(/[.[\]].*$/s, "")}`;
  }
  return `expected [ or . but got: ${rest.replace(/(?!^)[.[\]].*$/s, "")}`;
}
