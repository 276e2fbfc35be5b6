// The scale subresource and the printer columns of a version: simple JSON paths and known types.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { textAt } from "../kinds/fields.ts";
import type { DefinitionVersion } from "./definition.ts";
import { childPath, keyPath } from "./field-path.ts";

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = [
  "byte",
  "date",
  "date-time",
  "double",
  "float",
  "int32",
  "int64",
  "password",
];

export function checkScale({ scale }: DefinitionVersion, path: string, errors: FieldErrors): void {
  if (scale === undefined) return;
  const spec = textAt(scale, "specReplicasPath");
  const specPath = childPath(path, "scale.specReplicasPath");
  if (spec === "") errors.required(specPath);
  else if (checkPath(spec, specPath, errors) && !spec.startsWith(".spec.")) {
    errors.invalid(specPath, spec, "should be a json path under .spec");
  }
  const status = textAt(scale, "statusReplicasPath");
  const statusPath = childPath(path, "scale.statusReplicasPath");
  if (status === "") errors.required(statusPath);
  else if (checkPath(status, statusPath, errors) && !status.startsWith(".status.")) {
    errors.invalid(statusPath, status, "should be a json path under .status");
  }
  const selector = textAt(scale, "labelSelectorPath");
  const selectorPath = childPath(path, "scale.labelSelectorPath");
  const isBelow = selector.startsWith(".spec.") || selector.startsWith(".status.");
  if (selector !== "" && checkPath(selector, selectorPath, errors) && !isBelow) {
    errors.invalid(selectorPath, selector, "should be a json path under either .spec or .status");
  }
}

export function checkColumns(version: DefinitionVersion, path: string, errors: FieldErrors): void {
  for (const [index, column] of version.printerColumns.entries()) {
    const place = keyPath(path, index);
    if (textAt(column, "name") === "") errors.required(childPath(place, "name"));
    const type = textAt(column, "type");
    const oneOf = `must be one of ${columnTypes.join(",")}`;
    if (type === "") errors.required(childPath(place, "type"), oneOf);
    else if (!columnTypes.includes(type)) errors.invalid(childPath(place, "type"), type, oneOf);
    const format = textAt(column, "format");
    if (format !== "" && !columnFormats.includes(format)) {
      const detail = `must be one of ${columnFormats.join(",")}`;
      errors.invalid(childPath(place, "format"), format, detail);
    }
    const jsonPath = textAt(column, "jsonPath");
    if (jsonPath === "") errors.required(childPath(place, "JSONPath"));
    else checkPath(jsonPath, childPath(place, "JSONPath"), errors);
  }
}

function checkPath(text: string, path: string, errors: FieldErrors): boolean {
  if (text.startsWith(".")) return true;
  errors.invalid(path, text, "must be a simple json path starting with .");
  return false;
}
