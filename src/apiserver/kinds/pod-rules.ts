// The rules of a pod's spec, shared by Pods and by the templates of what makes them, in the order
// in which a real server lists what breaks them. Fields that no part of the lab acts on are only
// checked against the schema.

import { isIp } from "../../environment/ip-address.ts";
import {
  type ContainerContext,
  validateContainer,
  validateId,
  validateIds,
} from "./container-rules.ts";
import type { FieldErrors } from "./field-errors.ts";
import { listAt, numberAt, objectAt, objectsAt, textAt, textMapAt, textsAt } from "./fields.ts";
import { invalidIpMessage } from "./ip-messages.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "./names.ts";
import { validateLabels } from "./object-meta.ts";
import { validateAffinity, validateSpread, validateTolerations } from "./scheduling-rules.ts";
import { validateVolumes } from "./volume-rules.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/** Seconds a pod may be told to live: 32 bits of them. */
const deadlineMaxSeconds = 2 ** 31 - 1;

export function validatePodSpec(spec: unknown, path: string, errors: FieldErrors): void {
  const volumes = validateVolumes(objectsAt(spec, "volumes"), `${path}.volumes`, errors);
  const names = new Set<string>();
  if (objectsAt(spec, "containers").length === 0) {
    errors.required(`${path}.containers`);
  }
  for (const [field, isInit] of [
    ["containers", false],
    ["initContainers", true],
  ] as const) {
    const context: ContainerContext = { volumes, names, isInit };
    for (const [index, container] of objectsAt(spec, field).entries()) {
      validateContainer(container, `${path}.${field}[${index}]`, context, errors);
    }
  }
  errors.oneOf(`${path}.restartPolicy`, textAt(spec, "restartPolicy"), restartPolicies);
  errors.oneOf(`${path}.dnsPolicy`, textAt(spec, "dnsPolicy"), dnsPolicies);
  validateLabels(`${path}.nodeSelector`, textMapAt(spec, "nodeSelector"), errors);
  validateSecurityContext(spec, `${path}.securityContext`, errors);
  validateAffinity(spec, `${path}.affinity`, errors);
  for (const [index, gate] of objectsAt(spec, "readinessGates").entries()) {
    const type = textAt(gate, "conditionType");
    const at = `${path}.readinessGates[${index}].conditionType`;
    errors.invalidForEach(at, type, qualifiedName(type));
  }
  validateSpread(spec, `${path}.topologySpreadConstraints`, errors);
  validateNames(spec, path, errors);
  validateTolerations(spec, `${path}.tolerations`, errors);
  validateHostAliases(spec, `${path}.hostAliases`, errors);
}

function validateNames(spec: unknown, path: string, errors: FieldErrors): void {
  const check = (field: string, rule: (name: string) => readonly string[]): void => {
    const value = textAt(spec, field);
    if (value !== "") {
      errors.invalidForEach(`${path}.${field}`, value, rule(value));
    }
  };
  check("serviceAccountName", dnsSubdomain);
  check("nodeName", dnsSubdomain);
  const deadline = numberAt(spec, "activeDeadlineSeconds");
  if (deadline !== undefined && (deadline < 1 || deadline > deadlineMaxSeconds)) {
    const detail = `must be between 1 and ${deadlineMaxSeconds}, inclusive`;
    errors.invalid(`${path}.activeDeadlineSeconds`, deadline, detail);
  }
  check("hostname", dnsLabel);
  check("subdomain", dnsLabel);
}

function validateSecurityContext(spec: unknown, path: string, errors: FieldErrors): void {
  const context = objectAt(spec, "securityContext");
  validateId(`${path}.fsGroup`, numberAt(context, "fsGroup"), errors);
  validateIds(context, path, errors);
  for (const [index, group] of listAt(context, "supplementalGroups").entries()) {
    const id = typeof group === "number" ? group : undefined;
    validateId(`${path}.supplementalGroups[${index}]`, id, errors);
  }
}

function validateHostAliases(spec: unknown, path: string, errors: FieldErrors): void {
  for (const [index, alias] of objectsAt(spec, "hostAliases").entries()) {
    const ip = textAt(alias, "ip");
    if (!isIp(ip)) {
      errors.invalid(`${path}[${index}].ip`, ip, invalidIpMessage);
    }
    for (const [at, hostname] of textsAt(alias, "hostnames").entries()) {
      errors.invalidForEach(`${path}[${index}].hostnames[${at}]`, hostname, dnsSubdomain(hostname));
    }
  }
}
