// Kinds of the cluster itself: Namespace, Node, ServiceAccount, Lease and Event.
import {
  ensureObject,
  isJsonObject,
  numberAt,
  objectAt,
  setDefaults,
  textAt,
  textsAt,
  valueAt,
} from "./fields.ts";
import { dnsLabel } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import { defineKind, keepStatus } from "./resource-kind.ts";

/** Holds a deleted namespace until its contents are gone; lives in spec, not in metadata. */
export const namespaceFinalizer = "kubernetes";

const namespaceNameLabel = "kubernetes.io/metadata.name";

export const namespaceKind = defineKind({
  kind: "Namespace",
  resource: "namespaces",
  shortNames: ["ns"],
  namespaced: false,
  schema: "core.v1.Namespace",
  returnsDeleted: true,
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
});

export const nodeKind = defineKind({
  kind: "Node",
  resource: "nodes",
  shortNames: ["no"],
  namespaced: false,
  schema: "core.v1.Node",
  subresources: ["status"],
  prefix: "/registry/minions/",
  selectableFields: {
    "spec.unschedulable": (node) => String(valueAt(node, "spec", "unschedulable") === true),
  },
  setDefaults(node) {
    ensureObject(node, "spec");
    const status = objectAt(node, "status");
    const capacity = objectAt(status, "capacity");
    if (status !== undefined && capacity !== undefined) {
      setDefaults(status, { allocatable: capacity });
    }
  },
  /** The kubelet registers its node together with the node's first status. */
  prepareCreate(node) {
    ensureObject(node, "status");
  },
  validateUpdate(node, current, errors) {
    for (const field of ["podCIDR", "providerID"]) {
      const before = textAt(current, "spec", field);
      if (before !== "") {
        validateImmutable(`spec.${field}`, textAt(node, "spec", field), before, errors);
      }
    }
  },
});

export const serviceAccountKind = defineKind({
  kind: "ServiceAccount",
  resource: "serviceaccounts",
  shortNames: ["sa"],
  namespaced: true,
  schema: "core.v1.ServiceAccount",
  returnsDeleted: true,
});

export const leaseKind = defineKind({
  group: "coordination.k8s.io",
  kind: "Lease",
  resource: "leases",
  namespaced: true,
  schema: "coordination.v1.Lease",
  createOnUpdate: true,
  unconditionalUpdate: false,
  validate(lease, errors) {
    const duration = numberAt(lease, "spec", "leaseDurationSeconds");
    if (duration !== undefined && duration <= 0) {
      errors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0");
    }
    const transitions = numberAt(lease, "spec", "leaseTransitions");
    errors.nonNegative("spec.leaseTransitions", transitions);
  },
});

export const eventKind = defineKind({
  kind: "Event",
  resource: "events",
  shortNames: ["ev"],
  namespaced: true,
  schema: "core.v1.Event",
  createOnUpdate: true,
  selectableFields: {
    ...Object.fromEntries(
      ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].map(
        (field) => [
          `involvedObject.${field}`,
          (event: unknown) => textAt(event, "involvedObject", field),
        ],
      ),
    ),
    reason: (event) => textAt(event, "reason"),
    reportingComponent: (event) => textAt(event, "reportingComponent"),
    source: (event) => textAt(event, "source", "component"),
    type: (event) => textAt(event, "type"),
  },
  setDefaults(event) {
    if (!isJsonObject(event["source"])) {
      event["source"] = {};
    }
  },
  validate(event, errors) {
    const namespace = textAt(event, "involvedObject", "namespace");
    const own = event.metadata.namespace ?? "";
    const isClusterEvent = namespace === "" && own === "default";
    if (namespace !== own && !isClusterEvent) {
      errors.invalid("involvedObject.namespace", namespace, "does not match event.namespace");
    }
  },
});
