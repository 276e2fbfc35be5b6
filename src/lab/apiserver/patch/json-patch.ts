// JSON Patch (RFC 6902) on plain JSON. The document is never changed: every operation gives a new
// one that shares what it did not touch.
import { sameJson } from "../../same-json.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";

/** The patch does not fit the document, or is too long to be tried. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
  readonly code = "JSON_PATCH";
  readonly refusal: "unprocessable" | "too-large";

  constructor(message: string, refusal: "unprocessable" | "too-large" = "unprocessable") {
    super(message);
    this.refusal = refusal;
  }
}

/** More operations than any honest patch has; the real server has the same bound. */
const maxOperations = 10_000;

export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  const operations: readonly unknown[] = Array.isArray(patch) ? patch : [];
  if (operations.length > maxOperations) {
    throw new JsonPatchError(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`,
      "too-large",
    );
  }
  return operations.reduce(apply, document);
}

const operationFields = ["from", "op", "path", "value"];

/** What a strict client wants to hear of: fields no operation has. */
export function jsonPatchProblems(patch: unknown): readonly string[] {
  const operations: readonly unknown[] = Array.isArray(patch) ? patch : [];
  return operations.flatMap((operation, index) =>
    Object.keys(isJsonObject(operation) ? operation : {})
      .filter((field) => !operationFields.includes(field))
      .map((field) => `json patch unknown field ${JSON.stringify(`[${index}].${field}`)}`),
  );
}

function apply(document: unknown, operation: unknown): unknown {
  if (!isJsonObject(operation)) {
    throw new JsonPatchError("an operation must be an object");
  }
  const path = parsePointer(operation["path"], "path");
  const value = operation["value"] ?? null;
  switch (operation["op"]) {
    case "add":
      return insert(document, path, value);
    case "remove":
      return remove(document, path);
    case "replace":
      return replace(document, path, value);
    case "test":
      return test(document, path, value);
    case "copy":
      return insert(document, path, read(document, parsePointer(operation["from"], "from")));
    case "move": {
      const from = parsePointer(operation["from"], "from");
      return insert(remove(document, from), path, read(document, from));
    }
    default:
      throw new JsonPatchError(`Unexpected kind: ${JSON.stringify(operation["op"])}`);
  }
}

type Pointer = readonly string[];

/** Whatever stands before the first slash is not looked at. */
function parsePointer(text: unknown, field: string): Pointer {
  if (typeof text !== "string") {
    throw new JsonPatchError(`${field} must be a JSON pointer, got ${JSON.stringify(text)}`);
  }
  return text
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function test(document: unknown, path: Pointer, value: unknown): unknown {
  const found = path.length === 0 ? document : read(document, path);
  if (!sameJson(found, value)) {
    throw new JsonPatchError(`testing value ${format(path)} failed: test failed`);
  }
  return document;
}

/** Null for a field that is not there; its parent must be. */
function read(document: unknown, path: Pointer): unknown {
  let value: unknown = document;
  for (const [depth, step] of path.entries()) {
    if (Array.isArray(value)) {
      value = value[arrayIndex(value, step, path)];
    } else if (isJsonObject(value)) {
      value = Object.hasOwn(value, step) ? value[step] : null;
    } else {
      throw missing(path);
    }
    if (value === null && depth < path.length - 1) {
      throw missing(path);
    }
  }
  return value;
}

/** Adds a field or list element, or replaces a field. */
function insert(document: unknown, path: Pointer, value: unknown): unknown {
  return change(document, path, (parent, step) => {
    if (!Array.isArray(parent)) {
      return { ...parent, [step]: value };
    }
    const index = step === "-" ? parent.length : arrayIndex([...parent, null], step, path);
    return parent.toSpliced(index, 0, value);
  });
}

/** A field need not be there before; a list element must. */
function replace(document: unknown, path: Pointer, value: unknown): unknown {
  if (path.length === 0) {
    return value;
  }
  return change(document, path, (parent, step) =>
    Array.isArray(parent)
      ? parent.with(arrayIndex(parent, step, path), value)
      : { ...parent, [step]: value },
  );
}

function remove(document: unknown, path: Pointer): unknown {
  return change(document, path, (parent, step) => {
    if (Array.isArray(parent)) {
      return parent.toSpliced(arrayIndex(parent, step, path), 1);
    }
    if (!Object.hasOwn(parent, step)) {
      throw new JsonPatchError(`Unable to remove nonexistent key: ${step}: missing value`);
    }
    const { [step]: _removed, ...rest } = parent;
    return rest;
  });
}

type Edit = (parent: JsonObject | unknown[], step: string) => unknown;

/** Edits the place's parent and rebuilds the parents above it. */
function change(document: unknown, path: Pointer, edit: Edit): unknown {
  const rebuild = (node: unknown, depth: number): unknown => {
    const step = path[depth] ?? "";
    if (!Array.isArray(node) && !isJsonObject(node)) {
      throw missing(path);
    }
    if (depth === path.length - 1) {
      return edit(node, step);
    }
    if (Array.isArray(node)) {
      const index = arrayIndex(node, step, path);
      return node.with(index, rebuild(node[index], depth + 1));
    }
    return { ...node, [step]: rebuild(node[step], depth + 1) };
  };
  return rebuild(document, 0);
}

/** Negative indexes count from the end. */
function arrayIndex(array: readonly unknown[], step: string, path: Pointer): number {
  const given = /^[+-]?\d+$/.test(step) ? Number(step) : Number.NaN;
  const index = given < 0 ? given + array.length : given;
  if (!(index >= 0 && index < array.length)) {
    throw new JsonPatchError(`Unable to access invalid index: ${step} in ${format(path)}`);
  }
  return index;
}

function missing(path: Pointer): JsonPatchError {
  return new JsonPatchError(`doc is missing path: ${format(path)}: missing value`);
}

function format(path: Pointer): string {
  return `/${path.join("/")}`;
}
