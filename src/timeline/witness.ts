// Sources of observations. A witness stands at one hop (a cluster's pod watch, its published
// endpoints, a copy in an access cluster, one proxy replica) and reports when an endpoint appears
// or vanishes there. All reports carry times of one monotonic clock, the observer's.
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
  /**
   * Its earlier steps no longer count: it does not come back, or starts from nothing if it does.
   */
  readonly forGood?: true;
  /** The service itself is gone: its cluster's own watches still say that nothing is left of it. */
  readonly isGone?: true;
  /** Where pods listen, of the ports that it shows no more while it shows others; all unless given. */
  readonly ports?: readonly number[];
}

export interface FollowedService extends ServiceRef {
  /** Since when it does; now, unless given. */
  readonly since?: MonotonicMs;
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

/** When it happened by the cluster's own clock, in whole seconds. */
export interface ClusterStamp {
  readonly at: WallMs;
  /** The owner of the clock: a node, or the API server where it is empty. */
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

/** Whether they differ in nothing that both name. */
export function isCompatible(a: WitnessedEndpoint, b: WitnessedEndpoint): boolean {
  if (a.cluster !== undefined && b.cluster !== undefined && a.cluster !== b.cluster) return false;
  return a.podUid === undefined || b.podUid === undefined || a.podUid === b.podUid;
}

export function isSameWitness(a: Witness, b: Witness): boolean {
  return a === b || (a.hop === b.hop && a.name === b.name);
}

/** Whether a cluster's own watches are the witness. */
export function isOfCluster({ hop }: Witness): boolean {
  return hop === "pod" || hop === "published";
}
