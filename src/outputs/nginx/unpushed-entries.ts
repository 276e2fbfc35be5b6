// The entries that nginx does not have yet in their newest form. A push is small, so that what changes
// while it is under way waits for little. Services go first: one that changed may have lost a pod. Then
// namespaces take turns: however much one of them changes, what others change goes with the next pushes.
// Within a namespace entries go in the order in which they refer to each other, in rounds: what changes
// again while a round is under way waits for the next one, so that nothing waits for ever.
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
  round: Round;
  next: Round;
}

interface Taken {
  readonly entries: (readonly [ProxyEntry, number])[];
  bytes: number;
}

/** New services have the first rank: nothing has to be there before them. */
const serviceRank = 0;

export class UnpushedEntries {
  /** By namespace; those that were last served are the last. */
  readonly #queues = new Map<string, Queue>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** The first decision of which nginx does not have everything; undefined when it has all. */
  get oldest(): number | undefined {
    let oldest: number | undefined;
    for (const { waiting } of this.#queues.values()) {
      for (const { since } of waiting.values()) oldest = Math.min(oldest ?? since, since);
    }
    return oldest;
  }

  /** `rank` is that of the entry as it is now. */
  add(ref: EntryRef, namespace: string, since: number, rank: number): void {
    const queue = this.#queues.get(namespace) ?? {
      waiting: new Map<string, Waiting>(),
      round: newRound(),
      next: newRound(),
    };
    this.#queues.set(namespace, queue);
    const id = idOf(ref);
    const known = queue.waiting.get(id);
    queue.waiting.set(id, { ref, since: Math.min(since, known?.since ?? since) });
    if (known === undefined) queue.next[rank]?.add(id);
  }

  has(ref: EntryRef, namespace: string): boolean {
    return this.#queues.get(namespace)?.waiting.has(idOf(ref)) === true;
  }

  clear(): void {
    this.#queues.clear();
  }

  /** Some of what waits; `read` gives an entry as it is now, or undefined if there is none. */
  take(read: ReadEntry): readonly (readonly [ProxyEntry, number])[] {
    const services = this.#inTurns((queue, taken, most) => {
      for (const round of [queue.round, queue.next]) {
        takeOfRank(queue, round, serviceRank, { read, taken, most });
      }
    });
    const others = this.#inTurns((queue, taken, most) => {
      if (queue.round.every(({ size }) => size === 0)) {
        queue.round = queue.next;
        queue.next = newRound();
      }
      for (const rank of queue.round.keys()) {
        if (taken.bytes < most) takeOfRank(queue, queue.round, rank, { read, taken, most });
      }
    });
    const taken = [...services, ...others];
    return taken.sort(([one], [other]) => pushRank(one) - pushRank(other));
  }

  /** Those that are served come last the next time. */
  #inTurns(take: (queue: Queue, taken: Taken, mostBytes: number) => void): Taken["entries"] {
    const share = pushBytesMax / this.#queues.size;
    const taken: Taken = { entries: [], bytes: 0 };
    for (const [namespace, queue] of [...this.#queues]) {
      if (taken.bytes >= pushBytesMax) break;
      const before = taken.bytes;
      take(queue, taken, before + share);
      if (taken.bytes > before || queue.waiting.size === 0) this.#queues.delete(namespace);
      if (taken.bytes > before && queue.waiting.size > 0) this.#queues.set(namespace, queue);
    }
    return taken.entries;
  }
}

/** Until so much is taken. An entry whose rank is another now goes where it belongs. */
function takeOfRank(
  { waiting, next }: Queue,
  round: Round,
  rank: number,
  { read, taken, most }: { readonly read: ReadEntry; readonly taken: Taken; readonly most: number },
): void {
  for (const id of round[rank] ?? []) {
    if (taken.bytes >= most) return;
    round[rank]?.delete(id);
    const known = waiting.get(id);
    const entry = known && read(known.ref);
    if (known === undefined || entry === undefined) {
      waiting.delete(id);
    } else if (pushRank(entry) === rank) {
      waiting.delete(id);
      taken.entries.push([entry, known.since]);
      taken.bytes += entryBytes(entry);
    } else {
      next[pushRank(entry)]?.add(id);
    }
  }
}

function newRound(): Round {
  return Array.from({ length: pushRanks }, () => new Set<string>());
}

function idOf({ kind, name }: EntryRef): string {
  return `${kind} ${name}`;
}
