// The rules of probes and of the handlers that probes and lifecycle hooks run.
import type { FieldErrors } from "./field-errors.ts";
import { isJsonObject, type JsonObject, listAt, numberAt, objectsAt, textAt } from "./fields.ts";
import { httpHeaderName, portName } from "./names.ts";

const handlerTypes = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

export function validateProbes(container: JsonObject, path: string, errors: FieldErrors): void {
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
export function validateHandler(handler: JsonObject, path: string, errors: FieldErrors): void {
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
