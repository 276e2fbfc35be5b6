// The refusal of an apply that would take fields from others: 409, with each field and its owner.
import { ApiError } from "../api-error.ts";
import { type Owner, ownerKey } from "./ownership.ts";
import type { FieldConflict } from "./ownership-change.ts";
import { showPath } from "./path-element.ts";

export function conflictError(conflicts: readonly FieldConflict[]): ApiError {
  const causes = conflicts.map(({ owner, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${ownerText(owner)}`,
    field: showPath(path),
  }));
  return new ApiError(409, "Conflict", conflictMessage(conflicts), { causes });
}

function conflictMessage(conflicts: readonly FieldConflict[]): string {
  const [only, ...more] = conflicts;
  if (only !== undefined && more.length === 0) {
    const place = showPath(only.path);
    return `Apply failed with 1 conflict: conflict with ${ownerText(only.owner)}: ${place}`;
  }
  const byOwner = new Map<string, FieldConflict[]>();
  for (const conflict of conflicts) {
    const key = ownerKey(conflict.owner);
    byOwner.set(key, [...(byOwner.get(key) ?? []), conflict]);
  }
  const lines = [...byOwner.keys()].sort().flatMap((key) => {
    const theirs = byOwner.get(key) ?? [];
    const headings = theirs.slice(0, 1).map(({ owner }) => `conflicts with ${ownerText(owner)}:`);
    return [...headings, ...theirs.map(({ path }) => `- ${showPath(path)}`)];
  });
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

function ownerText({ manager, operation, apiVersion, subresource }: Owner): string {
  const place = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  const how = operation === "Update" ? ` using ${apiVersion}` : "";
  return `${JSON.stringify(manager)}${place}${how}`;
}
