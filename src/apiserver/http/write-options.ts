// The query of a create, update or patch: field manager, dry run, field validation and force. One
// 422 lists every parameter that is wrong, in the order of k8s.io/apimachinery's
// ValidateCreateOptions.
import { type FieldValidation, fieldValidations } from "../decode/request-object.ts";
import { FieldErrors } from "../kinds/field-errors.ts";

export interface WriteOptions {
  /** The field manager that the request names, "" for none. */
  readonly manager: string;
  readonly dryRun: boolean;
  readonly validation: FieldValidation;
  /** An apply takes over fields of other managers. */
  readonly isForced: boolean;
}

export type WriteOperation = "create" | "update" | "patch" | "apply";

const optionsKinds = {
  create: "CreateOptions",
  update: "UpdateOptions",
  patch: "PatchOptions",
  apply: "PatchOptions",
} as const satisfies Record<WriteOperation, string>;

export function readWriteOptions(query: URLSearchParams, operation: WriteOperation): WriteOptions {
  const manager = query.get("fieldManager") ?? "";
  const force = query.get("force")?.toLowerCase();
  const dryRun = query.getAll("dryRun");
  const given = query.get("fieldValidation") ?? "";
  const validation = given === "" ? "Warn" : fieldValidations.find((value) => value === given);
  const errors = new FieldErrors();
  if (operation === "apply" && manager === "") {
    errors.required("fieldManager", "is required for apply patch");
  }
  if (operation === "patch" && force !== undefined) {
    errors.forbidden("force", "may not be specified for non-apply patch");
  }
  validateManager(manager, errors);
  if (dryRun.some((value) => value !== "All")) {
    errors.notSupported("dryRun", dryRun, ["All"]);
  }
  if (validation === undefined) {
    errors.notSupported("fieldValidation", given, ["", ...fieldValidations]);
  }
  errors.throwIfAny({ group: "meta.k8s.io", kind: optionsKinds[operation] }, "");
  return {
    manager,
    dryRun: dryRun.length > 0,
    validation: validation ?? "Warn",
    // The decoder of query parameters reads anything but "false" and "0" as true.
    isForced: force !== undefined && force !== "false" && force !== "0",
  };
}

/** Bytes, as in k8s.io/apimachinery/pkg/apis/meta/v1/validation. */
const managerMaxBytes = 128;

function validateManager(manager: string, errors: FieldErrors): void {
  const field = "fieldManager";
  if (Buffer.byteLength(manager) > managerMaxBytes) {
    errors.tooLong(field, managerMaxBytes);
  }
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      errors.invalid(field, manager, `invalid character U+${code} (at position ${position})`);
    }
    position += Buffer.byteLength(character);
  }
}

/** The field manager of a request that names none: the first part of its user agent. */
export function managerFromUserAgent(userAgent: string): string {
  let name = "";
  let bytes = 0;
  for (const character of userAgent.split("/", 1)[0] ?? "") {
    if (!isPrintable(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > managerMaxBytes) break;
    name += character;
  }
  return name;
}

/**
 * As in Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols and the plain space.
 */
function isPrintable(character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character);
}
