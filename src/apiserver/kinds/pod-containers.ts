// The containers of a pod, with their probes and hooks, and the volumes they mount: defaults and
// rules. Pods and the templates of workloads share them. Problems are listed in the order of a real
// server.
import { FieldErrors } from "./field-errors.ts";
import {
  isJsonObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
} from "./fields.ts";
import {
  configKey,
  dnsLabel,
  dnsSubdomain,
  environmentName,
  httpHeaderName,
  portName,
} from "./names.ts";

const probeFields = ["livenessProbe", "readinessProbe", "startupProbe"];

/** Mode of files from Secrets, ConfigMaps and projections, in decimal as JSON has it. */
const defaultFileMode = 0o644;

const imageReference =
  /^([A-Za-z0-9.-]+(:\d+)?\/)?[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:\w[\w.-]*)?$/;

/** The longest name a repository may have. */
const imageMaxLength = 255;

/** The highest number a user or group may have. */
const maxId = 2 ** 31 - 1;

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

/** The fields of its own pod that a container may read. */
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

// Probes, and the handlers that probes and lifecycle hooks run.

const handlerTypes = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

function validateProbes(container: JsonObject, path: string, errors: FieldErrors): void {
  for (const field of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[field];
    if (isJsonObject(probe)) {
      validateProbe(probe, `${path}.${field}`, errors);
      const successes = numberAt(probe, "successThreshold");
      if (field !== "readinessProbe" && successes !== 1) {
        errors.invalid(`${path}.${field}.successThreshold`, successes ?? 0, "must be 1");
      }
    }
  }
}

/** Exactly one handler, which is right. */
function validateHandler(handler: JsonObject, path: string, errors: FieldErrors): void {
  const [type, ...others] = handlerTypes.filter((field) => isJsonObject(handler[field]));
  const action = handler[type ?? ""];
  if (isJsonObject(action)) {
    validateAction(type ?? "", action, `${path}.${type}`, errors);
  } else {
    errors.required(path, "must specify a handler type");
  }
  for (const extra of others) {
    errors.forbidden(`${path}.${extra}`, "may not specify more than 1 handler type");
  }
}

function validateProbe(probe: JsonObject, path: string, errors: FieldErrors): void {
  validateHandler(probe, path, errors);
  for (const field of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ]) {
    errors.nonNegative(`${path}.${field}`, numberAt(probe, field));
  }
  const grace = numberAt(probe, "terminationGracePeriodSeconds");
  if (grace !== undefined && grace <= 0) {
    errors.invalid(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than 0");
  }
}

function validateAction(type: string, action: JsonObject, path: string, errors: FieldErrors): void {
  switch (type) {
    case "exec":
      if (listAt(action, "command").length === 0) {
        errors.required(`${path}.command`);
      }
      break;
    case "httpGet":
      validateHttpGet(action, path, errors);
      break;
    case "tcpSocket":
      errors.portNumberOrName(`${path}.port`, action["port"], portName);
      break;
    case "grpc":
      errors.portNumber(`${path}.port`, numberAt(action, "port"));
      break;
    default:
      break;
  }
}

function validateHttpGet(action: JsonObject, path: string, errors: FieldErrors): void {
  if (textAt(action, "path") === "") {
    errors.required(`${path}.path`);
  }
  errors.portNumberOrName(`${path}.port`, action["port"], portName);
  const scheme = textAt(action, "scheme");
  if (scheme !== "HTTP" && scheme !== "HTTPS") {
    errors.notSupported(`${path}.scheme`, scheme, ["HTTP", "HTTPS"]);
  }
  for (const header of objectsAt(action, "httpHeaders")) {
    const name = textAt(header, "name");
    errors.invalidForEach(`${path}.httpHeaders`, name, httpHeaderName(name));
  }
}

// Quantities as text, `250m`, `128Mi` or `1e3`: only as far as needed to compare two.

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** False also when one of them is no quantity. */
function isLess(one: string, other: string): boolean {
  return amountOf(one) < amountOf(other);
}

function amountOf(text: string): number {
  const plain = Number(text);
  if (!Number.isNaN(plain)) {
    return plain;
  }
  const [, number = "", unit = ""] = /^([+-]?[\d.]+)([a-zA-Z]*)$/.exec(text) ?? [];
  return number === "" ? Number.NaN : Number(number) * (factors[unit] ?? Number.NaN);
}

// Volumes: names, one source each, and the fields that the common sources need. Sources that no
// part of the lab can provide are only checked against the schema.

const modeMax = 0o777;
const modeMessage = "must be a number between 0 and 0777 (octal), both inclusive";

