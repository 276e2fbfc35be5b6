// The options for truth, by configuration for all services and by annotation for one. Both can
// change at any time: the next decision uses them.

export interface TruthPolicy {
  /** Route by the published slices alone, for every service. */
  readonly followSlices: boolean;
  /** `defaultSpread` when absent. */
  readonly spread?: Spread;
  /** `defaultUnreachable` when absent. */
  readonly unreachable?: UnreachablePolicy;
  /** For clusters that are to be treated otherwise, where no service says how. */
  readonly unreachableIn?: ReadonlyMap<string, UnreachablePolicy>;
  /** How long a cluster may be silent before that counts; `defaultUnreachableAfterMs` if absent. */
  readonly unreachableAfterMs?: number;
  /** External names may lead to loopback, link-local and own addresses; false when absent. */
  readonly allowLocalNames?: boolean;
  /** Addresses at which Lockstep itself can be reached; none when absent. */
  readonly ownAddresses?: readonly string[];
}

/** How requests go to a service that several clusters have. */
export type Spread =
  /** To the cluster they come in at, if it has the service; the others stand in. */
  | "local-first"
  /** To all of them. */
  | "even";

/** The treatment of endpoints of a cluster that has not answered for too long. */
export type UnreachablePolicy =
  /** They serve as before; only requests that fail speak against them. */
  | "keep"
  /** They get nothing, even if no other endpoint is left. */
  | "drop"
  /** They get requests when no endpoint of another cluster can take them. */
  | "distrust";

export const spreads: readonly Spread[] = ["local-first", "even"];
export const unreachablePolicies: readonly UnreachablePolicy[] = ["keep", "drop", "distrust"];

export const defaultSpread: Spread = "local-first";

/** An API server that is down is no reason to believe that its pods are. */
export const defaultUnreachable: UnreachablePolicy = "keep";

/** Longer than an API server needs to restart, so that this alone moves no traffic. */
export const defaultUnreachableAfterMs = 60_000;

/** A service follows its slices exactly when this annotation on it says `true`. */
export const followSlicesAnnotation = "lockstep.dev/follow-slices";
/** A `Spread`. */
export const spreadAnnotation = "lockstep.dev/spread";
/** The share of this cluster's service in all requests, beside that of the others. */
export const weightAnnotation = "lockstep.dev/weight";
/** An `UnreachablePolicy`. */
export const unreachableAnnotation = "lockstep.dev/unreachable";
