// The rules of a pod's containers, in the order in which a real server lists what breaks them.
import type { FieldErrors } from "./field-errors.ts";
import { isJsonObject, type JsonObject, numberAt, objectAt, objectsAt, textAt } from "./fields.ts";
import { configKey, dnsLabel, dnsSubdomain, environmentName, portName } from "./names.ts";
import { validateHandler, validateProbes } from "./probe-rules.ts";
import { isLess } from "./quantity.ts";
import { validateLocalPath } from "./volume-rules.ts";

/** The highest number a user or group may have. */
export const maxId = 2 ** 31 - 1;

export interface ContainerContext {
  /** Volumes that can be mounted. */
  readonly volumes: ReadonlySet<string>;
  /** Names taken so far. */
  readonly names: Set<string>;
  readonly isInit: boolean;
}

export function validateContainer(
  container: JsonObject,
  path: string,
  context: ContainerContext,
  errors: FieldErrors,
): void {
  const name = textAt(container, "name");
  if (name === "") {
    errors.required(`${path}.name`);
  } else {
    errors.invalidForEach(`${path}.name`, name, dnsLabel(name));
  }
  if (textAt(container, "image") === "") {
    errors.required(`${path}.image`);
  }
  errors.oneOf(`${path}.terminationMessagePolicy`, textAt(container, "terminationMessagePolicy"), [
    "File",
    "FallbackToLogsOnError",
  ]);
  validatePorts(container, `${path}.ports`, errors);
  validateEnvironment(container, path, errors);
  validateMounts(container, `${path}.volumeMounts`, context.volumes, errors);
  errors.oneOf(`${path}.imagePullPolicy`, textAt(container, "imagePullPolicy"), [
    "Always",
    "IfNotPresent",
    "Never",
  ]);
  validateResources(container, `${path}.resources`, errors);
  validateIds(objectAt(container, "securityContext"), `${path}.securityContext`, errors);
  if (context.names.has(name)) {
    errors.duplicate(`${path}.name`, name);
  }
  context.names.add(name);
  validateRunning(container, path, context.isInit, errors);
}

export function validateIds(
  context: JsonObject | undefined,
  path: string,
  errors: FieldErrors,
): void {
  for (const field of ["runAsUser", "runAsGroup"]) {
    validateId(`${path}.${field}`, numberAt(context, field), errors);
  }
}

export function validateId(path: string, id: number | undefined, errors: FieldErrors): void {
  if (id !== undefined && (id < 0 || id > maxId)) {
    errors.invalid(path, id, `must be between 0 and ${maxId}, inclusive`);
  }
}

/** Hooks and probes, which init containers have only if they keep running. */
function validateRunning(
  container: JsonObject,
  path: string,
  isInit: boolean,
  errors: FieldErrors,
): void {
  if (isInit && container["restartPolicy"] !== "Always") {
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]) {
      if (isJsonObject(container[field])) {
        const detail = "may not be set for init containers without restartPolicy=Always";
        errors.forbidden(`${path}.${field}`, detail);
      }
    }
    return;
  }
  for (const hook of ["postStart", "preStop"]) {
    const handler = objectAt(container, "lifecycle", hook);
    if (handler !== undefined) {
      validateHandler(handler, `${path}.lifecycle.${hook}`, errors);
    }
  }
  validateProbes(container, path, errors);
}

function validatePorts(container: JsonObject, path: string, errors: FieldErrors): void {
  const names = new Set<string>();
  for (const [index, port] of objectsAt(container, "ports").entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(port, "name");
    const problems = name === "" ? [] : portName(name);
    errors.invalidForEach(`${at}.name`, name, problems);
    if (problems.length === 0 && name !== "" && names.has(name)) {
      errors.duplicate(`${at}.name`, name);
    }
    names.add(name);
    const number = numberAt(port, "containerPort") ?? 0;
    if (number === 0) {
      errors.required(`${at}.containerPort`);
    } else {
      errors.portNumber(`${at}.containerPort`, number);
    }
    const hostPort = numberAt(port, "hostPort") ?? 0;
    if (hostPort !== 0) {
      errors.portNumber(`${at}.hostPort`, hostPort);
    }
    errors.oneOf(`${at}.protocol`, textAt(port, "protocol"), ["SCTP", "TCP", "UDP"]);
  }
}

