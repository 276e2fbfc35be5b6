// The patch in a request: its form, by media type, and the patched object or the error. Each form has
// its own error messages, as in the real server.

import { isTooDeep, jsonNestingProblem } from "../../kube/yaml/nesting.ts";
import { ApiError } from "../api-error.ts";
import { badRequest, unsupportedMediaType } from "../decode/body.ts";
import { formatGoValue, goJsonType } from "../decode/go-format.ts";
import { jsonSyntaxProblem } from "../decode/json-scanner.ts";
import {
  type DecodedObject,
  decodePatched,
  type ExpectedKind,
  type FieldValidation,
} from "../decode/request-object.ts";
import { SchemaTypeError } from "../decode/schema-type-error.ts";
import { hasRepeatedKeys, repeatedKeys } from "../decode/strict-fields.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { applyJsonPatch, JsonPatchError, jsonPatchProblems } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { StrategicPatchError } from "./patch-meta.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

/** Returns the patched and checked document; the given one is not changed. */
export type Patch = (document: JsonObject) => DecodedObject;

export interface PatchRequest {
  readonly body: Buffer;
  readonly mediaType: string;
  readonly expected: ExpectedKind;
  readonly validation: FieldValidation;
}

/** An invalid body is refused only when the patch is applied, after the object was found. */
export function readPatch(request: PatchRequest): Patch {
  const { body, expected, validation } = request;
  const form = formOf(request);
  return (document) => {
    const patch = parse(body, form);
    const patched = apply(form, document, patch);
    const subject = () => form.subject(patch, patched);
    const { value, problems } = decode(patched, expected, form, subject);
    if (validation === "Ignore") {
      return { value, warnings: [] };
    }
    const all = [...form.problems(body, patch), ...problems];
    if (validation === "Strict" && all.length > 0) {
      throw invalidPatch(subject(), `strict decoding error: ${all.join(", ")}`);
    }
    return { value, warnings: all };
  };
}

/** The differences between the forms of patches. */
interface PatchForm {
  /** Of messages about the JSON of the patch. */
  readonly prefix: string;
  /** The type that Go decodes the body to. */
  readonly goType: string;
  readonly isArray: boolean;
  apply(document: JsonObject, patch: unknown): unknown;
  /** Problems of the patch itself, for strict validation. */
  problems(body: Buffer, patch: unknown): readonly string[];
  /** The message about a value of the wrong type. */
  mistake(error: SchemaTypeError): string;
  /** The value in the error: the patch, or the patched object. */
  subject(patch: unknown, patched: unknown): string;
}

const jsonPatch: PatchForm = {
  prefix: "error decoding patch: ",
  goType: "[]handlers.jsonPatchOp",
  isArray: true,
  apply: applyJsonPatch,
  problems: (_body, patch) => jsonPatchProblems(patch),
  mistake: (error) => error.message,
  subject: (_patch, patched) => JSON.stringify(patched),
};

const mergePatch: PatchForm = {
  prefix: "error decoding patch: ",
  goType: "map[string]interface {}",
  isArray: false,
  apply: applyMergePatch,
  problems: repeatedProblems,
  mistake: (error) => error.message,
  subject: (_patch, patched) => JSON.stringify(patched),
};

function strategicMergePatch(schema: string): PatchForm {
  return {
    prefix: "",
    goType: "map[string]interface {}",
    isArray: false,
    apply: (document, patch) => applyStrategicMergePatch(schema, document, patch),
    problems: repeatedProblems,
    mistake: (error) => error.conversion,
    subject: (patch) => formatGoValue(patch),
  };
}

function formOf({ mediaType, expected }: PatchRequest): PatchForm {
  switch (mediaType) {
    case "application/json-patch+json":
      return jsonPatch;
    case "application/merge-patch+json":
      return mergePatch;
    case "application/strategic-merge-patch+json":
      if (expected.custom === undefined) {
        return strategicMergePatch(expected.schema);
      }
      throw unknownPatch(expected);
    default:
      throw unknownPatch(expected);
  }
}

/** Without strategic merge patches, which need a Go type. */
const customPatchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
];

function unknownPatch({ custom }: ExpectedKind): ApiError {
  return custom === undefined
    ? new ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    : unsupportedMediaType(customPatchTypes);
}

/** A null body is an empty patch. */
function parse(body: Buffer, form: PatchForm): unknown {
  const text = body.toString("utf8");
  const tooDeep = jsonNestingProblem(text);
  if (tooDeep !== undefined) throw badRequest(form.prefix + tooDeep);
  let patch: unknown;
  try {
    patch = JSON.parse(text);
  } catch {
    throw badRequest(form.prefix + jsonSyntaxProblem(text));
  }
  if (patch === null) {
    return form.isArray ? [] : {};
  }
  const isFitting = form.isArray ? Array.isArray(patch) : isJsonObject(patch);
  if (!isFitting) {
    const problem = `cannot unmarshal ${goJsonType(patch)} into Go value of type ${form.goType}`;
    throw badRequest(`${form.prefix}json: ${problem}`);
  }
  const odd = Array.isArray(patch)
    ? patch.find((operation) => !isJsonObject(operation))
    : undefined;
  if (odd !== undefined) {
    throw badRequest(
      `${form.prefix}json: cannot unmarshal ${goJsonType(odd)} into Go value of type ` +
        form.goType.slice("[]".length),
    );
  }
  return patch;
}

function apply(form: PatchForm, document: JsonObject, patch: unknown): unknown {
  let patched: unknown;
  try {
    patched = form.apply(document, patch);
  } catch (error) {
    throw asRefusal(error);
  }
  if (isTooDeep(patched)) throw badRequest(`${form.prefix}exceeded max depth`);
  return patched;
}

/** The error of a patch that cannot be applied has no details. */
function asRefusal(error: unknown): unknown {
  const unprocessable = "the server rejected our request due to an error in our request";
  if (error instanceof JsonPatchError) {
    return error.refusal === "unprocessable"
      ? new ApiError(422, "Invalid", unprocessable, {})
      : new ApiError(413, "RequestEntityTooLarge", `Request entity too large: ${error.message}`);
  }
  if (!(error instanceof StrategicPatchError)) {
    return error;
  }
  switch (error.status) {
    case 400:
      return badRequest(error.message);
    case 422:
      return new ApiError(422, "Invalid", unprocessable, {});
    case 500:
      return new ApiError(500, "", error.message);
  }
}

function decode(
  patched: unknown,
  expected: ExpectedKind,
  form: PatchForm,
  subject: () => string,
): ReturnType<typeof decodePatched> {
  try {
    return decodePatched(patched, expected);
  } catch (error) {
    throw error instanceof SchemaTypeError ? invalidPatch(subject(), form.mistake(error)) : error;
  }
}

function invalidPatch(subject: string, problem: string): ApiError {
  const message = `Invalid value: ${JSON.stringify(subject)}: ${problem}`;
  return new ApiError(422, "Invalid", ` "" is invalid: patch: ${message}`, {
    causes: [{ reason: "FieldValueInvalid", message, field: "patch" }],
  });
}

function repeatedProblems(body: Buffer, patch: unknown): readonly string[] {
  const text = body.toString("utf8");
  return hasRepeatedKeys(text, patch) ? repeatedKeys(text) : [];
}
