// The spec of a pod, shared by Pods and by the templates of workloads: defaults, rules, where it
// may be scheduled, and warnings. Containers and volumes are in pod-containers.ts.

import { isIp } from "../../environment/ip-address.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
  textMapAt,
  textsAt,
} from "./fields.ts";
import { invalidIpMessage } from "./ip-rules.ts";
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from "./names.ts";
import { validateLabelSelector, validateLabels } from "./object-meta.ts";
import {
  type ContainerContext,
  setContainerDefaults,
  setVolumeDefaults,
  validateContainer,
  validateId,
  validateIds,
  validateVolumes,
} from "./pod-containers.ts";

/** Seconds between TERM and KILL by default. */
const defaultGraceSeconds = 30;

export function setPodSpecDefaults(spec: JsonObject): void {
  setDefaults(spec, {
    dnsPolicy: "ClusterFirst",
    restartPolicy: "Always",
    schedulerName: "default-scheduler",
    securityContext: {},
    terminationGracePeriodSeconds: defaultGraceSeconds,
  });
  agreeServiceAccount(spec);
  for (const container of [
    ...objectsAt(spec, "initContainers"),
    ...objectsAt(spec, "containers"),
  ]) {
    setContainerDefaults(container);
  }
  for (const volume of objectsAt(spec, "volumes")) {
    setVolumeDefaults(volume);
  }
}

/** The field had another name once; each is filled from the other. */
function agreeServiceAccount(spec: JsonObject): void {
  const name = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  if (name !== "") {
    spec["serviceAccountName"] = name;
    spec["serviceAccount"] = name;
  }
}

/** Only for pods: a template stays as it is, and each pod made from it gets these. */
export function setRequestDefaults(spec: JsonObject): void {
  for (const container of [
    ...objectsAt(spec, "containers"),
    ...objectsAt(spec, "initContainers"),
  ]) {
    const limits = objectAt(container, "resources", "limits");
    if (limits !== undefined) {
      setDefaults(ensureObject(ensureObject(container, "resources"), "requests"), limits);
    }
  }
}

// Rules, in the order in which a real server lists problems. Fields that no part of the lab acts on
// are only checked against the schema.

const restartPolicies = ["Always", "OnFailure", "Never"];

const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/** The longest activeDeadlineSeconds: 32 bits. */
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

// Scheduling: taints and tolerations, affinities, spread.

export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function validateTolerations(spec: unknown, path: string, errors: FieldErrors): void {
  for (const [index, toleration] of objectsAt(spec, "tolerations").entries()) {
    validateToleration(toleration, `${path}[${index}]`, errors);
  }
}

function validateAffinity(spec: unknown, path: string, errors: FieldErrors): void {
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

function validateSpread(spec: unknown, path: string, errors: FieldErrors): void {
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

// Warnings about specs that are accepted and probably do not work as their author expects.

export function podSpecWarnings(spec: unknown, path: string): readonly string[] {
  const warnings: string[] = [];
  for (const [index, secret] of objectsAt(spec, "imagePullSecrets").entries()) {
    warnOfName(secret, index, objectsAt(spec, "imagePullSecrets"), path, warnings);
  }
  warnOfVolumes(spec, warnings);
  for (const field of ["containers", "initContainers"]) {
    for (const [index, container] of objectsAt(spec, field).entries()) {
      warnOfContainer(container, `${path}.${field}[${index}]`, warnings);
    }
  }
  const aliases = objectsAt(spec, "hostAliases").map((alias) => textAt(alias, "ip"));
  for (const [index, ip] of aliases.entries()) {
    if (aliases.indexOf(ip) < index) {
      warnings.push(`${path}.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(ip)}`);
    }
  }
  if ((numberAt(spec, "terminationGracePeriodSeconds") ?? 0) < 0) {
    const detail = "must be >= 0; negative values are invalid and will be treated as 1";
    warnings.push(`${path}.terminationGracePeriodSeconds: ${detail}`);
  }
  warnOfSelectors(spec, path, warnings);
  return warnings;
}

function warnOfName(
  secret: JsonObject,
  index: number,
  all: readonly JsonObject[],
  path: string,
  warnings: string[],
): void {
  const name = textAt(secret, "name");
  const at = `${path}.imagePullSecrets[${index}].name`;
  if (name === "") {
    warnings.push(`${at}: invalid empty name ""`);
  } else if (all.findIndex((one) => one["name"] === name) < index) {
    warnings.push(`${at}: duplicate name ${JSON.stringify(name)}`);
  }
}

/** Files of one volume that would hide each other. */
function warnOfVolumes(spec: unknown, warnings: string[]): void {
  for (const volume of objectsAt(spec, "volumes")) {
    for (const [source, title, nameField] of [
      ["configMap", "ConfigMap", "name"],
      ["secret", "Secret", "secretName"],
    ] as const) {
      const paths = objectsAt(volume, source, "items").map((item) => textAt(item, "path"));
      const twice = paths.find((one, index) => paths.indexOf(one) < index);
      if (twice !== undefined) {
        const name = JSON.stringify(textAt(volume, source, nameField));
        const place = JSON.stringify(twice);
        warnings.push(
          `volume ${JSON.stringify(textAt(volume, "name"))} (${title} ${name}): ` +
            `overlapping paths: ${place} with ${place}`,
        );
      }
    }
  }
}

function warnOfContainer(container: JsonObject, path: string, warnings: string[]): void {
  const variables = objectsAt(container, "env").map((variable) => textAt(variable, "name"));
  for (const [index, name] of variables.entries()) {
    if (variables.indexOf(name) < index) {
      warnings.push(
        `${path}.env[${index}]: hides previous definition of ${JSON.stringify(name)}, ` +
          "which may be dropped when using apply",
      );
    }
  }
  const ports = objectsAt(container, "ports").map(
    (port) => `${numberAt(port, "containerPort")}/${textAt(port, "protocol")}`,
  );
  for (const [index, port] of ports.entries()) {
    const first = ports.indexOf(port);
    if (first < index) {
      const at = `${path}.ports[${index}]`;
      warnings.push(`${at}: duplicate port definition with ${path}.ports[${first}]`);
    }
  }
}

function warnOfSelectors(spec: unknown, path: string, warnings: string[]): void {
  const warn = (holder: JsonObject | undefined, at: string): void => {
    if (holder !== undefined && objectAt(holder, "labelSelector") === undefined) {
      warnings.push(`${at}.labelSelector: a null labelSelector results in matching no pod`);
    }
  };
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const rules = objectAt(spec, "affinity", kind);
    const at = `${path}.affinity.${kind}`;
    const required = "requiredDuringSchedulingIgnoredDuringExecution";
    for (const [index, term] of objectsAt(rules, required).entries()) {
      warn(term, `${at}.${required}[${index}]`);
    }
    const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (const [index, choice] of objectsAt(rules, preferred).entries()) {
      warn(objectAt(choice, "podAffinityTerm"), `${at}.${preferred}[${index}].podAffinityTerm`);
    }
  }
  for (const [index, constraint] of objectsAt(spec, "topologySpreadConstraints").entries()) {
    warn(constraint, `${path}.topologySpreadConstraints[${index}]`);
  }
}
