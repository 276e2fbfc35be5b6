// From an Ingress to routes. What cannot be meant is left out and reported; the rest of the object
// goes on working.
import type { Ingress, IngressBackend, IngressPath } from "../../kube/kinds/ingress.ts";
import type { PathRule } from "../decision.ts";
import type { Backend, Route, RouteOrigin, RoutingProblem } from "./route.ts";

export interface IngressRoutes {
  readonly routes: readonly Route[];
  readonly problems: readonly RoutingProblem[];
}

/** Every host that no rule names. */
export const anyHost = "*";

export function ingressRoutes(ingress: Ingress): IngressRoutes {
  const { namespace, name, creationTimestamp } = ingress.metadata;
  const createdAtMs = creationTimestamp ?? Number.POSITIVE_INFINITY;
  const origin: RouteOrigin = { kind: "Ingress", namespace, name, createdAtMs };
  const routes: Route[] = [];
  const problems: RoutingProblem[] = [];
  const hosts = new Set([anyHost]);
  const report = (where: string, what: string) =>
    void problems.push({ origin, message: `${where}: ${what}` });
  for (const [ruleIndex, rule] of ingress.rules.entries()) {
    const where = `spec.rules[${ruleIndex}]`;
    const host = hostOf(rule.host);
    if (host === undefined) {
      report(`${where}.host`, "this is not a host name, so the rule is ignored");
      continue;
    }
    hosts.add(host);
    for (const [pathIndex, entry] of rule.paths.entries()) {
      const at = `${where}.http.paths[${pathIndex}]`;
      const found = matchOf(entry) ?? backendOf(namespace, entry.backend);
      if (typeof found === "string") {
        report(at, `${found}, so the path is ignored`);
        continue;
      }
      routes.push({ host, ...pathOf(entry), backend: found, isDefault: false, origin });
    }
  }
  if (ingress.defaultBackend !== undefined) {
    const backend = backendOf(namespace, ingress.defaultBackend);
    if (typeof backend === "string") report("spec.defaultBackend", `${backend}, so it is ignored`);
    else routes.push(...[...hosts].map((host) => defaultRoute(host, backend, origin)));
  }
  return { routes, problems };
}

/** The default also serves the paths that an Ingress's own hosts leave open. */
function defaultRoute(host: string, backend: Backend, origin: RouteOrigin): Route {
  return { host, path: "/", type: "Prefix", backend, isDefault: true, origin };
}

const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const hostName = new RegExp(`^(\\*\\.)?${label}(\\.${label})*$`);
/** The longest name the DNS allows. */
const hostNameMaxLength = 253;

function hostOf(host: string): string | undefined {
  if (host === "") return anyHost;
  const lower = host.toLowerCase();
  return lower.length <= hostNameMaxLength && hostName.test(lower) ? lower : undefined;
}

const pathTypes: ReadonlySet<string> = new Set(["Exact", "Prefix", "ImplementationSpecific"]);

/** What is wrong with the path; undefined when nothing is. */
function matchOf({ path, pathType }: IngressPath): string | undefined {
  if (!pathTypes.has(pathType)) return `pathType is "${pathType}", which Kubernetes does not know`;
  const mayBeEmpty = pathType === "ImplementationSpecific" && path === "";
  if (!mayBeEmpty && !path.startsWith("/")) return "path does not begin with a slash";
  return undefined;
}

/** `ImplementationSpecific` is a prefix here. A slash at the end of a prefix means nothing. */
function pathOf({ path, pathType }: IngressPath): Pick<PathRule, "path" | "type"> {
  if (pathType === "Exact") return { path, type: "Exact" };
  const bare = path.replace(/\/+$/, "");
  return { path: bare === "" ? "/" : bare, type: "Prefix" };
}

/** The backend, or what is wrong with it. */
function backendOf(namespace: string, { service }: IngressBackend): Backend | string {
  if (service === undefined) return "backend is a resource, and only services are served";
  if (service.name === "") return "backend names no service";
  if (service.port === undefined) return "backend names no port";
  return { namespace, name: service.name, port: service.port };
}
