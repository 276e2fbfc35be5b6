// What a client is told of a pod's spec that is accepted but will surprise it.
import { type JsonObject, numberAt, objectAt, objectsAt, textAt } from "./fields.ts";

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
