// JSON Patch (RFC 6902) on plain JSON. The document is never changed: every operation gives a new
// one that shares what it did not touch.
import { sameJson } from "../../same-json.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";

/** The patch does not fit the document, or is not a patch. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
  readonly code = "JSON_PATCH";
}

/** More operations than any honest patch has; the real server has the same bound. */
const maxOperations = 10_000;

export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) {
    throw new JsonPatchError("a JSON patch must be an array of operations");
  }
  if (patch.length > maxOperations) {
    throw new JsonPatchError(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  }
  return patch.reduce((result: unknown, operation: unknown) => apply(result, operation), document);
}

function apply(document: unknown, operation: unknown): unknown {
  if (!isJsonObject(operation)) {
    throw new JsonPatchError("an operation must be an object");
  }
  const path = parsePointer(operation["path"], "path");
  switch (operation["op"]) {
    case "add":
      return insert(document, path, requireValue(operation));
    case "remove":
      return remove(document, path);
    case "replace":
      return insert(remove(document, path), path, requireValue(operation));
    case "test":
      return test(document, path, operation["value"]);
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

function parsePointer(text: unknown, field: string): Pointer {
  if (typeof text !== "string" || (text !== "" && !text.startsWith("/"))) {
    throw new JsonPatchError(`${field} must be a JSON pointer, got ${JSON.stringify(text)}`);
  }
  return text
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function requireValue(operation: JsonObject): unknown {
  if (!Object.hasOwn(operation, "value")) {
    throw new JsonPatchError(`${String(operation["op"])} operation needs a value`);
  }
  return operation["value"];
}

function test(document: unknown, path: Pointer, value: unknown): unknown {
  if (!sameJson(find(document, path) ?? null, value)) {
    throw new JsonPatchError(`testing value ${format(path)} failed: test failed`);
  }
  return document;
}

function read(document: unknown, path: Pointer): unknown {
  const value = find(document, path);
  if (value === undefined) {
    throw missing(path);
  }
  return value;
}

function find(document: unknown, path: Pointer): unknown {
  let value = document;
  for (const step of path) {
    if (Array.isArray(value)) {
      value = value[Number(step)];
    } else if (isJsonObject(value) && Object.hasOwn(value, step)) {
      value = value[step];
    } else {
      return undefined;
    }
  }
  return value;
}

/** Adds a field or list element, or replaces a field. */
function insert(document: unknown, path: Pointer, value: unknown): unknown {
  const edit: Edit = (parent, step) => {
    if (!Array.isArray(parent)) {
      return { ...parent, [step]: value };
    }
    const index = step === "-" ? parent.length : arrayIndex([...parent, null], step, path);
    return parent.toSpliced(index, 0, value);
  };
  return path.length === 0 ? value : change(document, path, edit);
}

function remove(document: unknown, path: Pointer): unknown {
  const edit: Edit = (parent, step) => {
    if (Array.isArray(parent)) {
      return parent.toSpliced(arrayIndex(parent, step, path), 1);
    }
    if (!Object.hasOwn(parent, step)) {
      throw new JsonPatchError(`Unable to remove nonexistent key: ${step}: missing value`);
    }
    const { [step]: _removed, ...rest } = parent;
    return rest;
  };
  return path.length === 0 ? null : change(document, path, edit);
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

function arrayIndex(array: readonly unknown[], step: string, path: Pointer): number {
  const index = /^(0|[1-9]\d*)$/.test(step) ? Number(step) : Number.NaN;
  if (!(index < array.length)) {
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
