// IngressClasses: who acts on an Ingress, and with which parameters.
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, objectAt, textAt, valueAt } from "./fields.ts";
import { dnsLabel, domainPrefixedPath } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import { bumpGenerationIfChanged, defineKind, startGeneration } from "./resource-kind.ts";
import { validateTypedReference } from "./typed-reference.ts";

/** As in Kubernetes. */
const controllerMaxLength = 250;

const scopes = ["Cluster", "Namespace"];

export const ingressClassKind = defineKind({
  group: "networking.k8s.io",
  kind: "IngressClass",
  resource: "ingressclasses",
  namespaced: false,
  schema: "networking.v1.IngressClass",
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
