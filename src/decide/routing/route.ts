// The routing model between the front ends, of which Ingress is the first, and the decision: a host
// and a path lead to a service. It says nothing of where the route was written but whose it is.
import type { PathRule } from "../decision.ts";

/** The object a route comes from: whom to tell, and who was first. */
export interface RouteOrigin {
  readonly kind: "Ingress";
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since 1970; infinite for an object that has none, so that it yields. */
  readonly createdAtMs: number;
}

/** A service port as a route names it. A service of this name in any cluster is meant. */
export interface Backend {
  readonly namespace: string;
  readonly name: string;
  /** The number or the name of the service's port. */
  readonly port: number | string;
}

export interface Route {
  /** A lower case name, `*.name`, or `*` for any other host. */
  readonly host: string;
  readonly path: string;
  readonly type: PathRule["type"];
  readonly backend: Backend;
  /** A default yields to every rule, however young. */
  readonly isDefault: boolean;
  readonly origin: RouteOrigin;
}

/** What is wrong with an object, for its author. The object's other parts are not affected. */
export interface RoutingProblem {
  readonly origin: RouteOrigin;
  /** A plain sentence that names the field. */
  readonly message: string;
}

/** A port name has a letter in it, so that numbers and names cannot be mistaken for each other. */
export function backendKey({ namespace, name, port }: Backend): string {
  return `${namespace}/${name}:${port}`;
}
