// A reference to an object of any kind: group, kind and name.
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, textAt } from "./fields.ts";
import { dnsSubdomain, pathSegmentName } from "./names.ts";

export function validateTypedReference(
  reference: JsonObject,
  path: string,
  errors: FieldErrors,
): void {
  const group = reference["apiGroup"];
  if (typeof group === "string") {
    errors.invalidForEach(`${path}.apiGroup`, group, dnsSubdomain(group));
  }
  for (const field of ["kind", "name"]) {
    const value = textAt(reference, field);
    if (value === "") {
      errors.required(`${path}.${field}`);
    } else {
      errors.invalidForEach(`${path}.${field}`, value, pathSegmentName(value));
    }
  }
}
