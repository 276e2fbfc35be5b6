// Deployments, ReplicaSets and their kin: pods made from a template. The lab has controllers for
// Deployments and ReplicaSets; DaemonSets and ReplicationControllers are served because kubectl lists
// them, and a cluster of the lab refuses new ones (served-kinds.ts).

import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ensureObject,
  isJsonObject,
  numberAt,
  objectAt,
  setDefaults,
  textMapAt,
  valueAt,
} from "./fields.ts";
import { subdomainInBytes } from "./names.ts";
import { setPodSpecDefaults } from "./pod-spec.ts";
import { podSpecWarnings } from "./pod-warnings.ts";
import {
  bumpGeneration,
  bumpGenerationIfChanged,
  defineKind,
  type KindDefinition,
  keepAllButStatus,
  keepStatus,
  startGeneration,
} from "./resource-kind.ts";
import {
  shownSelector,
  validateController,
  validateCounts,
  validateReplicas,
  validateSelectorAndTemplate,
  validateStrategy,
  validateUpdateStrategy,
} from "./workload-rules.ts";

/** Counts the templates a DaemonSet has had, for clients of a version long gone. */
const templateGeneration = "deprecated.daemonset.template.generation";

const shared = {
  group: "apps",
  namespaced: true,
  categories: ["all"],
  subresources: ["status", "scale"],
  prepareCreate(object) {
    object["status"] = {};
    startGeneration(object);
  },
  prepareUpdate(object, current) {
    keepStatus(object, current);
    bumpGenerationIfChanged(object, current, ["spec"]);
  },
  validateUpdateLast(object, current, errors) {
    const selector = valueAt(object, "spec", "selector") ?? null;
    if (!sameJson(selector, valueAt(current, "spec", "selector") ?? null)) {
      errors.invalid("spec.selector", shownSelector(selector), "field is immutable");
    }
  },
  validateStatus: validateCounts,
  warnings: (object) =>
    podSpecWarnings(valueAt(object, "spec", "template", "spec"), "spec.template.spec"),
} satisfies Partial<KindDefinition>;

export const deploymentKind = defineKind({
  ...shared,
  kind: "Deployment",
  resource: "deployments",
  shortNames: ["deploy"],
  schema: "apps.v1.Deployment",
  setDefaults(deployment) {
    const spec = ensureObject(deployment, "spec");
    setDefaults(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
    const strategy = ensureObject(spec, "strategy");
    setDefaults(strategy, { type: "RollingUpdate" });
    if (strategy["type"] === "RollingUpdate") {
      const rolling = ensureObject(strategy, "rollingUpdate");
      rolling["maxSurge"] ??= "25%";
      rolling["maxUnavailable"] ??= "25%";
    }
    setTemplateDefaults(deployment);
  },
  prepareUpdate(deployment, current) {
    shared.prepareUpdate(deployment, current);
    const { annotations } = deployment.metadata;
    if (!sameJson(annotations ?? {}, current.metadata.annotations ?? {})) {
      bumpGeneration(deployment, current);
    }
  },
  prepareStatusUpdate(deployment, current) {
    const { labels } = current.metadata;
    keepAllButStatus(deployment, current);
    if (labels === undefined) delete deployment.metadata.labels;
    else deployment.metadata.labels = labels;
  },
  validate(deployment, errors) {
    const spec = objectAt(deployment, "spec") ?? {};
    errors.nonNegative("spec.replicas", numberAt(spec, "replicas"));
    validateSelectorAndTemplate(deployment, "deployment", errors);
    validateStrategy(deployment, errors);
    errors.nonNegative("spec.minReadySeconds", numberAt(spec, "minReadySeconds"));
    errors.nonNegative("spec.revisionHistoryLimit", numberAt(spec, "revisionHistoryLimit"));
    const deadline = numberAt(spec, "progressDeadlineSeconds");
    errors.nonNegative("spec.progressDeadlineSeconds", deadline);
    if (deadline !== undefined && deadline <= (numberAt(spec, "minReadySeconds") ?? 0)) {
      const detail = "must be greater than minReadySeconds";
      errors.invalid("spec.progressDeadlineSeconds", deadline, detail);
    }
  },
});

export const replicaSetKind = defineKind({
  ...shared,
  kind: "ReplicaSet",
  resource: "replicasets",
  shortNames: ["rs"],
  schema: "apps.v1.ReplicaSet",
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

export const daemonSetKind = defineKind({
  ...shared,
  kind: "DaemonSet",
  resource: "daemonsets",
  shortNames: ["ds"],
  subresources: ["status"],
  schema: "apps.v1.DaemonSet",
  setDefaults(set) {
    const spec = ensureObject(set, "spec");
    setDefaults(spec, { revisionHistoryLimit: 10 });
    set.metadata.annotations = { [templateGeneration]: "1", ...set.metadata.annotations };
    const strategy = ensureObject(spec, "updateStrategy");
    setDefaults(strategy, { type: "RollingUpdate" });
    if (strategy["type"] === "RollingUpdate") {
      const rolling = ensureObject(strategy, "rollingUpdate");
      rolling["maxSurge"] ??= 0;
      rolling["maxUnavailable"] ??= 1;
    }
    setTemplateDefaults(set);
  },
  prepareUpdate(set, current) {
    shared.prepareUpdate(set, current);
    countTemplates(set, current);
  },
  validate(set, errors) {
    validateSelectorAndTemplate(set, "daemonset", errors);
    errors.nonNegative("spec.minReadySeconds", numberAt(set, "spec", "minReadySeconds"));
    validateUpdateStrategy(set, errors);
    errors.nonNegative("spec.revisionHistoryLimit", numberAt(set, "spec", "revisionHistoryLimit"));
  },
});

/** Its selector is a plain map, which is also what its pods are labelled with unless it says so. */
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

function setTemplateDefaults(object: KubeObject): void {
  const template = ensureObject(ensureObject(object, "spec"), "template");
  const podSpec = template["spec"];
  if (isJsonObject(podSpec)) {
    setPodSpecDefaults(podSpec);
  }
}

/** A new template counts one more; the client has no say in it. */
function countTemplates(set: KubeObject, current: KubeObject): void {
  const before = current.metadata.annotations?.[templateGeneration] ?? "0";
  const isSame = sameJson(valueAt(set, "spec", "template"), valueAt(current, "spec", "template"));
  const count = isSame ? before : String(Number(before) + 1);
  set.metadata.annotations = { ...set.metadata.annotations, [templateGeneration]: count };
}
