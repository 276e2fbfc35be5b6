// The decision as data: which host and path lead to which service, and which endpoints serve it.
// Pure functions decide it from the model; the outputs only apply it.

import type { Steps } from "../environment/steps.ts";
import type { UserList } from "../sources/checked-users.ts";
import type { RouteConditions } from "./route-conditions.ts";
import type { RoutePolicy } from "./route-policy.ts";

export type EndpointState =
  /** Gets requests. */
  | "active"
  /** Leaving but still answering: gets a request only when nothing better is left. */
  | "draining"
  /** Something says that it has left, and it still answers. */
  | "held"
  /** Neither requests nor probes reach it: gets a request only when nothing better is left. */
  | "suspect"
  /** Gets nothing. It is listed so that its reason can be read. */
  | "out";

export interface DecidedEndpoint {
  readonly address: string;
  readonly port: number;
  readonly cluster: string;
  /** Undefined when no source names the pod behind the address. */
  readonly podUid?: string;
  readonly podName?: string;
  readonly state: EndpointState;
  /** One plain sentence: why it is in this state. */
  readonly reason: string;
  /**
   * 0, which is also meant when absent, for endpoints of first choice. Others get requests only when
   * no endpoint of a lower number in the same state can take them: another cluster stands in.
   */
  readonly priority?: number;
  /** Its share among the endpoints of its priority; 1 when absent. */
  readonly weight?: number;
}

/** Whether it gets its share of the requests. */
export function isRouted({ state }: Pick<DecidedEndpoint, "state">): boolean {
  return state === "active" || state === "held";
}

export interface PathRule {
  /**
   * Starts with a slash; a prefix ends with one only when it is the slash alone. Of a `Regex`, the
   * regular expression, which is anchored at the start of the path and ignores case.
   */
  readonly path: string;
  /** `Prefix` matches whole elements: `/a` matches `/a` and `/a/b`, not `/ab`. */
  readonly type: "Exact" | "Prefix" | "Regex";
  /** A key of `services`; empty for a rule that leads nowhere, whose policy says what it answers. */
  readonly service: string;
  readonly policy?: RoutePolicy;
  /** Other requests are left to the next rule of the same path, then to rules of shorter paths. */
  readonly when?: RouteConditions;
  /** The namespace that has the host, where that is not the service's. */
  readonly holder?: string;
  /** Serves what any host leaves open; other rules only what hosts of their own namespace do. */
  readonly isForAll?: true;
}

/** The certificate of a server, with its key. */
export interface Certificate {
  /** PEM, the server's own certificate first. */
  readonly chain: string;
  /** PEM. Never logged and never shown. */
  readonly key: string;
}

/** The owner of a host's rules. */
export interface HostOwner {
  /** Empty when they are of several. */
  readonly namespace: string;
  /** Of the oldest object that has a rule there; milliseconds since 1970. */
  readonly createdAtMs: number;
}

export interface RoutingDecision {
  /** By host: a lower case name, `*.name` for exactly one label more, or `*` for any other host. */
  readonly hosts: ReadonlyMap<string, readonly PathRule[]>;
  /** By host; a host that is not here has no known owner. */
  readonly owners?: ReadonlyMap<string, HostOwner>;
  /** By host, another one of `hosts` that has exactly the same rules: it need not have a copy. */
  readonly sameAs?: ReadonlyMap<string, string>;
  /**
   * By `namespace/name:port`, the port as the route writes it, a number or a name. A service of the
   * same name in several clusters is one entry. Every service a path rule names is here.
   */
  readonly services: ReadonlyMap<string, readonly DecidedEndpoint[]>;
  /** By `namespace/name` of the secret that holds them. */
  readonly certificates?: ReadonlyMap<string, Certificate>;
  /** By name asked for in TLS, written as hosts are: a key of `certificates`. */
  readonly serverNames?: ReadonlyMap<string, string>;
  /** By the key that policies have. Never logged and never shown. */
  readonly users?: ReadonlyMap<string, UserList>;
}

/** The changes since the last decision that the output received. */
export interface DecisionChanges {
  /** Hosts or path rules changed, or a service came or went. */
  readonly routes: boolean;
  /** Services whose endpoints changed, each with the version that says so; versions only rise. */
  readonly services: ReadonlyMap<string, number>;
  /** Where routes changed, what of them did; when absent, all of it may have. */
  readonly routed?: ChangedRoutes;
}

/** Names of entries that changed, are new or gone, or have another owner. */
export interface ChangedRoutes {
  readonly hosts: ReadonlySet<string>;
  readonly certificates: ReadonlySet<string>;
  readonly serverNames: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  /** Only those that came or went. */
  readonly services: ReadonlySet<string>;
}

export interface DecisionOutput {
  /**
   * Called after every change with the whole decision, which stays the same object and changes
   * under the reader. It takes note in steps, between which services may be decided and applied, but
   * no other routes. Where a service is decided again meanwhile, the last decision counts.
   */
  applying(decision: RoutingDecision, changes: DecisionChanges): Steps<void>;
}
