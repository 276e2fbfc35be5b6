// The common part of the kinds that make pods from a template (deployment.ts, replica-set.ts,
// daemon-set.ts): defaults, rules and columns. The selector must fit the template, the template
// must be a valid pod that restarts, and a rollout must be able to make progress.
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import { matchesLabelSelector } from "../select/label-selector.ts";
import { type Column, wideColumn } from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  isJsonObject,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textMapAt,
  valueAt,
} from "./fields.ts";
import { percentage } from "./names.ts";
import {
  selectsAnything,
  validateAnnotations,
  validateLabelSelector,
  validateLabels,
} from "./object-meta.ts";
import { podSpecWarnings, setPodSpecDefaults, validatePodSpec } from "./pod-spec.ts";
import {
  bumpGenerationIfChanged,
  type KindDefinition,
  keepStatus,
  startGeneration,
} from "./resource-kind.ts";

export const templateColumns: readonly Column[] = [
  wideColumn("Containers", "The names of the containers in the pod template."),
  wideColumn("Images", "The images of the containers in the pod template."),
];

export const selectorColumn = wideColumn("Selector", "The labels by which its pods are found.");

export function templateCells(workload: JsonObject): readonly string[] {
  const containers = objectsAt(workload, "spec", "template", "spec", "containers");
  return [
    containers.map((container) => textAt(container, "name")).join(","),
    containers.map((container) => textAt(container, "image")).join(","),
  ];
}

export const shared = {
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

export function setTemplateDefaults(object: KubeObject): void {
  const template = ensureObject(ensureObject(object, "spec"), "template");
  const podSpec = template["spec"];
  if (isJsonObject(podSpec)) {
    setPodSpecDefaults(podSpec);
  }
}

/** `word` is how the server calls the kind in its messages. */
export function validateSelectorAndTemplate(
  object: KubeObject,
  word: "daemonset" | "deployment",
  errors: FieldErrors,
): void {
  const selector = objectAt(object, "spec", "selector");
  const isDaemonSet = word === "daemonset";
  const isValid = validateLabelSelector(selector, "spec.selector", errors);
  if (selector === undefined && !isDaemonSet) {
    errors.required("spec.selector");
  }
  const isEmpty = selector !== undefined && !selectsAnything(selector);
  const isMatched =
    selector !== undefined && matchesLabelSelector(selector, templateLabels(object));
  if (isDaemonSet && isValid && !isMatched && !isEmpty) {
    mismatch(object, errors);
  }
  if (isEmpty) {
    errors.invalid("spec.selector", selector, `empty selector is invalid for ${word}`);
  }
  if (!isValid && !isDaemonSet) {
    errors.invalid("spec.selector", shownSelector(selector), "invalid label selector");
    return;
  }
  if (!isDaemonSet && !isMatched && !isEmpty) {
    mismatch(object, errors);
  }
  validateTemplate(object, errors);
}

/** The counts in a status cannot be negative. */
export function validateCounts(
  object: KubeObject,
  _current: KubeObject,
  errors: FieldErrors,
): void {
  for (const [field, value] of Object.entries(objectAt(object, "status") ?? {})) {
    if (typeof value === "number") {
      errors.nonNegative(`status.${field}`, value);
    }
  }
}

/** In the order of fields in which the real server shows it. */
function shownSelector(selector: unknown): unknown {
  if (!isJsonObject(selector)) {
    return null;
  }
  const labels = selector["matchLabels"];
  const expressions = objectsAt(selector, "matchExpressions").map((one) => ({
    key: textAt(one, "key"),
    operator: textAt(one, "operator"),
    ...(one["values"] === undefined ? {} : { values: one["values"] }),
  }));
  return {
    ...(labels === undefined ? {} : { matchLabels: labels }),
    ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
  };
}

export function templateLabels(object: KubeObject): Record<string, string> {
  return textMapAt(object, "spec", "template", "metadata", "labels");
}

export function mismatch(object: KubeObject, errors: FieldErrors): void {
  const labels = valueAt(object, "spec", "template", "metadata", "labels") ?? null;
  const detail = "`selector` does not match template `labels`";
  errors.invalid("spec.template.metadata.labels", labels, detail);
}

export function validateTemplate(object: KubeObject, errors: FieldErrors): void {
  validateLabels("spec.template.labels", templateLabels(object), errors);
  const annotations = textMapAt(object, "spec", "template", "metadata", "annotations");
  validateAnnotations("spec.template.annotations", annotations, errors);
  const podSpec = objectAt(object, "spec", "template", "spec");
  validatePodSpec(podSpec, "spec.template.spec", errors);
  const restartPolicy = textAt(podSpec, "restartPolicy");
  if (restartPolicy !== "Always") {
    errors.notSupported("spec.template.spec.restartPolicy", restartPolicy, ["Always"]);
  }
  if (numberAt(podSpec, "activeDeadlineSeconds") !== undefined) {
    const kind = object.kind === "Deployment" ? "ReplicaSet" : object.kind;
    const detail = `activeDeadlineSeconds in ${kind} is not Supported`;
    errors.forbidden("spec.template.spec.activeDeadlineSeconds", detail);
  }
}

/** A number of pods or a percentage of them. */
export function validateShare(
  rolling: JsonObject,
  field: string,
  path: string,
  errors: FieldErrors,
): void {
  const share = rolling[field];
  if (typeof share === "string") {
    errors.invalidForEach(`${path}.${field}`, share, percentage(share));
  } else if (typeof share === "number") {
    errors.nonNegative(`${path}.${field}`, share);
  }
}

export function validateWhole(
  rolling: JsonObject,
  field: string,
  path: string,
  errors: FieldErrors,
): void {
  const share = rolling[field];
  if (typeof share === "string" && percentage(share).length === 0 && amountOf(share) > 100) {
    errors.invalid(`${path}.${field}`, share, "must not be greater than 100%");
  }
}

export function amountOf(share: unknown): number {
  if (typeof share === "string") {
    return percentage(share).length === 0 ? Number(share.slice(0, -1)) : 0;
  }
  return typeof share === "number" ? share : 0;
}

/** As the server's own types have it. */
export function shownStrategy(strategy: JsonObject): JsonObject {
  const rolling = objectAt(strategy, "rollingUpdate");
  return {
    Type: textAt(strategy, "type"),
    RollingUpdate:
      rolling === undefined
        ? null
        : { MaxUnavailable: rolling["maxUnavailable"] ?? 0, MaxSurge: rolling["maxSurge"] ?? 0 },
  };
}
