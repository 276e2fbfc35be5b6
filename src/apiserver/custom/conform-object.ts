// Brings an object of a custom kind into the shape of its schema, as `decode/conform.ts` does for the
// built-in kinds: unknown fields and forbidden nulls go, metadata becomes what metadata is.
import { type Conformed, conform } from "../decode/conform.ts";
import { copyJson, type JsonObject } from "../kinds/fields.ts";
import { cleanEmbedded } from "./embedded-resources.ts";
import type { JsonSchema } from "./json-schema.ts";
import { pruneNulls, pruneObject } from "./pruning.ts";

/** Drops what the schema does not know, in the object, its metadata, and objects inside it. */
export function conformTo(schema: JsonSchema, document: JsonObject): Conformed {
  const value = copyJson(document);
  const unknownFields: string[] = [];
  if (value["metadata"] !== undefined && value["metadata"] !== null) {
    const metadata = conform("meta.v1.ObjectMeta", value["metadata"]);
    unknownFields.push(...metadata.unknownFields.map((field) => `metadata.${field}`));
    value["metadata"] = metadata.value;
  }
  unknownFields.push(...pruneObject(value, schema));
  pruneNulls(value, schema);
  unknownFields.push(...cleanEmbedded(value, schema));
  return { value, unknownFields };
}
