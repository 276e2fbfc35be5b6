// Structs that Go embeds: JSON shows their fields as the outer type's own, while Go's decoder names
// the struct when a value does not fit.
import { schemas } from "../kinds/schema.ts";

const byOwner: Readonly<Record<string, string>> = {
  "core.v1.EphemeralContainer": "EphemeralContainerCommon",
  "core.v1.Probe": "ProbeHandler",
  "core.v1.Volume": "VolumeSource",
  "networking.v1.IngressRule": "IngressRuleValue",
};

/** In the other types of core it is the name of an object in the same namespace. */
const usual = "LocalObjectReference";

/** "" for a field of the type's own. */
export function embeddedStruct(owner: string, field: string): string {
  const depth = schemas[owner]?.fields[field]?.proto?.length ?? 0;
  return depth < 2 ? "" : (byOwner[owner] ?? usual);
}
