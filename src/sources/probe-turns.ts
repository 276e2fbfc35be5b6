// Turns of probes when more endpoints are in doubt than can be probed at once. Clusters take turns,
// so that one in trouble does not delay the others, and so do the namespaces of a cluster. Within a
// namespace, endpoints that were never probed come first. No node gets more than a few probes for a
// namespace's pods at a time.
import { assert, assertCostly } from "../environment/assert.ts";
import type { ProbeTarget } from "./probe-once.ts";

/**
 * Of one namespace: a machine that lives answers in milliseconds; one that is gone holds each probe
 * for half a second. A hundred pods, each probed every 0.7 s, then need this many.
 */
export const maxPerNode = 72;

/** All of them together; each is a socket. */
export const maxAtOnce = 256;

interface Line<T> {
  /** In the order they came. */
  readonly first: Set<T>;
  readonly again: Set<T>;
}

interface Waiting {
  /** Of the service that doubts it. */
  readonly namespace: string;
  readonly target: ProbeTarget;
}

/** Invariant: everyone waits in one line at most, or is under way and waits in none; none is empty. */
export class ProbeTurns<T extends Waiting> {
  /** By cluster and namespace; in both, the one that had its turn last is last. */
  readonly #lines = new Map<string, Map<string, Line<T>>>();
  readonly #underWay = new Map<string, number>();
  /** By node, those whose turn came while it had enough to answer. */
  readonly #parked = new Map<string, Set<T>>();
  #count = 0;
  /** Those in `#lines` and `#parked`. */
  #waiting = 0;

  add(one: T, options: { readonly isFirst: boolean }): void {
    const { namespace, target } = one;
    const lines = this.#lines.get(target.cluster) ?? new Map<string, Line<T>>();
    const line = lines.get(namespace) ?? { first: new Set(), again: new Set() };
    this.#lines.set(target.cluster, lines.set(namespace, line));
    (options.isFirst ? line.first : line.again).add(one);
    this.#waiting += 1;
    this.#check();
  }

  /** It waits no more, wherever it waited. */
  remove(one: T): void {
    const lines = this.#lines.get(one.target.cluster);
    const line = lines?.get(one.namespace);
    const sets = [line?.first, line?.again, this.#parked.get(nodeOf(one))];
    for (const set of sets) if (set?.delete(one) === true) this.#waiting -= 1;
    if (line !== undefined && isEmpty(line)) lines?.delete(one.namespace);
    this.#check();
  }

  /** Whether an endpoint waits that may be probed now. */
  get isWaiting(): boolean {
    if (this.#count >= maxAtOnce) return false;
    return [...this.#lines.values()].some((lines) => lines.size > 0);
  }

  /** The next to be asked, who is under way from now on until `ended`. */
  next(): T | undefined {
    if (this.#count >= maxAtOnce) return undefined;
    const one = inTurn(
      this.#lines,
      (lines) => inTurn(lines, (line) => this.#fromLine(line), isEmpty),
      (lines) => lines.size === 0,
    );
    if (one === undefined) return undefined;
    const node = nodeOf(one);
    this.#underWay.set(node, (this.#underWay.get(node) ?? 0) + 1);
    this.#count += 1;
    this.#waiting -= 1;
    this.#check();
    return one;
  }

  ended(one: T): void {
    const node = nodeOf(one);
    const underWay = this.#underWay.get(node);
    assert(underWay !== undefined, "what has ended was under way");
    const left = underWay - 1;
    if (left === 0) this.#underWay.delete(node);
    else this.#underWay.set(node, left);
    this.#count -= 1;
    const parked = this.#parked.get(node);
    if (parked === undefined) return;
    const [next] = parked;
    if (next !== undefined) {
      parked.delete(next);
      this.#waiting -= 1;
      this.add(next, { isFirst: true });
    }
    if (parked.size === 0) this.#parked.delete(node);
  }

  #check(): void {
    const size = this.#waiting + this.#lines.size + this.#parked.size;
    assertCostly(() => this.#isInStep(), "each waits in one line, and no line is empty", size);
  }

  #isInStep(): boolean {
    const lines = [...this.#lines.values()].flatMap((ofCluster) => [...ofCluster.values()]);
    const sets = [...lines.flatMap(({ first, again }) => [first, again]), ...this.#parked.values()];
    const waiting = sets.flatMap((one) => [...one]);
    const asked = [...this.#underWay.values()].reduce((sum, count) => sum + count, 0);
    const isOnce = new Set(waiting).size === waiting.length && waiting.length === this.#waiting;
    return isOnce && !lines.some(isEmpty) && asked === this.#count && asked <= maxAtOnce;
  }

  #fromLine({ first, again }: Line<T>): T | undefined {
    for (const waiting of [first, again]) {
      for (const one of waiting) {
        waiting.delete(one);
        const node = nodeOf(one);
        if ((this.#underWay.get(node) ?? 0) < maxPerNode) return one;
        const parked = this.#parked.get(node) ?? new Set();
        this.#parked.set(node, parked.add(one));
      }
    }
    return undefined;
  }
}

/** From the first group that has one; groups that were asked go to the end, or away when empty. */
function inTurn<Group, One>(
  groups: Map<string, Group>,
  take: (group: Group) => One | undefined,
  isUsedUp: (group: Group) => boolean,
): One | undefined {
  // Each group once: those that are put back at the end had their turn.
  for (let left = groups.size; left > 0; left -= 1) {
    const [entry] = groups;
    if (entry === undefined) return undefined;
    const [key, group] = entry;
    const one = take(group);
    groups.delete(key);
    if (!isUsedUp(group)) groups.set(key, group);
    if (one !== undefined) return one;
  }
  return undefined;
}

function isEmpty({ first, again }: Line<unknown>): boolean {
  return first.size + again.size === 0;
}

function nodeOf({ namespace, target }: Waiting): string {
  return `${namespace} ${machineOf(target)}`;
}

/** An endpoint without a known node is treated as if it had a node of its own. */
export function machineOf({ cluster, node, address }: ProbeTarget): string {
  return `${cluster} ${node ?? address}`;
}
