// What the schema says about patching a place in an object: of which type it is, and whether its
// lists are merged and by which key.
import { type Schema, schemas } from "../kinds/schema.ts";
import { StrategicPatchError } from "./strategic-patch-error.ts";

/** The type of a value that is being patched. */
export type PatchMeta = Schema;

export interface FieldMeta {
  readonly meta: PatchMeta;
  /** "" where nothing is said, which merges objects and replaces lists. */
  readonly strategy: string;
}

export interface ListMeta {
  /** Of the elements. */
  readonly meta: PatchMeta;
  readonly strategy: string;
  /** "" for lists of plain values. */
  readonly mergeKey: string;
}

export function structMeta(meta: PatchMeta | undefined, field: string): FieldMeta {
  const schema = fieldSchema(meta, field);
  return { meta: schema, strategy: strategyOf(schema) };
}

export function listMeta(meta: PatchMeta | undefined, field: string): ListMeta {
  const schema = fieldSchema(meta, field);
  if (schema.type !== "array") {
    throw new StrategicPatchError(500, "expected slice or array type, but got: struct");
  }
  return { meta: schema.of, strategy: strategyOf(schema), mergeKey: schema.mergeKey ?? "" };
}

function fieldSchema(meta: PatchMeta | undefined, field: string): Schema {
  if (meta?.type !== "ref") {
    throw new StrategicPatchError(
      500,
      `merging an object in json but data type is not struct, instead is: ${kindOf(meta)}`,
    );
  }
  const schema = schemas[meta.to]?.fields[field];
  if (schema === undefined) {
    const struct = meta.to.split(".").at(-1) ?? "";
    throw new StrategicPatchError(
      500,
      `unable to find api field in struct ${struct} for the json field ${JSON.stringify(field)}`,
    );
  }
  return schema;
}

/** `retainKeys` only says that the directive may occur. */
function strategyOf(schema: Schema): string {
  return schema.patchStrategy?.find((strategy) => strategy !== "retainKeys") ?? "";
}

/** The kind of type, as Go's reflection names it. */
function kindOf(meta: PatchMeta | undefined): string {
  switch (meta?.type) {
    case "map":
      return "map";
    case "array":
      return "slice";
    case "boolean":
      return "bool";
    case "number":
      return "float64";
    case "int32":
    case "int64":
    case "string":
      return meta.type;
    default:
      return "struct";
  }
}
