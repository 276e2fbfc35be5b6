// What may change of a pod once it exists: little of its spec, and of its status what is plausible.

import { isIp } from "../../environment/ip-address.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, numberAt, objectAt, objectsAt, textAt } from "./fields.ts";
import { invalidIpMessage } from "./ip-messages.ts";
import { validateImmutable } from "./object-meta.ts";

const changeable =
  "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
  "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
  "(allow it to be set to 1 if it was previously negative)";

export function validatePodUpdate(pod: KubeObject, current: KubeObject, errors: FieldErrors): void {
  const spec = objectAt(pod, "spec") ?? {};
  const old = objectAt(current, "spec") ?? {};
  for (const field of ["containers", "initContainers"]) {
    if (objectsAt(spec, field).length !== objectsAt(old, field).length) {
      errors.forbidden(`spec.${field}`, "pod updates may not add or remove containers");
      return;
    }
  }
  if (!validateDeadline(spec, old, errors)) {
    return;
  }
  validateTolerations(spec, old, errors);
  if (!sameJson(fixedPart(spec, old), fixedPart(old, old))) {
    errors.forbidden("spec", `pod updates may not change fields other than ${changeable}\n`);
  }
}

export function validatePodStatus(pod: KubeObject, current: KubeObject, errors: FieldErrors): void {
  for (const [index, { ip }] of objectsAt(pod, "status", "podIPs").entries()) {
    if (typeof ip !== "string" || !isIp(ip)) {
      errors.invalid(`status.podIPs[${index}]`, ip ?? "", invalidIpMessage);
    }
  }
  const before = textAt(current, "status", "qosClass");
  validateImmutable("status.qosClass", textAt(pod, "status", "qosClass"), before, errors);
}

/** It may be set, and lowered; false if nothing else need be said. */
function validateDeadline(spec: JsonObject, old: JsonObject, errors: FieldErrors): boolean {
  const path = "spec.activeDeadlineSeconds";
  const wanted = numberAt(spec, "activeDeadlineSeconds");
  const before = numberAt(old, "activeDeadlineSeconds");
  if (wanted !== undefined && before !== undefined && before < wanted) {
    errors.invalid(path, wanted, "must be less than or equal to previous value");
    return false;
  }
  if (wanted === undefined && before !== undefined) {
    errors.invalid(path, null, "must not update from a positive integer to nil value");
  }
  return true;
}

/** Each stays as it is but for its seconds; others may join. */
function validateTolerations(spec: JsonObject, old: JsonObject, errors: FieldErrors): void {
  const kept = objectsAt(spec, "tolerations").map(withoutSeconds);
  const isChanged = objectsAt(old, "tolerations")
    .map(withoutSeconds)
    .some((one) => !kept.some((other) => sameJson(one, other)));
  if (isChanged) {
    const detail = "existing toleration can not be modified except its tolerationSeconds";
    errors.forbidden("spec.tolerations", detail);
  }
}

function withoutSeconds(toleration: JsonObject): JsonObject {
  return { ...toleration, tolerationSeconds: null };
}

/** The spec without what an update may change. */
function fixedPart(spec: JsonObject, old: JsonObject): JsonObject {
  const grace = "terminationGracePeriodSeconds";
  const isRepaired = (numberAt(old, grace) ?? 0) < 0 && numberAt(spec, grace) === 1;
  const withoutImages = (field: string): readonly JsonObject[] =>
    objectsAt(spec, field).map((container) => ({ ...container, image: "" }));
  return {
    ...spec,
    activeDeadlineSeconds: null,
    tolerations: null,
    schedulingGates: null,
    ...(isRepaired ? { [grace]: old[grace] } : {}),
    containers: withoutImages("containers"),
    initContainers: withoutImages("initContainers"),
  };
}
