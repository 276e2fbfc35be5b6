// Field selectors: `spec.nodeName=a,status.phase!=Running`, over the few fields each kind offers.
import { ApiError } from "../api-error.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly value: string;
  readonly isEqual: boolean;
  readonly read: (object: KubeObject) => string;
}

/** Parses the query parameter; an unknown field or a malformed term is a 400. */
export function parseFieldSelector(text: string, kind: ResourceKind): readonly FieldRequirement[] {
  return splitTerms(text).map((term) => parseTerm(term, text, kind));
}

export function matchesFields(
  requirements: readonly FieldRequirement[],
  object: KubeObject,
): boolean {
  return requirements.every(({ read, value, isEqual }) => (read(object) === value) === isEqual);
}

function parseTerm(term: string, text: string, kind: ResourceKind): FieldRequirement {
  const parts = /^([^=!]+)(==|!=|=)(.*)$/s.exec(term);
  if (parts === null) {
    throw new ApiError(
      400,
      "BadRequest",
      `invalid selector: '${text}'; can't understand '${term}'`,
    );
  }
  const [, field = "", sign, value = ""] = parts;
  const read = fieldReader(field, kind);
  if (read === undefined) {
    throw new ApiError(
      400,
      "BadRequest",
      Object.keys(kind.selectableFields).length === 0
        ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${field}`,
    );
  }
  return { field, value: unescaped(value), isEqual: sign !== "!=", read };
}

function fieldReader(
  field: string,
  kind: ResourceKind,
): ((object: KubeObject) => string) | undefined {
  if (field === "metadata.name") {
    return (object) => object.metadata.name;
  }
  if (field === "metadata.namespace" && kind.kind !== "Namespace") {
    return (object) => object.metadata.namespace ?? "";
  }
  return Object.hasOwn(kind.selectableFields, field) ? kind.selectableFields[field] : undefined;
}

/** Splits at commas that are not escaped with a backslash. */
function splitTerms(text: string): readonly string[] {
  return text.split(/(?<!\\),/).filter((term) => term !== "");
}

/** Only special characters may be escaped, and they must be. */
function unescaped(value: string): string {
  return value.replace(/\\(.?)|[,=]/gsu, (found: string, escaped: string | undefined) => {
    if (escaped === undefined) {
      throw badSelector(`unescaped character in value: ${found.codePointAt(0)}`);
    }
    if (!/^[\\,=]$/.test(escaped)) {
      throw badSelector(`invalid escape sequence: ${found}`);
    }
    return escaped;
  });
}

function badSelector(problem: string): ApiError {
  return new ApiError(400, "BadRequest", `invalid field selector: ${problem}`);
}
