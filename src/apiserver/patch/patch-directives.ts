// What becomes of a patch's own value where the object has nothing to merge it with: directives and
// nulls in it have nothing to act on and are left out.
import { isJsonObject } from "../kinds/fields.ts";

/** Nulls of what is new mean nothing; those in lists stay. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutNulls);
  }
  if (!isJsonObject(value)) {
    return value;
  }
  const kept = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutNulls(field)]));
}

/** Undefined for an object with a directive: there is nothing that it could be about. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutDirectives).filter((item) => item !== undefined);
  }
  if (!isJsonObject(value)) {
    return value;
  }
  if (Object.hasOwn(value, "$patch")) {
    return undefined;
  }
  const fields = Object.entries(value).map(([key, field]) => [key, withoutDirectives(field)]);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}
