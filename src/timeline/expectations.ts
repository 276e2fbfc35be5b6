// The witnesses that are expected to show the changes of an endpoint. A hop without a witness is
// unknown: it is neither waited for nor counted as fast. Needed at every report, so the result is
// cached until the service changes.
import { assertCostly } from "../environment/assert.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import {
  type FollowedService,
  type Hop,
  hops,
  isOfCluster,
  type UnfollowedService,
  type Witness,
  type WitnessedEndpoint,
  witnessId,
} from "./witness.ts";

/** The place of witnesses to which the cluster makes no difference; no cluster has this name. */
const anyCluster = "";

const noWitness: readonly Witness[] = [];

/** Invariant: no map of witnesses in it is empty. */
interface ServiceFollowers {
  /** By cluster, then by witness. */
  readonly clusters: Map<string, Map<string, Witness>>;
  /** By cluster and hop, its own watches, while they follow the service and after it is gone. */
  readonly own: Map<string, Witness>;
  /** By witness, when it began to follow the service in any cluster. */
  readonly since: Map<string, MonotonicMs>;
  /** By replica, the ports it has been seen to route to; none are known of one that is not in it. */
  readonly routedPorts: Map<string, Set<number>>;
  /** By cluster and port, in the order of the hops. */
  readonly answers: Map<string, readonly Witness[]>;
}

export class Expectations {
  readonly #byService = new Map<string, ServiceFollowers>();
  /** Whether clusters are observed, or some cluster's own watches have ever followed a service. */
  #hasClusters = false;

  /** Clusters are observed, though none of them may have been listed yet. */
  expectClusters(): void {
    this.#hasClusters = true;
  }

