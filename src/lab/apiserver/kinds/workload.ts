// Deployments, ReplicaSets and their kin: pods made from a template. The lab has controllers for
// Deployments and ReplicaSets; DaemonSets and ReplicationControllers are kept and given out, because
// tools list them, and nobody acts on them.

import type { KubeObject } from "../kube-object.ts";
import { matchesLabelSelector } from "../select/label-selector.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  isJsonObject,
  numberAt,
  objectAt,
  setDefaults,
  textAt,
  textMapAt,
} from "./fields.ts";
import { validateImmutable, validateLabels } from "./object-meta.ts";
import { setPodSpecDefaults, validatePodSpec } from "./pod-spec.ts";
import {
  bumpGenerationIfChanged,
  defineKind,
  type KindDefinition,
  keepStatus,
  startGeneration,
} from "./resource-kind.ts";

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
  validateUpdate(object, current, errors) {
    const before = objectAt(current, "spec", "selector");
    validateImmutable("spec.selector", objectAt(object, "spec", "selector"), before, errors);
  },
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
      setDefaults(rolling, { maxSurge: "25%", maxUnavailable: "25%" });
    }
    setTemplateDefaults(deployment);
  },
  validate(deployment, errors) {
    validateWorkload(deployment, errors);
    const type = textAt(deployment, "spec", "strategy", "type");
    errors.oneOf("spec.strategy.type", type, ["Recreate", "RollingUpdate"]);
    const rolling = objectAt(deployment, "spec", "strategy", "rollingUpdate");
    if (type === "Recreate" && rolling !== undefined) {
      errors.forbidden(
        "spec.strategy.rollingUpdate",
        "may not be specified when strategy `type` is 'Recreate'",
      );
    }
    const revisions = numberAt(deployment, "spec", "revisionHistoryLimit");
    errors.nonNegative("spec.revisionHistoryLimit", revisions);
    const deadline = numberAt(deployment, "spec", "progressDeadlineSeconds");
    errors.nonNegative("spec.progressDeadlineSeconds", deadline);
    const minReady = numberAt(deployment, "spec", "minReadySeconds") ?? 0;
    if (deadline !== undefined && deadline <= minReady) {
      errors.invalid(
        "spec.progressDeadlineSeconds",
        deadline,
        "must be greater than minReadySeconds",
      );
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
  validate: validateWorkload,
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
    const strategy = ensureObject(spec, "updateStrategy");
    setDefaults(strategy, { type: "RollingUpdate" });
    if (strategy["type"] === "RollingUpdate") {
      setDefaults(ensureObject(strategy, "rollingUpdate"), { maxSurge: 0, maxUnavailable: 1 });
    }
    setTemplateDefaults(set);
  },
  validate: validateWorkload,
});

/** Its selector is a plain map, which is also what its pods are labelled with unless it says so. */
export const replicationControllerKind = defineKind({
  kind: "ReplicationController",
  group: "",
  namespaced: true,
  categories: ["all"],
  resource: "replicationcontrollers",
  shortNames: ["rc"],
  subresources: ["status"],
  schema: "core.v1.ReplicationController",
  setDefaults(controller) {
    const spec = ensureObject(controller, "spec");
    const labels = textMapAt(controller, "spec", "template", "metadata", "labels");
    setDefaults(spec, { replicas: 1, selector: labels });
    setTemplateDefaults(controller);
  },
  prepareCreate(controller) {
    controller["status"] = { replicas: 0 };
    startGeneration(controller);
  },
  prepareUpdate: (controller, current) => shared.prepareUpdate(controller, current),
  validate(controller, errors) {
    errors.nonNegative("spec.replicas", numberAt(controller, "spec", "replicas"));
    const selector = textMapAt(controller, "spec", "selector");
    if (Object.keys(selector).length === 0) errors.required("spec.selector");
    const podSpec = objectAt(controller, "spec", "template", "spec");
    validatePodSpec(podSpec, "spec.template.spec", errors);
  },
});

function setTemplateDefaults(object: KubeObject): void {
  const template = ensureObject(ensureObject(object, "spec"), "template");
  const podSpec = template["spec"];
  if (isJsonObject(podSpec)) {
    setPodSpecDefaults(podSpec);
  }
}

function validateWorkload(object: KubeObject, errors: FieldErrors): void {
  errors.nonNegative("spec.replicas", numberAt(object, "spec", "replicas"));
  errors.nonNegative("spec.minReadySeconds", numberAt(object, "spec", "minReadySeconds"));
  const selector = objectAt(object, "spec", "selector");
  const labels = textMapAt(object, "spec", "template", "metadata", "labels");
  if (selector === undefined) {
    errors.required("spec.selector");
  } else if (Object.keys(selector).length === 0) {
    errors.invalid("spec.selector", selector, "empty selector is invalid for deployment");
  } else if (!matchesLabelSelector(selector, labels)) {
    errors.invalid(
      "spec.template.metadata.labels",
      labels,
      "`selector` does not match template `labels`",
    );
  }
  validateLabels("spec.template.labels", labels, errors);
  const podSpec = objectAt(object, "spec", "template", "spec");
  validatePodSpec(podSpec, "spec.template.spec", errors);
  const restartPolicy = textAt(podSpec, "restartPolicy");
  if (restartPolicy === "OnFailure" || restartPolicy === "Never") {
    errors.notSupported("spec.template.spec.restartPolicy", restartPolicy, ["Always"]);
  }
}
