// The rules of what makes pods from a template: its selector must fit the template, the template
// must be a valid pod that restarts, and a rollout must be able to move.
import type { KubeObject } from "../kube-object.ts";
import { matchesLabelSelector } from "../select/label-selector.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  isJsonObject,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textMapAt,
  valueAt,
} from "./fields.ts";
import { selectsAnything, validateLabelSelector } from "./label-selector-rules.ts";
import { percentage } from "./names.ts";
import { validateAnnotations, validateLabels } from "./object-meta.ts";
import { validatePodSpec } from "./pod-rules.ts";

export function validateReplicas(object: KubeObject, errors: FieldErrors): void {
  errors.nonNegative("spec.replicas", numberAt(object, "spec", "replicas"));
  errors.nonNegative("spec.minReadySeconds", numberAt(object, "spec", "minReadySeconds"));
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

export function validateController(controller: KubeObject, errors: FieldErrors): void {
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

export function validateStrategy(deployment: KubeObject, errors: FieldErrors): void {
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

export function validateUpdateStrategy(set: KubeObject, errors: FieldErrors): void {
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

/** The counts a status tells cannot be negative. */
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
export function shownSelector(selector: unknown): unknown {
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

function templateLabels(object: KubeObject): Record<string, string> {
  return textMapAt(object, "spec", "template", "metadata", "labels");
}

function mismatch(object: KubeObject, errors: FieldErrors): void {
  const labels = valueAt(object, "spec", "template", "metadata", "labels") ?? null;
  const detail = "`selector` does not match template `labels`";
  errors.invalid("spec.template.metadata.labels", labels, detail);
}

function validateTemplate(object: KubeObject, errors: FieldErrors): void {
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
function validateShare(
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

function validateWhole(
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

function amountOf(share: unknown): number {
  if (typeof share === "string") {
    return percentage(share).length === 0 ? Number(share.slice(0, -1)) : 0;
  }
  return typeof share === "number" ? share : 0;
}

/** As the server's own types have it. */
function shownStrategy(strategy: JsonObject): JsonObject {
  const rolling = objectAt(strategy, "rollingUpdate");
  return {
    Type: textAt(strategy, "type"),
    RollingUpdate:
      rolling === undefined
        ? null
        : { MaxUnavailable: rolling["maxUnavailable"] ?? 0, MaxSurge: rolling["maxSurge"] ?? 0 },
  };
}