function validateEnvironment(container: JsonObject, path: string, errors: FieldErrors): void {
  for (const [index, variable] of objectsAt(container, "env").entries()) {
    const at = `${path}.env[${index}]`;
    const name = textAt(variable, "name");
    if (name === "") {
      errors.required(`${at}.name`);
    } else {
      errors.invalidForEach(`${at}.name`, name, environmentName(name));
    }
    const source = variable["valueFrom"];
    if (isJsonObject(source)) {
      validateValueFrom(source, textAt(variable, "value"), `${at}.valueFrom`, errors);
    }
  }
  for (const [index, source] of objectsAt(container, "envFrom").entries()) {
    validateEnvFrom(source, `${path}.envFrom`, index, errors);
  }
}

const valueSources = [
  "fieldRef",
  "resourceFieldRef",
  "configMapKeyRef",
  "secretKeyRef",
  "fileKeyRef",
];

function validateValueFrom(
  source: JsonObject,
  value: string,
  path: string,
  errors: FieldErrors,
): void {
  const given = valueSources.filter((field) => isJsonObject(source[field]));
  for (const field of given) {
    const reference = objectAt(source, field) ?? {};
    if (field === "fieldRef") {
      validateFieldRef(reference, `${path}.fieldRef.fieldPath`, errors);
    } else if (field === "configMapKeyRef" || field === "secretKeyRef") {
      validateKeyRef(reference, `${path}.${field}`, errors);
    }
  }
  if (given.length === 0) {
    const all = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.invalid(path, "", `must specify one of: ${all}`);
  } else if (value !== "") {
    errors.invalid(path, "", "may not be specified when `value` is not empty");
  } else if (given.length > 1) {
    errors.invalid(path, "", "may not have more than one field specified at a time");
  }
}

/** What of itself a container may see. */
const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

function validateFieldRef(reference: JsonObject, path: string, errors: FieldErrors): void {
  const field = textAt(reference, "fieldPath");
  if (field === "") {
    errors.required(path);
  } else if (!fieldPaths.includes(field) && !/^metadata\.(annotations|labels)\['/.test(field)) {
    const detail = `error converting fieldPath: field label not supported: ${field}`;
    errors.invalid(path, field, detail);
  }
}

function validateKeyRef(reference: JsonObject, path: string, errors: FieldErrors): void {
  const name = textAt(reference, "name");
  errors.invalidForEach(`${path}.name`, name, dnsSubdomain(name));
  const key = textAt(reference, "key");
  if (key === "") {
    errors.required(`${path}.key`);
  } else {
    errors.invalidForEach(`${path}.key`, key, configKey(key));
  }
}

function validateEnvFrom(
  source: JsonObject,
  path: string,
  index: number,
  errors: FieldErrors,
): void {
  const at = `${path}[${index}]`;
  const prefix = textAt(source, "prefix");
  if (prefix !== "") {
    errors.invalidForEach(`${at}.prefix`, prefix, environmentName(prefix));
  }
  const given = ["configMapRef", "secretRef"].filter((field) => isJsonObject(source[field]));
  for (const field of given) {
    const name = textAt(source, field, "name");
    if (name === "") {
      errors.required(`${at}.${field}.name`);
    } else {
      errors.invalidForEach(`${at}.${field}.name`, name, dnsSubdomain(name));
    }
  }
  if (given.length === 0) {
    errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
  } else if (given.length > 1) {
    errors.invalid(path, "", "may not have more than one field specified at a time");
  }
}

function validateMounts(
  container: JsonObject,
  path: string,
  volumes: ReadonlySet<string>,
  errors: FieldErrors,
): void {
  const places = new Set<string>();
  for (const [index, mount] of objectsAt(container, "volumeMounts").entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(mount, "name");
    if (name === "") {
      errors.required(`${at}.name`);
    }
    if (!volumes.has(name)) {
      errors.notFound(`${at}.name`, name);
    }
    const place = textAt(mount, "mountPath");
    if (place === "") {
      errors.required(`${at}.mountPath`);
    }
    if (places.has(place)) {
      errors.invalid(`${at}.mountPath`, place, "must be unique");
    }
    places.add(place);
    validateLocalPath(`${path}.subPath`, textAt(mount, "subPath"), errors);
  }
}

function validateResources(container: JsonObject, path: string, errors: FieldErrors): void {
  const limits = objectAt(container, "resources", "limits") ?? {};
  const requests = objectAt(container, "resources", "requests") ?? {};
  for (const resource of Object.keys(requests)) {
    const asked = textAt(requests, resource);
    const limit = textAt(limits, resource);
    if (limit !== "" && isLess(limit, asked)) {
      const detail = `must be less than or equal to ${resource} limit of ${limit}`;
      errors.invalid(`${path}.requests`, asked, detail);
    }
  }
}
