// ReplicaSets and their predecessor, ReplicationControllers. No controller of the lab runs the
// latter; they are served because kubectl lists them, and a cluster of the lab refuses new ones.
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type Column,
  countAt,
  type KindColumns,
  labelsText,
  nameColumn,
  nameOf,
  numberColumn,
  selectorText,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  isJsonObject,
  numberAt,
  objectAt,
  setDefaults,
  textMapAt,
} from "./fields.ts";
import { subdomainInBytes } from "./names.ts";
import { defineKind, startGeneration } from "./resource-kind.ts";
import {
  mismatch,
  selectorColumn,
  setTemplateDefaults,
  shared,
  templateCells,
  templateColumns,
  templateLabels,
  validateCounts,
  validateSelectorAndTemplate,
  validateTemplate,
} from "./workload.ts";

const replicaColumns: readonly Column[] = [
  nameColumn,
  numberColumn("Desired", "How many pods are wanted."),
  numberColumn("Current", "How many pods there are."),
  numberColumn("Ready", "How many pods are ready."),
  ageColumn,
  ...templateColumns,
  selectorColumn,
];

const replicaSetColumns: KindColumns = {
  columns: replicaColumns,
  cells: (set, now) => [
    nameOf(set),
    countAt(set, "spec", "replicas"),
    countAt(set, "status", "replicas"),
    countAt(set, "status", "readyReplicas"),
    ageOf(set, now),
    ...templateCells(set),
    selectorText(objectAt(set, "spec", "selector")),
  ],
};

const replicationControllerColumns: KindColumns = {
  columns: replicaColumns,
  cells: (controller, now) => [
    ...replicaSetColumns.cells(controller, now).slice(0, -1),
    labelsText(textMapAt(controller, "spec", "selector")),
  ],
};

export const replicaSetKind = defineKind({
  ...shared,
  kind: "ReplicaSet",
  resource: "replicasets",
  shortNames: ["rs"],
  schema: "apps.v1.ReplicaSet",
  columns: replicaSetColumns,
  selectableFields: {
    "status.replicas": (set) => String(numberAt(set, "status", "replicas") ?? 0),
  },
  setDefaults(set) {
    setDefaults(ensureObject(set, "spec"), { replicas: 1 });
    setTemplateDefaults(set);
  },
  prepareCreate(set) {
    set["status"] = { replicas: 0 };
    startGeneration(set);
  },
  validate(set, errors) {
    validateReplicas(set, errors);
    // The message names the kind that usually makes these.
    validateSelectorAndTemplate(set, "deployment", errors);
  },
});

/** Its selector is a plain map; it defaults to the labels of the template. */
export const replicationControllerKind = defineKind({
  kind: "ReplicationController",
  group: "",
  namespaced: true,
  categories: ["all"],
  resource: "replicationcontrollers",
  shortNames: ["rc"],
  prefix: "/registry/controllers/",
  subresources: ["status", "scale"],
  schema: "core.v1.ReplicationController",
  columns: replicationControllerColumns,
  nameRule: subdomainInBytes,
  setDefaults(controller) {
    const spec = ensureObject(controller, "spec");
    setDefaults(spec, { replicas: 1 });
    const labels = textMapAt(spec, "template", "metadata", "labels");
    if (Object.keys(labels).length > 0) {
      controller.metadata.labels ??= { ...labels };
      spec["selector"] ??= { ...labels };
    }
    if (isJsonObject(spec["template"])) setTemplateDefaults(controller);
  },
  prepareCreate(controller) {
    controller["status"] = { replicas: 0 };
    startGeneration(controller);
  },
  prepareUpdate: (controller, current) => shared.prepareUpdate(controller, current),
  orphansByDefault: true,
  validate: validateController,
  validateStatus: validateCounts,
  warnings: shared.warnings,
});

function validateReplicas(object: KubeObject, errors: FieldErrors): void {
  errors.nonNegative("spec.replicas", numberAt(object, "spec", "replicas"));
  errors.nonNegative("spec.minReadySeconds", numberAt(object, "spec", "minReadySeconds"));
}

function validateController(controller: KubeObject, errors: FieldErrors): void {
  errors.nonNegative("spec.minReadySeconds", numberAt(controller, "spec", "minReadySeconds"));
  const selector = Object.entries(textMapAt(controller, "spec", "selector"));
  if (selector.length === 0) {
    errors.required("spec.selector");
  }
  errors.nonNegative("spec.replicas", numberAt(controller, "spec", "replicas"));
  if (objectAt(controller, "spec", "template") === undefined) {
    errors.required("spec.template");
    return;
  }
  const labels = templateLabels(controller);
  if (selector.some(([key, value]) => labels[key] !== value)) {
    mismatch(controller, errors);
  }
  validateTemplate(controller, errors);
}
