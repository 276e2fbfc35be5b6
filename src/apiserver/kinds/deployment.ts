// Deployments: the rollout strategy on top of a workload (workload.ts).
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import { formatLabelSelector } from "../select/label-selector.ts";
import {
  ageColumn,
  ageOf,
  countAt,
  type KindColumns,
  nameColumn,
  nameOf,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import { ensureObject, numberAt, objectAt, setDefaults, textAt } from "./fields.ts";
import { bumpGeneration, defineKind, keepAllButStatus } from "./resource-kind.ts";
import {
  amountOf,
  selectorColumn,
  setTemplateDefaults,
  shared,
  shownStrategy,
  templateCells,
  templateColumns,
  validateSelectorAndTemplate,
  validateShare,
  validateWhole,
} from "./workload.ts";

const deploymentColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Ready", "How many of the wanted pods are ready."),
    textColumn("Up-to-date", "How many pods are of the present template."),
    textColumn("Available", "How many pods have been ready for long enough."),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  cells: (deployment, now) => [
    nameOf(deployment),
    `${countAt(deployment, "status", "readyReplicas")}/${countAt(deployment, "spec", "replicas")}`,
    countAt(deployment, "status", "updatedReplicas"),
    countAt(deployment, "status", "availableReplicas"),
    ageOf(deployment, now),
    ...templateCells(deployment),
    // Alone among its like, it leaves the cell of an empty selector empty.
    formatLabelSelector(objectAt(deployment, "spec", "selector")),
  ],
};

export const deploymentKind = defineKind({
  ...shared,
  kind: "Deployment",
  resource: "deployments",
  shortNames: ["deploy"],
  schema: "apps.v1.Deployment",
  columns: deploymentColumns,
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

function validateStrategy(deployment: KubeObject, errors: FieldErrors): void {
  const path = "spec.strategy";
  const strategy = objectAt(deployment, "spec", "strategy") ?? {};
  const rolling = objectAt(strategy, "rollingUpdate");
  const type = textAt(strategy, "type");
  if (type === "Recreate" && rolling !== undefined) {
    const detail = "may not be specified when strategy `type` is 'Recreate'";
    errors.forbidden(`${path}.rollingUpdate`, detail);
  } else if (type === "RollingUpdate" && rolling !== undefined) {
    validateShare(rolling, "maxUnavailable", `${path}.rollingUpdate`, errors);
    validateShare(rolling, "maxSurge", `${path}.rollingUpdate`, errors);
    if (amountOf(rolling["maxUnavailable"]) === 0 && amountOf(rolling["maxSurge"]) === 0) {
      const detail = "may not be 0 when `maxSurge` is 0";
      errors.invalid(`${path}.rollingUpdate.maxUnavailable`, rolling["maxUnavailable"], detail);
    }
    validateWhole(rolling, "maxUnavailable", `${path}.rollingUpdate`, errors);
  } else if (type !== "Recreate") {
    errors.notSupported(path, shownStrategy(strategy), ["Recreate", "RollingUpdate"]);
  }
}
