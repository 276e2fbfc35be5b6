// `fieldsV1`, the JSON form of a field set: nested objects keyed by path elements, where "." says
// that the field itself is owned as well as fields below it.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { FieldSet } from "./field-set.ts";
import {
  comparePathElements,
  type PathElement,
  PathElementError,
  readPathElement,
} from "./path-element.ts";

/** In the order of path elements, so that equal sets have equal bytes. */
export function encodeFields(set: FieldSet): JsonObject {
  return encode(set, false);
}

function encode(set: FieldSet, isMember: boolean): JsonObject {
  const { members, children } = set;
  const result: JsonObject = isMember ? { ".": {} } : {};
  const elements = new Set([...members, ...children.keys()]);
  for (const element of [...elements].sort(comparePathElements)) {
    const child = children.get(element);
    result[element] = child === undefined ? {} : encode(child, members.has(element));
  }
  return result;
}

/** Throws a `PathElementError` for what is not a set of fields. */
export function decodeFields(fields: unknown): FieldSet {
  return decode(fields).below ?? new FieldSet();
}

interface Decoded {
  readonly isMember: boolean;
  readonly below: FieldSet | undefined;
}

function decode(fields: unknown): Decoded {
  if (fields === null) return { isMember: true, below: undefined };
  if (!isJsonObject(fields)) throw new PathElementError("fields must be objects");
  const members: PathElement[] = [];
  const children: [PathElement, FieldSet][] = [];
  let isMember = false;
  for (const key of Object.keys(fields)) {
    if (key === ".") {
      isMember = true;
      continue;
    }
    const element = readPathElement(key);
    if (element === undefined) continue;
    const child = decode(fields[key]);
    if (child.isMember) members.push(element);
    if (child.below !== undefined) children.push([element, child.below]);
  }
  if (members.length === 0 && children.length === 0) return { isMember: true, below: undefined };
  return { isMember, below: new FieldSet(members, children) };
}
