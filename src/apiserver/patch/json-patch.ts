// JSON Patch (RFC 6902). The operations change one copy of the document, so that the cost of each
// depends only on the part it changes. The document itself is not changed.
import { sameJson } from "../../kube/kinds/same-json.ts";
import { copyOf, isJsonObject, type JsonObject, ownField, setField } from "../kinds/fields.ts";

/** The patch does not fit the document, or is too long. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
  readonly code = "JSON_PATCH";
  readonly refusal: "unprocessable" | "too-large";

  constructor(message: string, refusal: "unprocessable" | "too-large" = "unprocessable") {
    super(message);
    this.refusal = refusal;
  }
}

/** The bound of the real server. */
const maxOperations = 10_000;

export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  const operations: readonly unknown[] = Array.isArray(patch) ? patch : [];
  if (operations.length > maxOperations) {
    throw new JsonPatchError(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`,
      "too-large",
    );
  }
  const copies = new CopyAllowance();
  return operations.reduce(
    (current, operation) => apply(current, operation, copies),
    copyOf(document),
  );
}

/** The JSON size of all copies of one patch; k8s.io/apiserver's JSONPatchMaxCopyBytes. */
const maxCopyBytes = 3 * 1024 * 1024;

/** A copy can contain earlier copies: a few dozen would exhaust the memory. */
class CopyAllowance {
  #bytes = 0;

  copy(value: unknown): unknown {
    this.#bytes += Buffer.byteLength(JSON.stringify(value));
    if (this.#bytes > maxCopyBytes) {
      throw new JsonPatchError(
        `Unable to complete the copy, the accumulated size increase of the patch is ` +
          `${this.#bytes}, exceeding the limit ${maxCopyBytes}`,
      );
    }
    return copyOf(value);
  }
}

const operationFields = ["from", "op", "path", "value"];

/** Unknown fields of operations, for strict validation. */
export function jsonPatchProblems(patch: unknown): readonly string[] {
  const operations: readonly unknown[] = Array.isArray(patch) ? patch : [];
  return operations.flatMap((operation, index) =>
    Object.keys(isJsonObject(operation) ? operation : {})
      .filter((field) => !operationFields.includes(field))
      .map((field) => `json patch unknown field ${JSON.stringify(`[${index}].${field}`)}`),
  );
}

/** Changes the document and returns it, or the value that replaces it. */
function apply(document: unknown, operation: unknown, copies: CopyAllowance): unknown {
  if (!isJsonObject(operation)) {
    throw new JsonPatchError("an operation must be an object");
  }
  const path = parsePointer(operation["path"], "path");
  const value = operation["value"] ?? null;
  switch (operation["op"]) {
    case "add":
      return insert(document, path, copyOf(value));
    case "remove":
      return remove(document, path);
    case "replace":
      return replace(document, path, copyOf(value));
    case "test":
      return test(document, path, value);
    case "copy": {
      const found = read(document, parsePointer(operation["from"], "from"));
      return insert(document, path, copies.copy(found));
    }
    case "move": {
      const from = parsePointer(operation["from"], "from");
      const found = read(document, from);
      return insert(remove(document, from), path, found);
    }
    default:
      throw new JsonPatchError(`Unexpected kind: ${JSON.stringify(operation["op"])}`);
  }
}

type Pointer = readonly string[];

/** Text before the first slash is ignored. */
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

/** Null for a missing field; its parent must exist. */
function read(document: unknown, path: Pointer): unknown {
  let value: unknown = document;
  for (const [depth, step] of path.entries()) {
    value = below(value, step, path) ?? null;
    if (value === null && depth < path.length - 1) {
      throw missing(path);
    }
  }
  return value;
}

/** Adds a field or list element, or replaces a field. */
function insert(document: unknown, path: Pointer, value: unknown): unknown {
  const { parent, step } = placeOf(document, path);
  if (Array.isArray(parent)) {
    const { length } = parent;
    parent.splice(step === "-" ? length : arrayIndex(length + 1, step, path), 0, value);
  } else {
    setField(parent, step, value);
  }
  return document;
}

/** A field may be missing; a list element must exist. */
function replace(document: unknown, path: Pointer, value: unknown): unknown {
  if (path.length === 0) {
    return value;
  }
  const { parent, step } = placeOf(document, path);
  if (Array.isArray(parent)) {
    parent[arrayIndex(parent.length, step, path)] = value;
  } else {
    setField(parent, step, value);
  }
  return document;
}

function remove(document: unknown, path: Pointer): unknown {
  const { parent, step } = placeOf(document, path);
  if (Array.isArray(parent)) {
    parent.splice(arrayIndex(parent.length, step, path), 1);
  } else if (Object.hasOwn(parent, step)) {
    delete parent[step];
  } else {
    throw new JsonPatchError(`Unable to remove nonexistent key: ${step}: missing value`);
  }
  return document;
}

interface Place {
  readonly parent: JsonObject | unknown[];
  readonly step: string;
}

function placeOf(document: unknown, path: Pointer): Place {
  const step = path.at(-1);
  const parent = path.slice(0, -1).reduce((node, part) => below(node, part, path), document);
  if (step === undefined || (!Array.isArray(parent) && !isJsonObject(parent))) {
    throw missing(path);
  }
  return { parent, step };
}

function below(node: unknown, step: string, path: Pointer): unknown {
  if (Array.isArray(node)) {
    return node[arrayIndex(node.length, step, path)];
  }
  if (isJsonObject(node)) {
    return ownField(node, step);
  }
  throw missing(path);
}

/** Negative indexes count from the end. */
function arrayIndex(length: number, step: string, path: Pointer): number {
  const given = /^[+-]?\d+$/.test(step) ? Number(step) : Number.NaN;
  const index = given < 0 ? given + length : given;
  if (!(index >= 0 && index < length)) {
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
