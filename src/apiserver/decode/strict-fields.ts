// Strict validation: unknown fields and repeated keys, in the order of the document, with the
// messages of the real server.
import { isJsonObject } from "../kinds/fields.ts";
import { type Schema, schemas } from "../kinds/schema.ts";
import { type JsonVisitor, scanJson } from "./json-scanner.ts";

/** The bound of the real decoder. */
const maxProblems = 100;

/** `text` is valid JSON. */
export function strictProblems(text: string, typeName: string): readonly string[] {
  const problems = new Set<string>();
  scanJson(text, visitorOf({ type: "ref", to: typeName }, "", problems));
  return [...problems].slice(0, maxProblems);
}

/** Only repeated keys, for documents without a type in the schema table. */
export function repeatedKeys(text: string): readonly string[] {
  const problems = new Set<string>();
  scanJson(text, visitorOfAny("", problems));
  return [...problems].slice(0, maxProblems);
}

/** The text has more keys than the value that was parsed from it. */
export function hasRepeatedKeys(text: string, parsed: unknown): boolean {
  return countKeys(text) !== countMembers(parsed);
}

function visitorOfAny(path: string, problems: Set<string>): JsonVisitor {
  const seen = new Set<string>();
  return {
    key(key) {
      const place = below(path, key);
      if (seen.has(key)) {
        problems.add(`duplicate field ${JSON.stringify(place)}`);
      }
      seen.add(key);
      return visitorOfAny(place, problems);
    },
    element: (index) => visitorOfAny(`${path}[${index}]`, problems),
  };
}

function below(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function visitorOf(schema: Schema, path: string, problems: Set<string>): JsonVisitor | undefined {
  switch (schema.type) {
    case "array":
      return { element: (index) => visitorOf(schema.of, `${path}[${index}]`, problems) };
    case "map":
      return keyVisitor(() => schema.of, path, problems);
    case "ref": {
      const fields = schemas[schema.to]?.fields ?? {};
      return keyVisitor(
        (key) => (Object.hasOwn(fields, key) ? fields[key] : undefined),
        path,
        problems,
      );
    }
    default:
      return undefined;
  }
}

function keyVisitor(
  schemaOf: (key: string) => Schema | undefined,
  path: string,
  problems: Set<string>,
): JsonVisitor {
  const seen = new Set<string>();
  return {
    key(key) {
      const place = below(path, key);
      const schema = schemaOf(key);
      if (schema === undefined) {
        problems.add(`unknown field ${JSON.stringify(place)}`);
        return undefined;
      }
      if (seen.has(key)) {
        problems.add(`duplicate field ${JSON.stringify(place)}`);
      }
      seen.add(key);
      return visitorOf(schema, place, problems);
    },
  };
}

/** Text with one of these needs a scan to count its keys. */
const oddities = ["\\", " :", "\t:", "\n:", "\r:"];

/** Runs for every write. Most texts have neither escapes nor space before colons. */
function countKeys(text: string): number {
  if (oddities.some((oddity) => text.includes(oddity))) {
    return countColons(text);
  }
  let count = 0;
  for (let at = text.indexOf('":'); at >= 0; at = text.indexOf('":', at + 2)) {
    count++;
  }
  return count;
}

/** Colons outside of strings: one for each member of each object. */
function countColons(text: string): number {
  let count = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (isInString) {
      if (character === "\\") {
        index++;
      } else if (character === '"') {
        isInString = false;
      }
    } else if (character === '"') {
      isInString = true;
    } else if (character === ":") {
      count++;
    }
  }
  return count;
}

function countMembers(value: unknown): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === "object") {
        count += countMembers(item);
      }
    }
  } else if (isJsonObject(value)) {
    for (const key in value) {
      const member = value[key];
      count += typeof member === "object" ? 1 + countMembers(member) : 1;
    }
  }
  return count;
}
