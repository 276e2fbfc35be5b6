// The rules of a label selector inside an object, as Deployments and affinities have them.
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, objectsAt, textAt, textMapAt, textsAt } from "./fields.ts";
import { labelValue, qualifiedName } from "./names.ts";
import { validateLabels } from "./object-meta.ts";

/** True when it selects by at least one label. */
export function selectsAnything(selector: JsonObject): boolean {
  return (
    Object.keys(textMapAt(selector, "matchLabels")).length > 0 ||
    objectsAt(selector, "matchExpressions").length > 0
  );
}

/** True when nothing was wrong. */
export function validateLabelSelector(
  selector: JsonObject | undefined,
  path: string,
  errors: FieldErrors,
): boolean {
  if (selector === undefined) {
    return true;
  }
  const before = errors.causes.length;
  validateLabels(`${path}.matchLabels`, textMapAt(selector, "matchLabels"), errors);
  for (const [index, expression] of objectsAt(selector, "matchExpressions").entries()) {
    validateExpression(expression, `${path}.matchExpressions[${index}]`, errors);
  }
  return errors.causes.length === before;
}

function validateExpression(expression: JsonObject, path: string, errors: FieldErrors): void {
  const operator = textAt(expression, "operator");
  const values = textsAt(expression, "values");
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      errors.required(`${path}.values`, detail);
    }
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.forbidden(`${path}.values`, detail);
    }
  } else {
    errors.invalid(`${path}.operator`, operator, "not a valid selector operator");
  }
  const key = textAt(expression, "key");
  errors.invalidForEach(`${path}.key`, key, qualifiedName(key));
  for (const [index, value] of values.entries()) {
    errors.invalidForEach(`${path}.values[${index}]`, value, labelValue(value));
  }
}
