// A namespace: whether it is on its way out, and what it still waits for.
import { listAt, optionalString, recordAt } from "./fields.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface Namespace {
  readonly metadata: ObjectMeta;
  /** `Active` or `Terminating`. */
  readonly phase: string;
  /** While any is left, a deleted namespace stays: its contents have to go first. */
  readonly finalizers: readonly string[];
}

export const namespaceKind: Kind<Namespace> = {
  group: "",
  version: "v1",
  kind: "Namespace",
  resource: "namespaces",
  namespaced: false,
  project: projectNamespace,
};

function projectNamespace(raw: unknown, similar?: Namespace): Namespace {
  const object = objectRecord(raw);
  return {
    metadata: projectMetadata(object, namespaceKind, similar?.metadata),
    phase: optionalString(recordAt(object, "status"), "phase") ?? "",
    finalizers: listAt(recordAt(object, "spec"), "finalizers").filter(
      (one) => typeof one === "string",
    ),
  };
}
