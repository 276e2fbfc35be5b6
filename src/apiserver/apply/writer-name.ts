// Under which name a request's writer owns fields: the one it gives or, failing that, what its user
// agent begins with.
import { FieldErrors } from "../kinds/field-errors.ts";

/** Bytes, as in k8s.io/apimachinery/pkg/apis/meta/v1/validation. */
const maxManagerBytes = 128;

export type WriteOptions = "CreateOptions" | "PatchOptions" | "UpdateOptions";

/** The name the request gives, "" for none. Throws a 422 for a name that could not be shown. */
export function givenManager(query: URLSearchParams, options: WriteOptions): string {
  const given = query.get("fieldManager") ?? "";
  const errors = new FieldErrors();
  checkManagerName(given, errors);
  errors.throwIfAny({ group: "meta.k8s.io", kind: options }, "");
  return given;
}

export function checkManagerName(name: string, errors: FieldErrors): void {
  const field = "fieldManager";
  if (Buffer.byteLength(name) > maxManagerBytes) {
    errors.tooLong(field, maxManagerBytes);
  }
  let position = 0;
  for (const character of name) {
    if (!isPrintable(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      errors.invalid(field, name, `invalid character U+${code} (at position ${position})`);
    }
    position += Buffer.byteLength(character);
  }
}

export function managerFromUserAgent(userAgent: string): string {
  let name = "";
  let bytes = 0;
  for (const character of userAgent.split("/", 1)[0] ?? "") {
    if (!isPrintable(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > maxManagerBytes) break;
    name += character;
  }
  return name;
}

/** As Go has it: letters, marks, numbers, punctuation, symbols and the plain space. */
function isPrintable(character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character);
}
