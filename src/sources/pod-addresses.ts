// The pods that have each address of a cluster now. In some networks an address passes to a new pod
// at once, while slices and even the old pod's own status still claim it. So the current owner is
// known only from all pods, of whatever service.
import { assertCostly } from "../environment/assert.ts";
import { hasEnded, type Pod, podIPs } from "../kube/kinds/pod.ts";
import type { Change } from "../kube/store/store-change.ts";

/** Invariant: every pod that has an address and has not ended is in the list of each of its own. */
export class PodAddresses {
  /** Nearly every address has one pod, which is then kept without a list around it. */
  readonly #pods = new Map<string, Pod | readonly Pod[]>();

  /** The pods at this address: several in the host's network, or while it changes hands. */
  at(address: string): readonly Pod[] {
    const pods = this.#pods.get(address);
    if (pods === undefined) return [];
    return isList(pods) ? pods : [pods];
  }

  /** All pods at this address, where that is more or other than the one of this uid. */
  claimantsAt(address: string, uid: string): readonly Pod[] | undefined {
    const pods = this.#pods.get(address);
    if (pods === undefined) return undefined;
    if (isList(pods)) return pods;
    return pods.metadata.uid === uid ? undefined : [pods];
  }

  /**
   * Takes note of a pod's change and returns the other pods whose claim to an address may have
   * become better or worse by it.
   */
  podChanged(change: Change<Pod>): ReadonlySet<Pod> {
    const before = change.type === "updated" ? change.previous : undefined;
    const after = change.type === "deleted" ? undefined : change.object;
    const ofBefore = change.type === "deleted" ? addressesOf(change.object) : addressesOf(before);
    const ofAfter = addressesOf(after);
    const { uid } = change.object.metadata;
    for (const address of ofBefore) if (!ofAfter.includes(address)) this.#remove(address, uid);
    if (after !== undefined) for (const address of ofAfter) this.#put(address, after);
    assertCostly(() => this.#isExact(), "addresses have the pods that have them", this.#pods.size);
    const isAt = (address: string) => this.at(address).some((one) => one.metadata.uid === uid);
    const isMoved = () => ofBefore.every((one) => isAt(one) === ofAfter.includes(one));
    assertCostly(isMoved, "a pod is at its own addresses alone");
    if (before !== undefined && claimsAlike(before, after, ofBefore, ofAfter)) return none;
    return this.#others(new Set([...ofBefore, ...ofAfter]), uid);
  }

  #isExact(): boolean {
    const listed = new Map([...this.#pods.keys()].map((one) => [one, new Set(this.at(one))]));
    const isListed = (pod: Pod) => addressesOf(pod).every((one) => listed.get(one)?.has(pod));
    return [...listed].every(([address, pods]) => {
      const uids = new Set([...pods].map(({ metadata }) => metadata.uid));
      const isOnce = uids.size > 0 && uids.size === this.at(address).length;
      return (
        isOnce && [...pods].every((pod) => addressesOf(pod).includes(address) && isListed(pod))
      );
    });
  }

  #others(addresses: ReadonlySet<string>, uid: string): ReadonlySet<Pod> {
    let others: Set<Pod> | undefined;
    for (const address of addresses) {
      const pods = this.#pods.get(address);
      if (pods === undefined || (!isList(pods) && pods.metadata.uid === uid)) continue;
      others ??= new Set();
      for (const pod of this.at(address)) if (pod.metadata.uid !== uid) others.add(pod);
    }
    return others ?? none;
  }

  #put(address: string, pod: Pod): void {
    const known = this.#pods.get(address);
    if (known === undefined || (!isList(known) && isSame(known, pod))) {
      this.#pods.set(address, pod);
      return;
    }
    const others = this.at(address).filter((one) => !isSame(one, pod));
    this.#pods.set(address, [...others, pod]);
  }

  #remove(address: string, uid: string): void {
    const [first, ...more] = this.at(address).filter((one) => one.metadata.uid !== uid);
    if (first === undefined) this.#pods.delete(address);
    else this.#pods.set(address, more.length === 0 ? first : [first, ...more]);
  }
}

const none: ReadonlySet<Pod> = new Set();
const noAddresses: readonly string[] = [];

function isList(pods: Pod | readonly Pod[]): pods is readonly Pod[] {
  return Array.isArray(pods);
}

function isSame(a: Pod, b: Pod): boolean {
  return a.metadata.uid === b.metadata.uid;
}

/** A pod that has ended owns nothing any more, though its status still names its address. */
function addressesOf(pod: Pod | undefined): readonly string[] {
  if (pod === undefined || hasEnded(pod)) return noAddresses;
  return podIPs(pod);
}

/**
 * Whether nothing changes for the other pods at its addresses, so that they need no new decision.
 */
function claimsAlike(
  before: Pod,
  after: Pod | undefined,
  ofBefore: readonly string[],
  ofAfter: readonly string[],
): boolean {
  return (
    before.metadata.deletionTimestamp === after?.metadata.deletionTimestamp &&
    ofBefore.length === ofAfter.length &&
    ofBefore.every((address, index) => address === ofAfter[index])
  );
}
