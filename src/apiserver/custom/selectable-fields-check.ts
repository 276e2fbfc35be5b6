// The fields by which objects of a custom kind may be selected: scalars that its schema specifies.
import type { FieldErrors } from "../kinds/field-errors.ts";
import type { DefinitionVersion } from "./definition.ts";
import { childPath, keyPath } from "./field-path.ts";
import { readSchema } from "./json-schema.ts";
import { followPath } from "./rule-paths.ts";

/** As in Kubernetes: each costs the watch cache of every server. */
const maxSelectableFields = 8;

export function checkSelectableFields(
  version: DefinitionVersion,
  path: string,
  errors: FieldErrors,
): void {
  const { schema, selectableFields } = version;
  if (selectableFields.length === 0 || schema === undefined) return;
  const root = readSchema(schema);
  const seen = new Set<string>();
  for (const [index, jsonPath] of selectableFields.entries()) {
    const place = childPath(keyPath(path, index), "jsonPath");
    if (jsonPath === "") {
      errors.required(place);
      continue;
    }
    const found = followPath(jsonPath, root, { allowsBrackets: false });
    if ("problem" in found) {
      errors.invalid(place, jsonPath, `is an invalid path: ${found.problem}`);
      continue;
    }
    if (found.steps[0] === "metadata") {
      errors.invalid(place, jsonPath, "must not point to fields in metadata");
    }
    if (!["string", "boolean", "integer"].includes(found.schema.type)) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.invalid(place, jsonPath, detail);
    }
    if (seen.has(found.path)) errors.duplicate(place, jsonPath);
    seen.add(found.path);
  }
  if (seen.size > maxSelectableFields) errors.tooMany(path, seen.size, maxSelectableFields);
}
