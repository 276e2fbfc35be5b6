// The rules of where a pod may run: taints and tolerations, affinities, spread.
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, numberAt, objectAt, objectsAt, textAt } from "./fields.ts";
import { validateLabelSelector } from "./label-selector-rules.ts";
import { labelValue, qualifiedName } from "./names.ts";

export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function validateTolerations(spec: unknown, path: string, errors: FieldErrors): void {
  for (const [index, toleration] of objectsAt(spec, "tolerations").entries()) {
    validateToleration(toleration, `${path}[${index}]`, errors);
  }
}

export function validateAffinity(spec: unknown, path: string, errors: FieldErrors): void {
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const rules = objectAt(spec, "affinity", kind);
    const required = "requiredDuringSchedulingIgnoredDuringExecution";
    for (const [index, term] of objectsAt(rules, required).entries()) {
      validateAffinityTerm(term, `${path}.${kind}.${required}[${index}]`, errors);
    }
    const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (const [index, choice] of objectsAt(rules, preferred).entries()) {
      const at = `${path}.${kind}.${preferred}[${index}]`;
      const weight = numberAt(choice, "weight") ?? 0;
      if (weight <= 0 || weight > maxWeight) {
        errors.invalid(`${at}.weight`, weight, `must be in the range 1-${maxWeight}`);
      }
      const term = objectAt(choice, "podAffinityTerm") ?? {};
      validateAffinityTerm(term, `${at}.podAffinityTerm`, errors);
    }
  }
}

export function validateSpread(spec: unknown, path: string, errors: FieldErrors): void {
  const constraints = objectsAt(spec, "topologySpreadConstraints");
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`;
    const skew = numberAt(constraint, "maxSkew") ?? 0;
    if (skew <= 0) {
      errors.invalid(`${at}.maxSkew`, skew, "must be greater than zero");
    }
    const key = textAt(constraint, "topologyKey");
    if (key === "") {
      errors.required(`${at}.topologyKey`, "can not be empty");
    }
    const action = textAt(constraint, "whenUnsatisfiable");
    if (!unsatisfiedActions.includes(action)) {
      errors.notSupported(`${at}.whenUnsatisfiable`, action, unsatisfiedActions);
    }
    const isRepeated = constraints
      .slice(index + 1)
      .some((one) => one["topologyKey"] === key && one["whenUnsatisfiable"] === action);
    if (isRepeated) {
      errors.duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${key}, ${action}}`);
    }
    const selector = objectAt(constraint, "labelSelector");
    validateLabelSelector(selector, `${at}.labelSelector`, errors);
  }
}

/** The most an affinity can count. */
const maxWeight = 100;

const unsatisfiedActions = ["DoNotSchedule", "ScheduleAnyway"];

function validateToleration(toleration: JsonObject, path: string, errors: FieldErrors): void {
  const key = textAt(toleration, "key");
  const operator = textAt(toleration, "operator");
  const effect = textAt(toleration, "effect");
  if (key !== "") {
    errors.invalidForEach(`${path}.key`, key, qualifiedName(key));
  } else if (operator !== "Exists") {
    const detail =
      'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.invalid(`${path}.operator`, operator, detail);
  }
  if (numberAt(toleration, "tolerationSeconds") !== undefined && effect !== "NoExecute") {
    const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    errors.invalid(`${path}.effect`, effect, detail);
  }
  const value = textAt(toleration, "value");
  if (operator === "Equal" || operator === "") {
    const problems = labelValue(value);
    errors.invalidForEach(
      `${path}.operator`,
      value,
      problems.length === 0 ? [] : [problems.join(";")],
    );
  } else if (operator !== "Exists") {
    errors.notSupported(`${path}.operator`, operator, ["Equal", "Exists"]);
  } else if (value !== "") {
    const detail = "value must be empty when `operator` is 'Exists'";
    errors.invalid(`${path}.operator`, value, detail);
  }
  if (effect !== "") {
    errors.oneOf(`${path}.effect`, effect, taintEffects);
  }
}

function validateAffinityTerm(term: JsonObject, path: string, errors: FieldErrors): void {
  validateLabelSelector(objectAt(term, "labelSelector"), `${path}.labelSelector`, errors);
  const key = textAt(term, "topologyKey");
  if (key === "") {
    errors.required(`${path}.topologyKey`, "can not be empty");
  }
  errors.invalidForEach(`${path}.topologyKey`, key, qualifiedName(key));
}
