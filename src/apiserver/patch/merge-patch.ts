// JSON Merge Patch (RFC 7396): objects merge field by field, null removes, anything else replaces.
// Null fields of objects in a new list are dropped too. This is not in the RFC, but the library of
// the real server does it.
import { isJsonObject, type JsonObject, ownField, setField } from "../kinds/fields.ts";

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) {
    return withoutNullFields(patch);
  }
  const result: JsonObject = isJsonObject(document) ? { ...document } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) {
      delete result[field];
    } else {
      setField(result, field, applyMergePatch(ownField(result, field), value));
    }
  }
  return result;
}

function withoutNullFields(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown) =>
      isJsonObject(item) ? applyMergePatch({}, item) : withoutNullFields(item),
    );
  }
  return value;
}
