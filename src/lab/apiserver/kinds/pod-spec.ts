// Defaults and rules of a pod's spec, shared by Pods and by the templates in Deployments and
// ReplicaSets. Covered is what clients rely on; fields no part of Lockstep reads are only checked
// against the schema.
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  isJsonObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
} from "./fields.ts";
import { dnsLabel, dnsSubdomain } from "./names.ts";

const probeFields = ["livenessProbe", "readinessProbe", "startupProbe"];

/** Seconds between TERM and KILL unless the pod says otherwise. */
const defaultGraceSeconds = 30;

export function setPodSpecDefaults(spec: JsonObject): void {
  setDefaults(spec, {
    dnsPolicy: "ClusterFirst",
    restartPolicy: "Always",
    schedulerName: "default-scheduler",
    securityContext: {},
    terminationGracePeriodSeconds: defaultGraceSeconds,
  });
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

export function validatePodSpec(spec: unknown, path: string, errors: FieldErrors): void {
  const containers = objectsAt(spec, "containers");
  if (containers.length === 0) {
    errors.required(`${path}.containers`);
  }
  const names = new Set<string>();
  const volumes = new Set(objectsAt(spec, "volumes").map((volume) => textAt(volume, "name")));
  for (const field of ["initContainers", "containers"]) {
    for (const [index, container] of objectsAt(spec, field).entries()) {
      validateContainer(container, `${path}.${field}[${index}]`, { names, volumes }, errors);
    }
  }
  errors.oneOf(`${path}.restartPolicy`, textAt(spec, "restartPolicy"), [
    "Always",
    "OnFailure",
    "Never",
  ]);
  errors.oneOf(`${path}.dnsPolicy`, textAt(spec, "dnsPolicy"), [
    "ClusterFirst",
    "ClusterFirstWithHostNet",
    "Default",
    "None",
  ]);
  const grace = numberAt(spec, "terminationGracePeriodSeconds");
  errors.nonNegative(`${path}.terminationGracePeriodSeconds`, grace);
  for (const [field, rule] of [
    ["hostname", dnsLabel],
    ["subdomain", dnsLabel],
    ["nodeName", dnsSubdomain],
    ["serviceAccountName", dnsSubdomain],
  ] as const) {
    const value = textAt(spec, field);
    if (value !== "") {
      errors.invalidForEach(`${path}.${field}`, value, rule(value));
    }
  }
}

function setContainerDefaults(container: JsonObject): void {
  setDefaults(container, {
    imagePullPolicy: imageTag(textAt(container, "image")) === "latest" ? "Always" : "IfNotPresent",
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  });
  const limits = objectAt(container, "resources", "limits");
  if (limits !== undefined) {
    setDefaults(ensureObject(ensureObject(container, "resources"), "requests"), limits);
  }
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

/** Mode of files from Secrets, ConfigMaps and projections, in decimal as JSON has it. */
const defaultFileMode = 0o644;

function setVolumeDefaults(volume: JsonObject): void {
  for (const source of ["secret", "configMap", "downwardAPI", "projected"]) {
    const value = volume[source];
    if (isJsonObject(value)) {
      setDefaults(value, { defaultMode: defaultFileMode });
    }
  }
  const sources = Object.keys(volume).filter((field) => field !== "name");
  if (sources.length === 0) {
    volume["emptyDir"] = {};
  }
}

/** The tag of an image reference; `latest` when it names neither tag nor digest. */
function imageTag(image: string): string {
  if (image.includes("@")) {
    return "";
  }
  const name = image.slice(image.lastIndexOf("/") + 1);
  const colon = name.indexOf(":");
  return colon < 0 ? "latest" : name.slice(colon + 1);
}

function validateContainer(
  container: JsonObject,
  path: string,
  known: { readonly names: Set<string>; readonly volumes: ReadonlySet<string> },
  errors: FieldErrors,
): void {
  const name = textAt(container, "name");
  if (name === "") {
    errors.required(`${path}.name`);
  } else if (known.names.has(name)) {
    errors.duplicate(`${path}.name`, name);
  } else {
    errors.invalidForEach(`${path}.name`, name, dnsLabel(name));
  }
  known.names.add(name);
  if (textAt(container, "image") === "") {
    errors.required(`${path}.image`);
  }
  errors.oneOf(`${path}.imagePullPolicy`, textAt(container, "imagePullPolicy"), [
    "Always",
    "IfNotPresent",
    "Never",
  ]);
  validateContainerPorts(container, path, errors);
  for (const [index, mount] of objectsAt(container, "volumeMounts").entries()) {
    const volume = textAt(mount, "name");
    if (!known.volumes.has(volume)) {
      errors.notFound(`${path}.volumeMounts[${index}].name`, volume);
    }
  }
  for (const field of probeFields) {
    const probe = objectAt(container, field);
    if (probe !== undefined) {
      validateProbe(probe, `${path}.${field}`, errors);
    }
  }
}

function validateContainerPorts(container: JsonObject, path: string, errors: FieldErrors): void {
  const names = new Set<string>();
  for (const [index, port] of objectsAt(container, "ports").entries()) {
    const at = `${path}.ports[${index}]`;
    const number = numberAt(port, "containerPort");
    if (number === undefined || number === 0) {
      errors.required(`${at}.containerPort`);
    } else {
      errors.portNumber(`${at}.containerPort`, number);
    }
    errors.oneOf(`${at}.protocol`, textAt(port, "protocol"), ["SCTP", "TCP", "UDP"]);
    const name = textAt(port, "name");
    if (name !== "" && names.has(name)) {
      errors.duplicate(`${at}.name`, name);
    }
    names.add(name);
  }
}

function validateProbe(probe: JsonObject, path: string, errors: FieldErrors): void {
  const handlers = ["exec", "httpGet", "tcpSocket", "grpc"].filter((field) => field in probe);
  if (handlers.length === 0) {
    errors.required(path, "must specify a handler type");
  }
  for (const extra of handlers.slice(1)) {
    errors.forbidden(`${path}.${extra}`, "may not specify more than 1 handler type");
  }
  for (const field of ["initialDelaySeconds", "timeoutSeconds", "periodSeconds"]) {
    errors.nonNegative(`${path}.${field}`, numberAt(probe, field));
  }
  if (handlers[0] === "exec" && listAt(probe, "exec", "command").length === 0) {
    errors.required(`${path}.exec.command`);
  }
}
