// What witnesses say. A witness stands at one hop (a cluster's pod watch, its published endpoints, a
// copy in an access cluster, one proxy replica) and reports when an endpoint appears or vanishes
// there. All reports carry times of one monotonic clock, the observer's.
import type { MonotonicMs, WallMs } from "../environment/clock.ts";

export type Hop = "pod" | "published" | "synced" | "routed" | "traffic";

/** In the order in which stock components show a change. */
export const hops: readonly Hop[] = ["pod", "published", "synced", "routed", "traffic"];

export type Direction = "join" | "leave";

export interface Witness {
  readonly hop: Hop;
  /** The cluster at `pod` and `published`, the access cluster at `synced`, the replica at `routed`. */
  readonly name: string;
}

/** A service of a cluster; a proxy replica routes to all clusters' services of a name as to one. */
export interface ServiceRef {
  readonly cluster: string | undefined;
  /** `namespace/name`. */
  readonly service: string;
}

export interface UnfollowedService extends ServiceRef {
  /** What it has shown counts no more: it does not come back, or begins anew if it does. */
  readonly forGood?: true;
  /** Where pods listen, of the ports that it shows no more while it shows others; all unless given. */
  readonly ports?: readonly number[];
}

export interface FollowedService extends ServiceRef {
  /** Where pods listen, of the ports that the witness shows; all, if it cannot say. */
  readonly ports?: readonly number[];
}

/** An endpoint as far as the witness can tell: a proxy may know nothing but the address. */
export interface WitnessedEndpoint extends ServiceRef {
  readonly address: string;
  /** Where the pod listens; 0 for a headless service without ports. */
  readonly port: number;
  readonly podUid: string | undefined;
}

export interface WitnessReport {
  readonly witness: Witness;
  readonly endpoint: WitnessedEndpoint;
  readonly direction: Direction;
  readonly at: MonotonicMs;
  /** What made it so, in one or two words: `ready`, `terminating`. Only pod watches know. */
  readonly cause?: string;
  readonly podName?: string;
  /** Learnt from a list: it happened after this instant and not later than `at`. */
  readonly notBefore?: MonotonicMs;
  readonly clusterStamp?: ClusterStamp;
  /**
   * Why it may be half of what happened at once, the rest of which is told next: a list tells object
   * by object, and of a service and its pods two watches tell, of which this names the one.
   */
  readonly partOf?: "list" | "services" | "pods";
  /** It was so when the witness began to look, so this is a state and not a change. */
  readonly baseline?: boolean;
}

/** When it happened by the cluster's own clock, in whole seconds. */
export interface ClusterStamp {
  readonly at: WallMs;
  /** Whose clock it was: a node, or the API server where it is empty. */
  readonly by: string;
}

/** A request that was sent to an address, as an access log tells it. */
export interface TrafficReport {
  /** At the hop `traffic`: the proxy or log that tells. */
  readonly witness: Witness;
  /** `namespace/name`, where the log says. */
  readonly service: string | undefined;
  readonly address: string;
  readonly port: number;
  /** When it was sent there, as nearly as the log tells. */
  readonly at: MonotonicMs;
  /** The endpoint did not answer it: refused, reset, timed out. */
  readonly failed: boolean;
}

/** Where witnesses report to. */
export interface WitnessSink {
  report(report: WitnessReport): void;
  /** From now on this witness is expected to show every change of the service's endpoints. */
  follow(witness: Witness, service: FollowedService): void;
  unfollow(witness: Witness, service: UnfollowedService): void;
}

/** Made once for each witness, because every report asks for it several times. */
const witnessIds = new WeakMap<Witness, string>();

export function witnessId(witness: Witness): string {
  const known = witnessIds.get(witness);
  if (known !== undefined) return known;
  const id = `${witness.hop} ${witness.name}`;
  witnessIds.set(witness, id);
  return id;
}

/** Names the endpoint among all that have been or will be. */
export function endpointKey({
  cluster = "",
  podUid = "",
  service,
  address,
  port,
}: WitnessedEndpoint): string {
  return `${cluster} ${podUid} ${service} ${address} ${port}`;
}

/** Whether both have the same name. */
export function isSameEndpoint(a: WitnessedEndpoint, b: WitnessedEndpoint): boolean {
  return (
    a.port === b.port &&
    a.address === b.address &&
    a.podUid === b.podUid &&
    a.cluster === b.cluster &&
    a.service === b.service
  );
}
