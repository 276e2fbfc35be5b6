// The object in a request body, checked against the schema of the path's kind. For unknown fields the
// client chooses (`fieldValidation`): ignore, warn or refuse.
import type { ApiError } from "../api-error.ts";
import { allKinds } from "../kinds/all-kinds.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject, textAt } from "../kinds/fields.ts";
import { type CustomType, groupVersion } from "../kinds/resource-kind.ts";
import { badRequest, type ParsedBody } from "./body.ts";
import { type Conformed, conform } from "./conform.ts";
import { SchemaTypeError } from "./schema-type-error.ts";
import { hasRepeatedKeys, repeatedKeys, strictProblems } from "./strict-fields.ts";

export const fieldValidations = ["Ignore", "Strict", "Warn"] as const;

export type FieldValidation = (typeof fieldValidations)[number];

/** The kind of object a path accepts. */
export interface ExpectedKind {
  readonly kind: string;
  /** `v1`, `apps/v1`; "" for any. */
  readonly apiVersion: string;
  /** Its type in the schema table. */
  readonly schema: string;
  /** Of a custom resource, instead of the schema table. */
  readonly custom?: CustomType;
}

export interface DecodedObject {
  readonly value: JsonObject;
  readonly warnings: readonly string[];
}

/** Kind and apiVersion are optional, but must be the expected ones. */
export function decodeDocument(
  body: ParsedBody,
  expected: ExpectedKind,
  fieldValidation: FieldValidation,
): DecodedObject {
  const document = isJsonObject(body.document) ? body.document : {};
  refuseOtherKind(document, expected);
  try {
    const { value, unknownFields } = conformTo(expected, document);
    const problems =
      fieldValidation === "Ignore" ? [] : strictProblemsOf(body, expected, unknownFields);
    if (fieldValidation === "Strict" && problems.length > 0) {
      throw cannotHandle(expected, strictMessage(body, problems));
    }
    return { value, warnings: problems };
  } catch (error) {
    if (error instanceof SchemaTypeError) {
      throw cannotHandle(expected, error.message);
    }
    throw error;
  }
}

/** Checks a patched document. Throws a `SchemaTypeError`. */
export function decodePatched(
  document: unknown,
  expected: ExpectedKind,
): { readonly value: JsonObject; readonly problems: readonly string[] } {
  const { value, unknownFields } = conformTo(expected, document);
  return { value, problems: unknownFields.map(unknownField) };
}

function conformTo({ custom, schema }: ExpectedKind, document: unknown): Conformed {
  return custom === undefined || !isJsonObject(document)
    ? conform(schema, document)
    : custom.conform(document);
}

/** In the order of the document, if it is known. */
function strictProblemsOf(
  { document, json, repeatedLines }: ParsedBody,
  { custom, schema }: ExpectedKind,
  unknownFields: readonly string[],
): readonly string[] {
  const isRepeated = json !== undefined && hasRepeatedKeys(json, document);
  if (!isRepeated && unknownFields.length + repeatedLines.length === 0) {
    return [];
  }
  if (json === undefined) {
    return [...repeatedLines, ...unknownFields.toSorted().map(unknownField)];
  }
  return custom === undefined
    ? strictProblems(json, schema)
    : [...repeatedKeys(json), ...unknownFields.map(unknownField)];
}

/** The YAML decoder reports the keys set twice as one error of several lines. */
function strictMessage({ repeatedLines }: ParsedBody, problems: readonly string[]): string {
  const lines = repeatedLines.map((line) => `\n  ${line}`).join("");
  const first = lines === "" ? [] : [`yaml: unmarshal errors:${lines}`];
  const others = problems.slice(repeatedLines.length);
  return `strict decoding error: ${[...first, ...others].join(", ")}`;
}

function unknownField(path: string): string {
  return `unknown field ${JSON.stringify(path)}`;
}

/** Where the real server's table of types is made, which its messages name. */
const scheme = 'scheme "pkg/runtime/scheme.go:111"';

/** A custom object must have a kind: there is no Go type that implies it. */
function refuseOtherCustomKind(document: JsonObject, expected: ExpectedKind): void {
  const apiVersion = textAt(document, "apiVersion");
  const kind = textAt(document, "kind");
  if (kind === "") {
    const text = JSON.stringify(document);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): ` +
        `Object 'Kind' is missing in '${text}' (${shortened(text)})`,
    );
  }
  if (apiVersion !== expected.apiVersion) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version ` +
        `(${expected.apiVersion})`,
    );
  }
  if (kind === expected.kind) return;
  const errors = new FieldErrors();
  errors.invalid("kind", kind, `must be ${expected.kind}`);
  const [group = ""] = expected.apiVersion.split("/");
  errors.throwIfAny({ group, kind }, textAt(document, "metadata", "name"));
}

/** The part of the body that the message shows. */
const shownLength = 30;

function shortened(text: string): string {
  return text.length > shownLength ? `${text.slice(0, shownLength)} ...` : text;
}

function refuseOtherKind(document: JsonObject, expected: ExpectedKind): void {
  if (expected.custom !== undefined) {
    refuseOtherCustomKind(document, expected);
    return;
  }
  const apiVersion = textAt(document, "apiVersion") || expected.apiVersion;
  const kind = textAt(document, "kind") || expected.kind;
  const isSameVersion = expected.apiVersion === "" || apiVersion === expected.apiVersion;
  if (isSameVersion && kind === expected.kind) {
    return;
  }
  const isKnown = allKinds.some(
    (known) => known.kind === kind && groupVersion(known) === apiVersion,
  );
  if (isKnown && kind === expected.kind) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version ` +
        `(${expected.apiVersion})`,
    );
  }
  const version = versionOf(apiVersion);
  const problem = isKnown
    ? `converting (${version}.${kind}) to (${goPackage(expected)}.${expected.kind}): ` +
      "unknown conversion"
    : `no kind ${JSON.stringify(kind)} is registered for version ` +
      `${JSON.stringify(apiVersion)} in ${scheme}`;
  throw badRequest(
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}: ` +
      problem,
  );
}

function cannotHandle(expected: ExpectedKind, problem: string): ApiError {
  const version = JSON.stringify(versionOf(expected.apiVersion));
  return badRequest(
    `${expected.kind} in version ${version} cannot be handled as a ${expected.kind}: ${problem}`,
  );
}

/** `rbac.authorization.k8s.io/v1` → `v1`. */
function versionOf(apiVersion: string): string {
  return apiVersion.split("/").at(-1) ?? "";
}

/** The package of the internal type, which all versions of a kind are converted to. */
function goPackage({ apiVersion }: ExpectedKind): string {
  const [group = "", version] = apiVersion.split("/");
  const name = version === undefined ? "" : (group.split(".")[0] ?? "");
  return name === "" || name === "events" ? "core" : name;
}
