// The object in a request's body, checked against the schema of the kind the path names. What to do
// with fields the schema does not know is the client's choice: ignore, warn or refuse.
import type { ApiError } from "../api-error.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject, textAt } from "../kinds/fields.ts";
import { badRequest } from "./body.ts";
import { conform } from "./conform.ts";
import { SchemaTypeError } from "./schema-type-error.ts";

const fieldValidations = ["Ignore", "Warn", "Strict"] as const;

export type FieldValidation = (typeof fieldValidations)[number];

/** The kind of object a path accepts. */
export interface ExpectedKind {
  readonly kind: string;
  /** `v1`, `apps/v1`; "" takes any. */
  readonly apiVersion: string;
  /** Its type in the schema table. */
  readonly schema: string;
}

export interface DecodedObject {
  readonly value: JsonObject;
  readonly warnings: readonly string[];
}

/** Checks a parsed document. Kind and apiVersion may be absent, and otherwise must fit. */
export function decodeDocument(
  document: unknown,
  expected: ExpectedKind,
  fieldValidation: FieldValidation,
): DecodedObject {
  if (!isJsonObject(document)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): ` +
        "couldn't get version/kind; json parse error: the body is not an object",
    );
  }
  refuseOtherKind(document, expected);
  try {
    const { value, unknownFields } = conform(expected.schema, document);
    const problems = unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`);
    if (fieldValidation === "Strict" && problems.length > 0) {
      throw cannotHandle(expected, `strict decoding error: ${problems.join(", ")}`);
    }
    return { value, warnings: fieldValidation === "Warn" ? problems : [] };
  } catch (error) {
    if (error instanceof SchemaTypeError) {
      throw cannotHandle(expected, error.message);
    }
    throw error;
  }
}

/** The query parameter; `operation` names the options object in the refusal. */
export function readFieldValidation(
  query: URLSearchParams,
  operation: "CreateOptions" | "PatchOptions" | "UpdateOptions",
): FieldValidation {
  const given = query.get("fieldValidation") ?? "";
  const known = fieldValidations.find((value) => value === given);
  if (given !== "" && known === undefined) {
    const errors = new FieldErrors();
    errors.notSupported("fieldValidation", given, fieldValidations);
    errors.throwIfAny({ group: "meta.k8s.io", kind: operation }, "");
  }
  return known ?? "Warn";
}

function refuseOtherKind(document: JsonObject, expected: ExpectedKind): void {
  const apiVersion = textAt(document, "apiVersion");
  const kind = textAt(document, "kind");
  const isAnyAllowed = apiVersion === "" || expected.apiVersion === "";
  if (!isAnyAllowed && apiVersion !== expected.apiVersion) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version ` +
        `(${expected.apiVersion})`,
    );
  }
  if (kind !== "" && kind !== expected.kind) {
    throw badRequest(
      `${kind} in version ${JSON.stringify(version(expected))} cannot be handled as a ` +
        `${expected.kind}: converting (${version(expected)}.${kind}) to (${expected.kind}): ` +
        "unknown conversion",
    );
  }
}

function cannotHandle(expected: ExpectedKind, problem: string): ApiError {
  return badRequest(
    `${expected.kind} in version ${JSON.stringify(version(expected))} cannot be handled as a ` +
      `${expected.kind}: ${problem}`,
  );
}

function version(expected: ExpectedKind): string {
  return expected.apiVersion.split("/").at(-1) ?? "";
}
