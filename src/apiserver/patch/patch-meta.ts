// The patch metadata of a schema: the type of a field, and whether its lists are merged and by which
// key.
import { type Schema, schemas } from "../kinds/schema.ts";

/**
 * The patch contradicts the schema or itself. The status depends on the mistake: those that the
 * real server does not expect are internal errors.
 */
export class StrategicPatchError extends Error {
  override readonly name = "StrategicPatchError";
  readonly code = "STRATEGIC_PATCH";
  readonly status: 400 | 422 | 500;

  constructor(status: 400 | 422 | 500, message: string) {
    super(message);
    this.status = status;
  }
}

/** The type of a value that is being patched. */
export type PatchMeta = Schema;

export interface FieldMeta {
  readonly meta: PatchMeta;
  /** "" is the default: objects are merged, lists are replaced. */
  readonly strategy: string;
}

export interface ListMeta {
  /** Of the elements. */
  readonly meta: PatchMeta;
  readonly strategy: string;
  /** "" for lists of scalars. */
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

/** `retainKeys` only allows the directive. */
function strategyOf(schema: Schema): string {
  return schema.patchStrategy?.find((strategy) => strategy !== "retainKeys") ?? "";
}

/** The reflect.Kind of the Go type. */
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
