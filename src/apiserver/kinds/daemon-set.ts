// DaemonSets. No controller of the lab runs them; they are served because kubectl lists them, and a
// cluster of the lab refuses new ones.
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  countAt,
  type KindColumns,
  labelsText,
  nameColumn,
  nameOf,
  numberColumn,
  selectorText,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  numberAt,
  objectAt,
  setDefaults,
  textAt,
  textMapAt,
  valueAt,
} from "./fields.ts";
import { defineKind } from "./resource-kind.ts";
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

const daemonSetColumns: KindColumns = {
  columns: [
    nameColumn,
    numberColumn("Desired", "On how many nodes a pod is wanted."),
    numberColumn("Current", "On how many of these nodes there is a pod."),
    numberColumn("Ready", "On how many of these nodes a pod is ready."),
    numberColumn("Up-to-date", "On how many of these nodes the pod is of the present template."),
    numberColumn("Available", "On how many of these nodes a pod has been ready for long enough."),
    textColumn("Node Selector", "The labels of the nodes it is for."),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  cells: (set, now) => [
    nameOf(set),
    countAt(set, "status", "desiredNumberScheduled"),
    countAt(set, "status", "currentNumberScheduled"),
    countAt(set, "status", "numberReady"),
    countAt(set, "status", "updatedNumberScheduled"),
    countAt(set, "status", "numberAvailable"),
    labelsText(textMapAt(set, "spec", "template", "spec", "nodeSelector")),
    ageOf(set, now),
    ...templateCells(set),
    selectorText(objectAt(set, "spec", "selector")),
  ],
};

/** Counts the templates a DaemonSet has had, for old clients. */
const templateGeneration = "deprecated.daemonset.template.generation";

export const daemonSetKind = defineKind({
  ...shared,
  kind: "DaemonSet",
  resource: "daemonsets",
  shortNames: ["ds"],
  subresources: ["status"],
  schema: "apps.v1.DaemonSet",
  columns: daemonSetColumns,
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

/** A new template adds one, whatever the client sends. */
function countTemplates(set: KubeObject, current: KubeObject): void {
  const before = current.metadata.annotations?.[templateGeneration] ?? "0";
  const isSame = sameJson(valueAt(set, "spec", "template"), valueAt(current, "spec", "template"));
  const count = isSame ? before : String(Number(before) + 1);
  set.metadata.annotations = { ...set.metadata.annotations, [templateGeneration]: count };
}

function validateUpdateStrategy(set: KubeObject, errors: FieldErrors): void {
  const path = "spec.updateStrategy";
  const strategy = objectAt(set, "spec", "updateStrategy") ?? {};
  const rolling = objectAt(strategy, "rollingUpdate");
  const type = textAt(strategy, "type");
  if (type === "RollingUpdate" && rolling !== undefined) {
    const at = `${path}.rollingUpdate`;
    validateShare(rolling, "maxUnavailable", at, errors);
    validateShare(rolling, "maxSurge", at, errors);
    validateWhole(rolling, "maxUnavailable", at, errors);
    validateWhole(rolling, "maxSurge", at, errors);
    const hasUnavailable = amountOf(rolling["maxUnavailable"]) !== 0;
    const hasSurge = amountOf(rolling["maxSurge"]) !== 0;
    if (hasUnavailable && hasSurge) {
      const detail = "may not be set when maxUnavailable is non-zero";
      errors.invalid(`${at}.maxSurge`, rolling["maxSurge"], detail);
    } else if (!hasUnavailable && !hasSurge) {
      errors.required(`${at}.maxUnavailable`, "cannot be 0 when maxSurge is 0");
    }
  } else if (type !== "OnDelete" && type !== "RollingUpdate") {
    errors.notSupported(path, shownStrategy(strategy), ["RollingUpdate", "OnDelete"]);
  }
}
