// The routing model between the front ends, of which Ingress is the first, and the decision: a host
// and a path lead to a service, under a policy. It says nothing of where the route was written but
// whose it is; annotations are known to the folder `ingress/` alone.
import type { PathRule } from "../decision.ts";
import type { RouteConditions } from "../route-conditions.ts";
import type { BackendHeaders, Canary, RoutePolicy } from "../route-policy.ts";
import { plain } from "./shown-text.ts";

/** The object that a route comes from: it gets the problems, and its age decides conflicts. */
export interface RouteOrigin {
  /** An object; or a setting of Lockstep, whose name is that of its flag. */
  readonly kind:
    | "Ingress"
    | "IngressClass"
    | "GatewayClass"
    | "Gateway"
    | "HTTPRoute"
    | "GRPCRoute"
    | "setting";
  /** Empty for an object of no namespace. */
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since 1970; infinite for an object that has none, so that it yields. */
  readonly createdAtMs: number;
  /**
   * It is being deleted, or its namespace is: it yields to every object that stays, and gets no
   * problems.
   */
  readonly isLeaving?: true;
}

/** A service port as a route names it. A service of this name in any cluster is meant. */
export interface Backend {
  readonly namespace: string;
  readonly name: string;
  /** The number or the name of the service's port. */
  readonly port: number | string;
  /** The ServiceImport of this name is meant: the service in the clusters that export it. */
  readonly isImport?: true;
}

export interface RouteMatch extends Pick<PathRule, "path" | "type"> {
  readonly when?: RouteConditions;
}

/** When requests go to a canary; its service is the route's backend. */
export type CanaryTerms = Omit<Canary, "service">;

export type RouteStanding =
  /** Its author named host and path. */
  | "rule"
  /** The host is only an alias; it yields to every route that has it as a host. */
  | "alias"
  /** For what rules leave open; it yields to every rule of its namespace, however young. */
  | "default";

export interface Route {
  /** A lower case name, `*.name`, or `*` for any other host. */
  readonly host: string;
  readonly match: RouteMatch;
  /** Undefined where it leads nowhere: its policy answers, or it is invalid (500). */
  readonly backend: Backend | undefined;
  /** Others that get a share of the requests, of what those before them leave. */
  readonly shares?: readonly BackendShare[];
  readonly standing: RouteStanding;
  readonly policy: RoutePolicy | undefined;
  /** Then it is no route of its own: it takes a share of the route with the same host and match. */
  readonly canary: CanaryTerms | undefined;
  readonly origin: RouteOrigin;
  /** Its policy has this service asked whether requests may pass. */
  readonly guard?: Backend | undefined;
  /** Its policy sends them copies of requests. */
  readonly mirrors?: readonly Backend[];
  /** Its host is a name that another Ingress gave: its own author gets no problems for it. */
  readonly isShared?: true;
  /**
   * The Gateway by which it has the host: the host is its namespace's, and routes of other namespaces are
   * there because it lets them. Absent of an Ingress, whose own namespace has the host.
   */
  readonly gateway?: RouteOrigin;
}

export interface BackendShare extends BackendHeaders {
  /** Undefined for a part that is invalid. */
  readonly backend: Backend | undefined;
  readonly weight: number;
  readonly weightTotal: number;
}

/** Why an object does not do what it asks for, in one word for machines. */
export type ProblemReason =
  | "AnnotationIgnored"
  | "SnippetIgnored"
  | "RouteClosed"
  | "UserIgnored"
  | "RuleIgnored"
  | "HostTaken"
  | "PathTaken"
  | "CanaryIgnored"
  | "BackendMissing"
  | "MemoryShareExceeded"
  | "ParametersIgnored"
  | "CertificateIgnored"
  | "CertificateExpired";

/** A problem of an object, for its author. The object's other parts are not affected. */
export interface RoutingProblem {
  readonly origin: RouteOrigin;
  /** A plain sentence that names the field. */
  readonly message: string;
  readonly reason?: ProblemReason;
}

/**
 * A port name has a letter in it, so that numbers and names cannot be mistaken for each other. No port
 * has a dot, so that a Service and a ServiceImport have different keys.
 */
export function backendKey({ namespace, name, port, isImport }: Backend): string {
  return `${namespace}/${name}:${port}${isImport === true ? ".import" : ""}`;
}

/** Of a rule as it is pushed, without its path and its service: field names and the key of a policy. */
export const ruleBytes = 128;

/** The claim that only one route of a host can have. */
export function claimOf({ path, type, when }: RouteMatch): string {
  return when === undefined ? `${type} ${path}` : `${type} ${path} ${JSON.stringify(when)}`;
}

/** The namespace that has the host by it. */
export function holderOf({ origin, gateway }: Route): string {
  return (gateway ?? origin).namespace;
}

export function describeMatch({ path, type }: RouteMatch): string {
  return `${type} ${plain(path)}`;
}

export function describeOrigin({ kind, namespace, name }: RouteOrigin): string {
  return `${kind} ${plain(namespace === "" ? name : `${namespace}/${name}`)}`;
}
