// The defaults in a schema must themselves be what the schema allows, with nothing in them that
// would be pruned. Defaults inside of metadata are refused elsewhere.
import { isDeepStrictEqual } from "node:util";
import { FieldErrors } from "../kinds/field-errors.ts";
import { copyOf } from "../kinds/fields.ts";
import { checkEmbedded } from "./embedded-resources.ts";
import { childPath, noPath } from "./field-path.ts";
import type { JsonSchema } from "./json-schema.ts";
import { pruneValue } from "./pruning.ts";
import { buildRules, checkRules } from "./rules.ts";
import { propertyPath } from "./structural-check.ts";
import { checkValue } from "./value-check.ts";
import { reportFailures } from "./value-failure.ts";

export function checkDefaults(schema: JsonSchema, path: string, errors: FieldErrors): void {
  if (schema.default !== undefined) checkDefault(schema, childPath(path, "default"), errors);
  if (schema.items !== undefined) checkDefaults(schema.items, childPath(path, "items"), errors);
  for (const [name, property] of schema.properties) {
    checkDefaults(property, propertyPath(path, name), errors);
  }
}

function checkDefault(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const value = schema.default;
  const pruned = copyOf(value);
  pruneValue(pruned, schema);
  if (!isDeepStrictEqual(pruned, value)) {
    errors.invalid(path, value, "must not have unknown fields");
  }
  const embedded = new FieldErrors();
  checkEmbedded(value, schema, embedded);
  if (embedded.causes.length > 0) {
    errors.include(embedded.causes, `${path}.`);
    return;
  }
  const failures = checkValue(schema, value);
  reportFailures(failures, path, errors);
  const rules = failures.length > 0 ? undefined : buildRules(schema, schema.isEmbeddedResource);
  if (rules === undefined) return;
  for (const old of [value, undefined]) {
    const found = new FieldErrors();
    const subject = { value, old, path: "", before: undefined, parentIsSame: false };
    checkRules(rules, subject, found);
    errors.include(
      found.causes.map((cause) => ({
        ...cause,
        field: cause.field === noPath ? path : childPath(path, cause.field ?? ""),
      })),
    );
    if (found.causes.length > 0) return;
  }
}