/** The names of the volumes in which nothing is wrong: only those can be mounted. */
export function validateVolumes(
  volumes: readonly JsonObject[],
  path: string,
  errors: FieldErrors,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    const own = new FieldErrors();
    validateSources(volume, at, own);
    const name = textAt(volume, "name");
    if (name === "") {
      own.required(`${at}.name`);
    } else {
      own.invalidForEach(`${at}.name`, name, dnsLabel(name));
    }
    if (names.has(name)) {
      own.duplicate(`${at}.name`, name);
    }
    if (own.causes.length === 0) {
      names.add(name);
    }
    errors.include(own.causes);
  }
  return names;
}

/** The key of a ConfigMap or Secret as a file below the mount. */
function validateLocalPath(path: string, text: string, errors: FieldErrors): void {
  if (text.startsWith("/")) {
    errors.invalid(path, text, "must be a relative path");
  }
  if (text.split("/").includes("..")) {
    errors.invalid(path, text, "must not contain '..'");
  }
}

function validateSources(volume: JsonObject, path: string, errors: FieldErrors): void {
  const sources = Object.keys(volume).filter((field) => isJsonObject(volume[field]));
  for (const extra of sources.slice(1)) {
    errors.forbidden(`${path}.${extra}`, "may not specify more than 1 volume type");
  }
  const [source = ""] = sources;
  const value = volume[source];
  if (isJsonObject(value)) {
    sourceRules[source]?.(value, `${path}.${source}`, errors);
  }
}

type SourceRule = (source: JsonObject, path: string, errors: FieldErrors) => void;

const sourceRules: Readonly<Record<string, SourceRule>> = {
  configMap(source, path, errors) {
    requireText(source, "name", path, errors);
    validateFiles(source, path, errors);
  },
  secret(source, path, errors) {
    requireText(source, "secretName", path, errors);
    validateFiles(source, path, errors);
  },
  hostPath(source, path, errors) {
    requireText(source, "path", path, errors);
  },
  persistentVolumeClaim(source, path, errors) {
    requireText(source, "claimName", path, errors);
  },
};

function requireText(source: JsonObject, field: string, path: string, errors: FieldErrors): void {
  if (textAt(source, field) === "") {
    errors.required(`${path}.${field}`);
  }
}

function validateFiles(source: JsonObject, path: string, errors: FieldErrors): void {
  validateMode(source, "defaultMode", path, errors);
  for (const [index, item] of objectsAt(source, "items").entries()) {
    const at = `${path}.items[${index}]`;
    requireText(item, "key", at, errors);
    requireText(item, "path", at, errors);
    validateLocalPath(`${at}.path`, textAt(item, "path"), errors);
    validateMode(item, "mode", at, errors);
  }
}

function validateMode(source: JsonObject, field: string, path: string, errors: FieldErrors): void {
  const mode = numberAt(source, field) ?? 0;
  if (mode < 0 || mode > modeMax) {
    errors.invalid(`${path}.${field}`, mode, modeMessage);
  }
}

export function setContainerDefaults(container: JsonObject): void {
  setDefaults(container, {
    imagePullPolicy: imageTag(textAt(container, "image")) === "latest" ? "Always" : "IfNotPresent",
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  });
  for (const field of probeFields) {
    const probe = container[field];
    if (isJsonObject(probe)) {
      setProbeDefaults(probe);
    }
  }
  for (const hook of ["preStop", "postStart"]) {
    setHttpGetDefaults(objectAt(container, "lifecycle", hook, "httpGet"));
  }
  for (const variable of objectsAt(container, "env")) {
    const reference = objectAt(variable, "valueFrom", "fieldRef");
    if (reference !== undefined) {
      setDefaults(reference, { apiVersion: "v1" });
    }
  }
}

function setProbeDefaults(probe: JsonObject): void {
  for (const [field, value] of Object.entries({
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })) {
    if (probe[field] === undefined || probe[field] === 0) {
      probe[field] = value;
    }
  }
  setHttpGetDefaults(objectAt(probe, "httpGet"));
}

function setHttpGetDefaults(action: JsonObject | undefined): void {
  if (action !== undefined) {
    setDefaults(action, { path: "/", scheme: "HTTP" });
  }
}

export function setVolumeDefaults(volume: JsonObject): void {
  for (const source of ["secret", "configMap", "downwardAPI", "projected"]) {
    const value = volume[source];
    if (isJsonObject(value)) {
      setDefaults(value, { defaultMode: defaultFileMode });
    }
  }
  const host = volume["hostPath"];
  if (isJsonObject(host)) {
    host["type"] ??= "";
  }
  const sources = Object.keys(volume).filter((field) => field !== "name");
  if (sources.length === 0) {
    volume["emptyDir"] = {};
  }
}

/**
 * The tag of an image reference; `latest` when it names neither tag nor digest, "" for no image.
 */
function imageTag(image: string): string {
  if (image.length > imageMaxLength || !imageReference.test(image)) {
    return "";
  }
  const name = image.slice(image.lastIndexOf("/") + 1);
  const colon = name.indexOf(":");
  return colon < 0 ? "latest" : name.slice(colon + 1);
}
