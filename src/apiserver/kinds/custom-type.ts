// What the server needs of a kind that a CustomResourceDefinition has added, where the schema table
// serves the built-in kinds: how its objects are decoded, how a change of one is checked, and where
// its scale is. `custom/` implements it; nothing else knows how.
import type { Conformed } from "../decode/conform.ts";
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import type { JsonObject } from "./fields.ts";

export interface CustomType {
  /** The OpenAPI v3 schema of this version, as its definition has it. */
  readonly openApi: JsonObject;
  /** Absent when it has no scale subresource. */
  readonly scale?: ScalePaths;
  /** Sent with every answer: that the version is deprecated. */
  readonly warnings: readonly string[];
  /** Drops what the schema does not know. */
  conform(document: JsonObject): Conformed;
  /** Checks one state against the one before it; what has not changed may stay as it is. */
  validateChange(change: CustomChange, errors: FieldErrors): void;
  /** Throws where the version cannot be served at all: its objects cannot be converted to it. */
  refuseUse(): void;
  /** Waits until every server knows of the kind; throws while its definition is being deleted. */
  admitCreate(name: string): Promise<void>;
}

export interface CustomChange {
  readonly object: KubeObject;
  readonly current: KubeObject;
  readonly isStatus: boolean;
}

/** Steps to the fields of an object that its Scale shows. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  /** Undefined when the definition names none. */
  readonly labelSelector: readonly string[] | undefined;
}
