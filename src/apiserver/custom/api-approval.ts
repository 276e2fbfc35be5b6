// Groups that belong to the Kubernetes community (`*.k8s.io`) need a word on who approved the API:
// the annotation `api-approved.kubernetes.io`, with a URL or a reason why it is not approved.
import type { StatusCause } from "../api-error.ts";
import type { KubeObject } from "../kube-object.ts";
import { type Condition, groupOf } from "./definition.ts";

const annotation = "api-approved.kubernetes.io";
const seeAlso = "see https://github.com/kubernetes/enhancements/pull/1111";

type Approval = {
  readonly state: "Missing" | "Unapproved" | "Approved" | "Invalid";
  readonly reason: string;
};

export function isProtectedGroup(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

/** Undefined for groups that need no approval. */
export function approvalCondition(
  definition: KubeObject,
): Omit<Condition, "lastTransitionTime"> | undefined {
  if (!isProtectedGroup(groupOf(definition))) return undefined;
  const { state, reason } = approvalOf(definition);
  const status = state === "Approved" ? "True" : "False";
  return {
    type: "KubernetesAPIApprovalPolicyConformant",
    status,
    reason: `${state}Annotation`,
    message: reason,
  };
}

/** A state that has not changed is never refused. */
export function approvalProblem(
  definition: KubeObject,
  current: KubeObject | undefined,
): StatusCause | undefined {
  if (!isProtectedGroup(groupOf(definition))) return undefined;
  const { state, reason } = approvalOf(definition);
  const isAccepted = state === "Approved" || state === "Unapproved";
  if (isAccepted || (current !== undefined && approvalOf(current).state === state))
    return undefined;
  const field = `metadata.annotations[${annotation}]`;
  if (state === "Missing") {
    return { reason: "FieldValueRequired", message: `Required value: ${reason}`, field };
  }
  const value = JSON.stringify(definition.metadata.annotations?.[annotation] ?? "");
  const message = `Invalid value: ${value}: ${reason}`;
  return { reason: "FieldValueInvalid", message, field };
}

function approvalOf({ metadata }: KubeObject): Approval {
  const given = metadata.annotations?.[annotation] ?? "";
  const rule = `protected groups must have approval annotation "${annotation}"`;
  if (given === "") return { state: "Missing", reason: `${rule}, ${seeAlso}` };
  if (given.startsWith("unapproved")) {
    return { state: "Unapproved", reason: `not approved: ${JSON.stringify(given)}` };
  }
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/\s]+/.test(given)) {
    return { state: "Approved", reason: `approved in ${given}` };
  }
  const detail = 'with either a URL or a reason starting with "unapproved"';
  return { state: "Invalid", reason: `${rule} ${detail}, ${seeAlso}` };
}
