// Namespaces. A deleted one terminates until its contents are gone and its finalizer is removed.
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import { ensureObject, textAt, textsAt } from "./fields.ts";
import { dnsLabel, qualifiedName } from "./names.ts";
import { markForDeletion } from "./object-meta.ts";
import { defineKind, keepStatus } from "./resource-kind.ts";

const namespaceColumns: KindColumns = {
  columns: [nameColumn, textColumn("Status", "Active, or on its way out."), ageColumn],
  cells: (namespace, now) => [
    nameOf(namespace),
    textAt(namespace, "status", "phase"),
    ageOf(namespace, now),
  ],
};

/** Holds a deleted namespace until its contents are gone. It is in spec, not in metadata. */
export const namespaceFinalizer = "kubernetes";

const namespaceNameLabel = "kubernetes.io/metadata.name";

export const namespaceKind = defineKind({
  kind: "Namespace",
  resource: "namespaces",
  shortNames: ["ns"],
  namespaced: false,
  schema: "core.v1.Namespace",
  columns: namespaceColumns,
  returnsDeleted: true,
  isDeletedSingly: true,
  subresources: ["status", "finalize"],
  nameRule: dnsLabel,
  selectableFields: { "status.phase": (namespace) => textAt(namespace, "status", "phase") },
  setDefaults(namespace) {
    const { metadata } = namespace;
    if (metadata.name !== "") {
      metadata.labels = { ...metadata.labels, [namespaceNameLabel]: metadata.name };
    }
  },
  prepareCreate(namespace) {
    namespace["status"] = { phase: "Active" };
    const spec = ensureObject(namespace, "spec");
    const finalizers = textsAt(spec, "finalizers");
    if (!finalizers.includes(namespaceFinalizer)) {
      spec["finalizers"] = [...finalizers, namespaceFinalizer];
    }
  },
  prepareUpdate(namespace, current) {
    keepStatus(namespace, current);
    namespace["spec"] = current["spec"];
  },
  validate: validateFinalizers,
  undeletableNames: ["default", "kube-public", "kube-system"],
  otherFinalizers: (namespace) => textsAt(namespace, "spec", "finalizers"),
  /** It terminates, without a grace period, until its contents are gone. */
  planDeletion(current, now) {
    const { deletionTimestamp, finalizers = [] } = current.metadata;
    const isHeld = textsAt(current, "spec", "finalizers").length > 0 || finalizers.length > 0;
    if (!isHeld) return { object: current, goesNow: true };
    if (deletionTimestamp !== undefined) return { object: current, goesNow: false };
    const marked = markForDeletion(current, { wall: now, grace: undefined, finalizers });
    return { object: { ...marked, status: { phase: "Terminating" } }, goesNow: false };
  },
});

function validateFinalizers(namespace: KubeObject, errors: FieldErrors): void {
  for (const name of textsAt(namespace, "spec", "finalizers")) {
    errors.invalidForEach("spec.finalizers", name, qualifiedName(name));
    if (!name.includes("/") && name !== namespaceFinalizer) {
      const detail = "name is neither a standard finalizer name nor is it fully qualified";
      errors.invalid("spec.finalizers", name, detail);
    }
  }
}
