// IngressClasses: the controller that serves an Ingress, and its parameters.
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  none,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, objectAt, textAt, textMapAt, valueAt } from "./fields.ts";
import { dnsLabel, dnsSubdomain, domainPrefixedPath, pathSegmentName } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import { bumpGenerationIfChanged, defineKind, startGeneration } from "./resource-kind.ts";

const ingressClassColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Controller", "The controller that serves this class."),
    textColumn("Parameters", "The object with further settings."),
    ageColumn,
  ],
  cells: (ingressClass, now) => [
    nameOf(ingressClass) + (isDefault(ingressClass) ? " (default)" : ""),
    textAt(ingressClass, "spec", "controller"),
    parametersText(objectAt(ingressClass, "spec", "parameters")),
    ageOf(ingressClass, now),
  ],
};

/** As in Kubernetes. */
const controllerMaxLength = 250;

const scopes = ["Cluster", "Namespace"];

export const ingressClassKind = defineKind({
  group: "networking.k8s.io",
  kind: "IngressClass",
  resource: "ingressclasses",
  namespaced: false,
  schema: "networking.v1.IngressClass",
  columns: ingressClassColumns,
  createOnUpdate: false,
  setDefaults(ingressClass) {
    const parameters = objectAt(ingressClass, "spec", "parameters");
    if (parameters !== undefined) {
      parameters["scope"] ??= "Cluster";
    }
  },
  prepareCreate: startGeneration,
  prepareUpdate(ingressClass, current) {
    bumpGenerationIfChanged(ingressClass, current, ["spec"]);
  },
  validate(ingressClass, errors) {
    validateController(ingressClass, errors);
    const parameters = objectAt(ingressClass, "spec", "parameters");
    if (parameters !== undefined) {
      validateParameters(parameters, errors);
    }
  },
  validateUpdate(ingressClass, current, errors) {
    const after = textAt(ingressClass, "spec", "controller");
    validateImmutable("spec.controller", after, textAt(current, "spec", "controller"), errors);
  },
});

function validateController(ingressClass: KubeObject, errors: FieldErrors): void {
  const controller = textAt(ingressClass, "spec", "controller");
  if (controller.length > controllerMaxLength) {
    errors.tooLong("spec.controller", controllerMaxLength);
  }
  if (controller === "") {
    errors.required("spec.controller");
  } else {
    errors.invalidForEach("spec.controller", controller, domainPrefixedPath(controller));
  }
}

function validateParameters(parameters: JsonObject, errors: FieldErrors): void {
  const path = "spec.parameters";
  validateTypedReference(parameters, path, errors);
  const scope = textAt(parameters, "scope");
  const namespace = valueAt(parameters, "namespace");
  if (!scopes.includes(scope)) {
    errors.notSupported(`${path}.scope`, scope, scopes);
  } else if (scope === "Cluster" && namespace !== undefined) {
    errors.forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'");
  } else if (scope === "Namespace" && typeof namespace !== "string") {
    errors.required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'");
  } else if (typeof namespace === "string") {
    errors.invalidForEach(`${path}.namespace`, namespace, dnsLabel(namespace));
  }
}

function isDefault(ingressClass: JsonObject): boolean {
  const annotations = textMapAt(ingressClass, "metadata", "annotations");
  return annotations["ingressclass.kubernetes.io/is-default-class"] === "true";
}

function parametersText(parameters: JsonObject | undefined): string {
  if (parameters === undefined) return none;
  const group = textAt(parameters, "apiGroup");
  const kind = textAt(parameters, "kind") + (group === "" ? "" : `.${group}`);
  return `${kind}/${textAt(parameters, "name")}`;
}

/** A reference to an object of any kind: group, kind and name. */
export function validateTypedReference(
  reference: JsonObject,
  path: string,
  errors: FieldErrors,
): void {
  const group = reference["apiGroup"];
  if (typeof group === "string") {
    errors.invalidForEach(`${path}.apiGroup`, group, dnsSubdomain(group));
  }
  for (const field of ["kind", "name"]) {
    const value = textAt(reference, field);
    if (value === "") {
      errors.required(`${path}.${field}`);
    } else {
      errors.invalidForEach(`${path}.${field}`, value, pathSegmentName(value));
    }
  }
}
