// The fields of a custom object that its scale subresource shows: numbers of replicas, and a
// selector, wherever the definition says they are.

import type { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject } from "../kinds/fields.ts";
import type { ScalePaths } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";

const int32Max = 2 ** 31 - 1;

export function checkScaleSpec(object: KubeObject, scale: ScalePaths, errors: FieldErrors): void {
  checkReplicas(object, scale.specReplicas, errors);
}

export function checkScaleStatus(object: KubeObject, scale: ScalePaths, errors: FieldErrors): void {
  checkReplicas(object, scale.statusReplicas, errors);
  const { labelSelector } = scale;
  if (labelSelector === undefined) return;
  const value = nested(object, labelSelector, errors, "");
  if (value !== undefined && typeof value !== "string") {
    errors.invalid(pathOf(labelSelector), "", mismatch(labelSelector, value, "string"));
  }
}

function checkReplicas(object: KubeObject, steps: readonly string[], errors: FieldErrors): void {
  const value = nested(object, steps, errors, 0);
  if (value === undefined) return;
  const path = pathOf(steps);
  if (typeof value !== "number" || !Number.isInteger(value)) {
    errors.invalid(path, 0, mismatch(steps, value, "int64"));
  } else if (value < 0) {
    errors.invalid(path, value, "should be a non-negative integer");
  } else if (value > int32Max) {
    errors.invalid(path, value, `should be less than or equal to ${int32Max}`);
  }
}

/** As messages show the path of a definition: with the dot it begins with. */
function pathOf(steps: readonly string[]): string {
  return `.${steps.join(".")}`;
}

/** Undefined when it is absent, or cannot be reached, which is an error of its own. */
function nested(
  object: KubeObject,
  steps: readonly string[],
  errors: FieldErrors,
  zero: unknown,
): unknown {
  let value: unknown = object;
  for (const step of steps) {
    if (value === undefined) return undefined;
    if (!isJsonObject(value)) {
      errors.invalid(pathOf(steps), zero, mismatch(steps, value, "map[string]interface{}"));
      return undefined;
    }
    value = value[step];
  }
  return value;
}

function mismatch(steps: readonly string[], value: unknown, expected: string): string {
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  return `${pathOf(steps)} accessor error: ${shown} is of the type ${goTypeOf(value)}, expected ${expected}`;
}

function goTypeOf(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "boolean" ? "bool" : "string";
}