  /** True when that is news, or some of its ports are. */
  follow(
    witness: Witness,
    followed: FollowedService,
    now: MonotonicMs = -Infinity as MonotonicMs,
  ): boolean {
    const { cluster = anyCluster, service, ports = [] } = followed;
    const followers = this.#byService.get(service) ?? {
      clusters: new Map(),
      own: new Map(),
      since: new Map(),
      routedPorts: new Map(),
      answers: new Map(),
    };
    this.#byService.set(service, followers);
    const witnesses = followers.clusters.get(cluster) ?? new Map<string, Witness>();
    followers.clusters.set(cluster, witnesses);
    if (isOfCluster(witness)) {
      followers.own.set(ownKey(cluster, witness.hop), witness);
      this.#hasClusters = true;
    }
    const isNew = !witnesses.has(witnessId(witness));
    if (isNew) witnesses.set(witnessId(witness), witness);
    const { since = now } = followed;
    if (!followers.since.has(witnessId(witness))) followers.since.set(witnessId(witness), since);
    const isOfPorts = this.#learnPorts(followers, witness, ports);
    if (!isNew && !isOfPorts) return false;
    followers.answers.clear();
    return true;
  }

  /** True when it did follow, at one of the ports where some are named. */
  unfollow(witness: Witness, unfollowed: UnfollowedService): boolean {
    const { cluster = anyCluster, service, ports } = unfollowed;
    if (ports !== undefined) return this.#unlearnPorts(witness, service, ports);
    const followers = this.#byService.get(service);
    const witnesses = followers?.clusters.get(cluster);
    if (followers === undefined || !witnesses?.delete(witnessId(witness))) return false;
    followers.routedPorts.delete(witnessId(witness));
    followers.since.delete(witnessId(witness));
    if (unfollowed.isGone !== true) followers.own.delete(ownKey(cluster, witness.hop));
    followers.answers.clear();
    if (witnesses.size === 0) followers.clusters.delete(cluster);
    if (followers.clusters.size === 0) this.#byService.delete(service);
    assertCostly(
      () => [...followers.clusters.values()].every(({ size }) => size > 0),
      "no map of witnesses is empty",
      followers.clusters.size,
    );
    return true;
  }

  /** Whether some cluster's own watches follow a service of this name, `namespace/name`. */
  isInCluster(service: string): boolean {
    const clusters = this.#byService.get(service)?.clusters.values() ?? [];
    for (const witnesses of clusters) {
      for (const { hop } of witnesses.values()) {
        if (hop === "pod" || hop === "published") return true;
      }
    }
    return false;
  }

  /**
   * Those that follow this cluster's service, and those to which the cluster makes no difference, in
   * the order of the hops. Of an endpoint whose cluster is not known yet, all: any of them may be the
   * one to name it.
   */
  of({ cluster, service, port }: WitnessedEndpoint): readonly Witness[] {
    const followers = this.#byService.get(service);
    if (followers === undefined) return noWitness;
    const asked = `${port} ${cluster ?? ""}`;
    const known = followers.answers.get(asked);
    if (known !== undefined) return known;
    const answer = [...following(followers, cluster).values()]
      .filter((witness) => followers.routedPorts.get(witnessId(witness))?.has(port) ?? true)
      .sort(inOrderOfHops);
    followers.answers.set(asked, answer);
    return answer;
  }

  /** Proxies alone make changes only where no cluster is observed. */
  #canRefer({ hop }: Witness): boolean {
    return hop === "routed" ? !this.#hasClusters : hop !== "traffic";
  }

  /** Since when the witness follows the service; undefined when it does not. */
  sinceOf(witness: Witness, service: string): MonotonicMs | undefined {
    return this.#byService.get(service)?.since.get(witnessId(witness));
  }

  /** The witness nearest to the pods of the endpoint; undefined where only requests are expected. */
  referenceOf(endpoint: WitnessedEndpoint): Witness | undefined {
    const { cluster, service } = endpoint;
    const own = this.#byService.get(service)?.own ?? new Map<string, Witness>();
    const [nearest] = this.of(endpoint);
    const isReference = nearest !== undefined && this.#canRefer(nearest);
    const others = isReference ? nearest : undefined;
    if (cluster !== undefined) {
      return own.get(ownKey(cluster, "pod")) ?? own.get(ownKey(cluster, "published")) ?? others;
    }
    const [first] = [...own.values()].sort(inOrderOfHops);
    return first ?? others;
  }

  /**
   * A replica routes to some ports of a service, those its rules name, and is not waited for at the
   * others. True when one is new.
   */
  #learnPorts(
    { routedPorts }: ServiceFollowers,
    witness: Witness,
    ports: readonly number[],
  ): boolean {
    if (witness.hop !== "routed" || ports.length === 0) return false;
    const id = witnessId(witness);
    const known = routedPorts.get(id) ?? new Set<number>();
    routedPorts.set(id, known);
    const before = known.size;
    for (const port of ports) known.add(port);
    return known.size > before;
  }

  /** One that is left with none is waited for when it shows one. True when it was at one of them. */
  #unlearnPorts(witness: Witness, service: string, ports: readonly number[]): boolean {
    const followers = this.#byService.get(service);
    const known = followers?.routedPorts.get(witnessId(witness));
    if (followers === undefined || known === undefined) return false;
    const before = known.size;
    for (const port of ports) known.delete(port);
    if (known.size === before) return false;
    followers.answers.clear();
    return true;
  }
}

function ownKey(cluster: string, hop: Hop): string {
  return `${hop} ${cluster}`;
}

export function inOrderOfHops(a: Witness, b: Witness): number {
  const byHop = hops.indexOf(a.hop) - hops.indexOf(b.hop);
  return byHop === 0 ? a.name.localeCompare(b.name, "en") : byHop;
}

/** Each once, also one that follows the service twice: of a cluster by name, and of any. */
function following(
  { clusters }: ServiceFollowers,
  cluster: string | undefined,
): ReadonlyMap<string, Witness> {
  if (cluster === undefined) return new Map([...clusters.values()].flatMap((all) => [...all]));
  return new Map([...(clusters.get(cluster) ?? []), ...(clusters.get(anyCluster) ?? [])]);
}
