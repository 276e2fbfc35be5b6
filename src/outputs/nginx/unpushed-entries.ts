// The entries that nginx does not have yet in their newest form. A push is small, so that what changes
// while it is under way waits for little. Services go first: one that changed may have lost a pod. Then
// namespaces take turns: however much one of them changes, what others change goes with the next pushes.
// Within a namespace entries go in the order in which they refer to each other, in rounds: what changes
// again while a round is under way waits for the next one, so that nothing waits for ever.

import { assertCostly } from "../../environment/assert.ts";
import type { ProxyEntry } from "./proxy-state.ts";
import { entryBytes, partBytes, pushRank, pushRanks } from "./push-parts.ts";

export type EntryRef = Pick<ProxyEntry, "kind" | "name">;

type ReadEntry = (ref: EntryRef) => ProxyEntry | undefined;

/** Of services, and of all others: some milliseconds of nginx. An entry that is larger goes alone. */
export const pushBytesMax = 2 * partBytes;

interface Waiting {
  readonly ref: EntryRef;
  /** The number of the first decision that nginx does not have of it. */
  readonly since: number;
}

/** By rank, the ids of entries that had it when they were added. */
type Round = readonly Set<string>[];

/** Invariant: `waiting` is not empty, and each of its ids is once in `round` or in `next`. */
interface Queue {
  readonly waiting: Map<string, Waiting>;
  /** When it was last served, counted in turns; 0 before the first time. */
  turn: number;
  round: Round;
  next: Round;
}

/** Entries, each with the number of the first decision that nginx does not have of it. */
export type TakenEntries = readonly (readonly [ProxyEntry, number])[];

interface Taken {
  readonly entries: (readonly [ProxyEntry, number])[];
  bytes: number;
}

interface TakeOptions {
  readonly read: ReadEntry;
  readonly taken: Taken;
  /** Of `taken`, in bytes. */
  readonly most: number;
}

/** New services have the first rank: nothing has to be there before them. */
const serviceRank = 0;

export class UnpushedEntries {
  /** By namespace. */
  readonly #queues = new Map<string, Queue>();
  #turns = 0;
  /** By number of a decision, how many entries wait since then. */
  readonly #waitingSince = new Map<number, number>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** The first decision of which nginx does not have everything; undefined when it has all. */
  get oldest(): number | undefined {
    let oldest: number | undefined;
    for (const since of this.#waitingSince.keys()) oldest = Math.min(since, oldest ?? since);
    return oldest;
  }

  /** `rank` is that of the entry as it is now. */
  add(ref: EntryRef, namespace: string, since: number, rank: number): void {
    const queue = this.#queues.get(namespace) ?? {
      waiting: new Map<string, Waiting>(),
      turn: 0,
      round: newRound(),
      next: newRound(),
    };
    this.#queues.set(namespace, queue);
    const id = entryRefId(ref);
    const known = queue.waiting.get(id);
    const first = Math.min(since, known?.since ?? since);
    queue.waiting.set(id, { ref, since: first });
    if (known === undefined) queue.next[rank]?.add(id);
    else this.#count(known.since, -1);
    this.#count(first, 1);
    check(queue);
  }

  has(ref: EntryRef, namespace: string): boolean {
    return this.#queues.get(namespace)?.waiting.has(entryRefId(ref)) === true;
  }

  clear(): void {
    this.#queues.clear();
    this.#waitingSince.clear();
  }

  /** Some of what waits; `read` gives an entry as it is now, or undefined if there is none. */
  take(read: ReadEntry): TakenEntries {
    const services = this.takeServices(read);
    const others = this.#inTurns(pushBytesMax, (queue, taken, most) => {
      if (queue.round.every(({ size }) => size === 0)) {
        queue.round = queue.next;
        queue.next = newRound();
      }
      for (const rank of queue.round.keys()) {
        if (taken.bytes < most) this.#takeOfRank(queue, queue.round, rank, { read, taken, most });
      }
    });
    this.#checkCounts();
    return inOrder([...services, ...others]);
  }

  /** Only services that are to be there: nothing has to be pushed before them. */
  takeServices(read: ReadEntry, mostBytes = pushBytesMax): TakenEntries {
    const services = this.#inTurns(mostBytes, (queue, taken, most) => {
      for (const round of [queue.round, queue.next]) {
        this.#takeOfRank(queue, round, serviceRank, { read, taken, most });
      }
    });
    this.#checkCounts();
    return inOrder(services);
  }

  /** Those that have waited longest for their turn are served first. */
  #inTurns(
    mostBytes: number,
    take: (queue: Queue, taken: Taken, mostBytes: number) => void,
  ): Taken["entries"] {
    const share = mostBytes / this.#queues.size;
    const taken: Taken = { entries: [], bytes: 0 };
    for (const [namespace, queue] of [...this.#queues].sort(([, a], [, b]) => a.turn - b.turn)) {
      if (taken.bytes >= mostBytes) break;
      const before = taken.bytes;
      take(queue, taken, before + share);
      this.#turns += 1;
      if (taken.bytes > before) queue.turn = this.#turns;
      if (queue.waiting.size === 0) this.#queues.delete(namespace);
      else check(queue);
    }
    return taken.entries;
  }

  /** Until so much is taken. An entry whose rank is another now goes where it belongs. */
  #takeOfRank({ waiting, next }: Queue, round: Round, rank: number, options: TakeOptions): void {
    const { read, taken, most } = options;
    for (const id of round[rank] ?? []) {
      if (taken.bytes >= most) return;
      round[rank]?.delete(id);
      const known = waiting.get(id);
      const entry = known && read(known.ref);
      if (entry !== undefined && pushRank(entry) !== rank) {
        next[pushRank(entry)]?.add(id);
        continue;
      }
      waiting.delete(id);
      if (known === undefined) continue;
      this.#count(known.since, -1);
      if (entry === undefined) continue;
      taken.entries.push([entry, known.since]);
      taken.bytes += entryBytes(entry);
    }
  }

  #checkCounts(): void {
    assertCostly(() => this.#isCounted(), "entries that wait are counted", this.#queues.size);
  }

  #isCounted(): boolean {
    const waiting = [...this.#queues.values()].map((queue) => queue.waiting.size);
    const counts = [...this.#waitingSince.values()];
    return waiting.every((size) => size > 0) && sumOf(waiting) === sumOf(counts);
  }

  #count(since: number, by: 1 | -1): void {
    const count = (this.#waitingSince.get(since) ?? 0) + by;
    if (count > 0) this.#waitingSince.set(since, count);
    else this.#waitingSince.delete(since);
  }
}

function check({ waiting, round, next }: Queue): void {
  const isInStep = () => {
    const ids = [...round, ...next].flatMap((ranked) => [...ranked]);
    const isOnce = new Set(ids).size === ids.length && ids.length === waiting.size;
    return isOnce && ids.every((id) => waiting.has(id));
  };
  assertCostly(isInStep, "an entry that waits is in one round", waiting.size);
}

/** The small before the large: a service that lost a pod waits for no large one of the same push. */
function inOrder(taken: TakenEntries): TakenEntries {
  return [...taken].sort(
    ([one], [other]) => pushRank(one) - pushRank(other) || lengthOf(one) - lengthOf(other),
  );
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}

function newRound(): Round {
  return Array.from({ length: pushRanks }, () => new Set<string>());
}

function lengthOf({ value }: ProxyEntry): number {
  return value?.length ?? 0;
}

export function entryRefId({ kind, name }: EntryRef): string {
  return `${kind} ${name}`;
}
