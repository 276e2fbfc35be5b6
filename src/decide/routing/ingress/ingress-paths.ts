// The meaning of an Ingress's path and backend, or their problem.
import type { IngressBackend, IngressPath } from "../../../kube/kinds/ingress.ts";
import { looksLikeRegex, regexProblem } from "../regex.ts";
import type { Backend, RouteMatch } from "../route.ts";
import { shown } from "../shown-text.ts";
import type { IngressSettings } from "./ingress-settings.ts";

/** As the proxy has it (proxy/lua/lockstep/host_entry.lua). */
const maxPathBytes = 4_096;

/** The match, or what is wrong with the path. */
export function matchOf(
  { path, pathType }: Pick<IngressPath, "path" | "pathType">,
  settings: IngressSettings,
): RouteMatch | string {
  if (pathType !== "Exact" && pathType !== "Prefix" && pathType !== "ImplementationSpecific") {
    return `pathType is ${shown(pathType)}, which is not a Kubernetes pathType`;
  }
  if (pathType === "ImplementationSpecific" && path === "") return { path: "/", type: "Prefix" };
  if (!path.startsWith("/")) return "path does not begin with a slash";
  if (Buffer.byteLength(path) > maxPathBytes) return `path has more than ${maxPathBytes} bytes`;
  // Half of a character cannot be sent to the proxy, and no request can have it.
  if (/\p{Surrogate}/u.test(path)) return "path is not well-formed text";
  if (pathType === "Exact") return { path, type: "Exact" };
  if (!isRegex({ path, pathType }, settings)) {
    return { path: withoutSlashAtEnd(path), type: "Prefix" };
  }
  const problem = regexProblem(path);
  return problem === undefined ? { path, type: "Regex" } : `path: ${problem}`;
}

/** Whether the path is meant as a regular expression. */
export function isRegex(
  { path, pathType }: Pick<IngressPath, "path" | "pathType">,
  { useRegex, policy }: IngressSettings,
): boolean {
  if (pathType === "Exact" || path === "") return false;
  return useRegex || (policy.rewrite !== undefined && looksLikeRegex(path));
}

/** A slash at the end of a prefix means nothing. */
function withoutSlashAtEnd(path: string): string {
  let end = path.length;
  while (end > 1 && path.charAt(end - 1) === "/") end -= 1;
  return path.slice(0, end);
}

const serviceName = /^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$/;
/** At most fifteen characters, one of them a letter: a port name of Kubernetes. */
const portName = /^(?=.*[a-z])[a-z0-9-]{1,15}$/;

/** The backend, or what is wrong with it. */
export function backendOf(namespace: string, { service }: IngressBackend): Backend | string {
  if (service === undefined) return "backend is a resource; only services are supported";
  const { name, port } = service;
  if (name === "") return "backend has no service";
  if (!serviceName.test(name))
    return `backend.service.name ${shown(name)} is not a valid name of a service`;
  if (port === undefined) return "backend has no port";
  const isPort =
    typeof port === "string"
      ? portName.test(port)
      : Number.isInteger(port) && port > 0 && port <= 65_535;
  if (!isPort) return `backend.service.port ${shown(String(port))} is not a valid port`;
  return { namespace, name, port };
}
