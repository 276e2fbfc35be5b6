// Which witnesses are expected to show the changes of an endpoint. A hop that nobody follows is
// unknown: it is neither waited for nor taken to be fast. Asked at every report, so the answer is
// kept until something changes in the service.
import { assertCostly } from "../environment/assert.ts";
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

const nobody: readonly Witness[] = [];

/** Invariant: no map of witnesses in it is empty. */
interface ServiceFollowers {
  /** By cluster, then by witness. */
  readonly clusters: Map<string, Map<string, Witness>>;
  /** By cluster and hop, its own watches, while they follow the service and after it is gone. */
  readonly own: Map<string, Witness>;
  /** By replica, the ports it has been seen to route to; none are known of one that is not in it. */
  readonly routedPorts: Map<string, Set<number>>;
  /** By cluster and port, in the order of the hops. */
  readonly answers: Map<string, readonly Witness[]>;
}

export class Expectations {
  readonly #byService = new Map<string, ServiceFollowers>();
  /** By service, replicas that do not say at present what they route to. */
  readonly #lost = new Map<string, Map<string, Witness>>();
  #version = 0;

  /** Rises whenever any answer may have changed. */
  get version(): number {
    return this.#version;
  }

  /** True when that is news, or some of its ports are. */
  follow(witness: Witness, followed: FollowedService): boolean {
    const { cluster = anyCluster, service, ports = [] } = followed;
    const followers = this.#byService.get(service) ?? {
      clusters: new Map(),
      own: new Map(),
      routedPorts: new Map(),
      answers: new Map(),
    };
    this.#byService.set(service, followers);
    const witnesses = followers.clusters.get(cluster) ?? new Map<string, Witness>();
    followers.clusters.set(cluster, witnesses);
    this.#find(witness, service);
    if (isOfCluster(witness)) followers.own.set(ownKey(cluster, witness.hop), witness);
    const isNew = !witnesses.has(witnessId(witness));
    if (isNew) witnesses.set(witnessId(witness), witness);
    const isOfPorts = this.#learnPorts(followers, witness, ports);
    if (!isNew && !isOfPorts) return false;
    followers.answers.clear();
    this.#version += 1;
    return true;
  }

  /** True when it did follow, at one of the ports where some are named. */
  unfollow(witness: Witness, unfollowed: UnfollowedService): boolean {
    const { cluster = anyCluster, service, forGood = false, ports } = unfollowed;
    if (ports !== undefined) return this.#unlearnPorts(witness, service, ports);
    if (forGood) this.#find(witness, service);
    else if (witness.hop === "routed") this.#lose(witness, service);
    const followers = this.#byService.get(service);
    const witnesses = followers?.clusters.get(cluster);
    if (followers === undefined || !witnesses?.delete(witnessId(witness))) return false;
    followers.routedPorts.delete(witnessId(witness));
    if (unfollowed.isGone !== true) followers.own.delete(ownKey(cluster, witness.hop));
    followers.answers.clear();
    this.#version += 1;
    if (witnesses.size === 0) followers.clusters.delete(cluster);
    if (followers.clusters.size === 0) this.#byService.delete(service);
    assertCostly(
      () => [...followers.clusters.values()].every(({ size }) => size > 0),
      "no map of witnesses is empty",
      followers.clusters.size,
    );
    return true;
  }

  /** Replicas that will tell later what they did meanwhile. */
  lostOf(service: string): readonly Witness[] {
    const lost = this.#lost.get(service);
    return lost === undefined ? nobody : [...lost.values()];
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
    if (followers === undefined) return nobody;
    const asked = `${port} ${cluster ?? ""}`;
    const known = followers.answers.get(asked);
    if (known !== undefined) return known;
    const answer = [...following(followers, cluster).values()]
      .filter((witness) => followers.routedPorts.get(witnessId(witness))?.has(port) ?? true)
      .sort(inOrderOfHops);
    followers.answers.set(asked, answer);
    return answer;
  }

  /** The witness nearest to the pods of the endpoint; undefined where only requests are expected. */
  referenceOf(endpoint: WitnessedEndpoint): Witness | undefined {
    const { cluster, service } = endpoint;
    const own = this.#byService.get(service)?.own ?? new Map<string, Witness>();
    const [nearest] = this.of(endpoint);
    const others = nearest?.hop === "traffic" ? undefined : nearest;
    if (cluster !== undefined) {
      return own.get(ownKey(cluster, "pod")) ?? own.get(ownKey(cluster, "published")) ?? others;
    }
    const [first] = [...own.values()].sort(inOrderOfHops);
    return first ?? others;
  }

  #lose(witness: Witness, service: string): void {
    const lost = this.#lost.get(service) ?? new Map<string, Witness>();
    this.#lost.set(service, lost.set(witnessId(witness), witness));
  }

  /** It is back, or does not come back. */
  #find(witness: Witness, service: string): void {
    const lost = this.#lost.get(service);
    if (!lost?.delete(witnessId(witness)) || lost.size > 0) return;
    this.#lost.delete(service);
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
    this.#version += 1;
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
