// JSON Merge Patch (RFC 7396): objects merge field by field, null removes, anything else replaces.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) {
    return patch;
  }
  const result: JsonObject = isJsonObject(document) ? { ...document } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) {
      delete result[field];
    } else {
      result[field] = applyMergePatch(result[field], value);
    }
  }
  return result;
}
