// The shape of an API type: its fields and the values each may hold. `schemas.json` is the table of
// these; scripts/generate-schemas.mjs makes it from the published Kubernetes specification.
// Decoding, unknown-field handling, patching and the OpenAPI document all read this one table.
import table from "./schemas.json" with { type: "json" };

export type Schema = (
  | { readonly type: "string" | "bytes" | "int32" | "int64" | "number" | "boolean" }
  | { readonly type: "intOrString" | "quantity" | "time" | "microTime" }
  /** Any JSON object: managed fields, extensions. */
  | { readonly type: "json" }
  | { readonly type: "ref"; readonly to: string }
  | {
      readonly type: "map";
      readonly of: Schema;
      /** Owned as one value, not key by key. */
      readonly atomic?: true;
    }
  | {
      readonly type: "array";
      readonly of: Schema;
      /**
       * `map` lists are keyed by `mapKeys`, `set` lists hold a value once, `atomic` are one value.
       */
      readonly listType?: "map" | "set" | "atomic";
      readonly mapKeys?: readonly string[];
      /** The field by which a strategic merge patch matches elements. */
      readonly mergeKey?: string;
    }
) & {
  /** `merge`, `replace` (the default) or `retainKeys`, in a strategic merge patch. */
  readonly patchStrategy?: readonly string[];
  readonly default?: string | number | boolean;
  /** Its number in protobuf; two where Go embeds a struct that JSON does not show. */
  readonly proto?: readonly number[];
  /** Empty text, zero, false and empty lists mean the same as absent, and become it. */
  readonly omitZero?: true;
  /** Written when there is no value: Go leaves out neither structs nor untagged fields. */
  readonly whenAbsent?: "null" | "zero";
};

export interface TypeSchema {
  readonly fields: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** Owned as one value, not field by field. */
  readonly atomic?: true;
}

/** By name: group, version and kind, as in `core.v1.Pod`. */
export type SchemaTable = Readonly<Record<string, TypeSchema>>;

export const schemas = table.types as SchemaTable;
