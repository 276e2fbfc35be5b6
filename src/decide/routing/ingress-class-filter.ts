// Which Ingresses are ours. An Ingress names its class in its spec, or as of old in an annotation;
// one that names none belongs to the class that is marked as the cluster's default.
import type { Ingress } from "../../kube/kinds/ingress.ts";
import type { IngressClass } from "../../kube/kinds/ingress-class.ts";
import type { RoutingProblem } from "./route.ts";

/** The controller name in an IngressClass whose Ingresses Lockstep serves. */
export const ingressController = "lockstep.dev/ingress";

export interface ClassChoice {
  /** Ingresses of the configured class count though another controller serves it; false if absent. */
  readonly ofAnyController?: boolean;
}

const classAnnotation = "kubernetes.io/ingress.class";

/**
 * Classes belong to Lockstep by their controller. The configured name does too while the cluster
 * has no IngressClass of that name, so that the annotation works without one. A shadow takes the
 * configured name, also if another controller serves it.
 */
export function ingressFilter(
  classes: readonly IngressClass[],
  className: string,
  { ofAnyController = false }: ClassChoice = {},
): (ingress: Ingress) => boolean {
  const ours = new Set(
    classes
      .filter(({ controller }) => controller === ingressController)
      .map(({ metadata }) => metadata.name),
  );
  const isFree = !classes.some(({ metadata }) => metadata.name === className);
  if (isFree || ofAnyController) ours.add(className);
  const isDefault = classes.some((one) => one.isDefault && ours.has(one.metadata.name));
  return (ingress) => {
    const named = namedClass(ingress);
    return named === undefined ? isDefault : ours.has(named);
  };
}

/** The class an Ingress names, in whichever way; undefined when it names none. */
export function namedClass({ ingressClassName, annotations }: Ingress): string | undefined {
  return ingressClassName ?? annotations[classAnnotation];
}

/** The other controller that serves the configured class, if any; its Ingresses are left to it. */
export function otherController(
  classes: readonly IngressClass[],
  className: string,
): string | undefined {
  const named = classes.find(({ metadata }) => metadata.name === className);
  return named?.controller === ingressController ? undefined : named?.controller;
}

/** Settings of the ingress itself come from its command line and configuration file alone. */
export function classProblems(classes: readonly IngressClass[]): readonly RoutingProblem[] {
  return classes
    .filter(({ controller, hasParameters }) => controller === ingressController && hasParameters)
    .map(({ metadata: { name, creationTimestamp } }) => ({
      origin: {
        kind: "IngressClass",
        namespace: "",
        name,
        createdAtMs: creationTimestamp ?? Number.POSITIVE_INFINITY,
      },
      reason: "ParametersIgnored",
      message: "spec.parameters: parameters of a class are not supported, so they are ignored",
    }));
}
