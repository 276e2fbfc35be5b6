// The entries that nginx does not have yet in their newest form. Namespaces take turns: however much one
// of them changes, what others change goes with the next push. Within a namespace entries go in the
// order in which they refer to each other, in rounds: what changes again while a round is under way
// waits for the next one, so that nothing waits for ever.
import type { ProxyEntry } from "./proxy-state.ts";
import { entryBytes, partBytes, pushRank } from "./push-parts.ts";

export type EntryRef = Pick<ProxyEntry, "kind" | "name">;

/** Some tens of milliseconds of nginx: so long waits what changes while a push is under way. */
export const pushBytesMax = 512 * 1024;

interface Waiting {
  readonly ref: EntryRef;
  /** The number of the first decision that nginx does not have of it. */
  readonly since: number;
}

interface Planned {
  readonly id: string;
  readonly isRemoval: boolean;
}

/** Invariant: `waiting` is not empty; `round` is what is left of the round, the last one first. */
interface Queue {
  readonly waiting: Map<string, Waiting>;
  round: Planned[];
}

export class UnpushedEntries {
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

  add(ref: EntryRef, namespace: string, since: number): void {
    const queue = this.#queues.get(namespace) ?? { waiting: new Map(), round: [] };
    this.#queues.set(namespace, queue);
    const known = queue.waiting.get(idOf(ref));
    queue.waiting.set(idOf(ref), { ref, since: Math.min(since, known?.since ?? since) });
  }

  has(ref: EntryRef, namespace: string): boolean {
    return this.#queues.get(namespace)?.waiting.has(idOf(ref)) === true;
  }

  clear(): void {
    this.#queues.clear();
  }

  /** Some of each namespace; `read` gives an entry as it is now, or undefined if there is none. */
  take(
    read: (ref: EntryRef) => ProxyEntry | undefined,
  ): readonly (readonly [ProxyEntry, number])[] {
    const quota = Math.max(partBytes, pushBytesMax / this.#queues.size);
    const taken: (readonly [ProxyEntry, number])[] = [];
    for (const [namespace, queue] of this.#queues) {
      if (queue.round.length === 0) queue.round = plan(queue.waiting, read);
      let bytes = 0;
      while (bytes < quota) {
        const planned = queue.round.pop();
        if (planned === undefined) break;
        const waiting = queue.waiting.get(planned.id);
        const entry = waiting && read(waiting.ref);
        // To be removed where it was to be set, or the reverse: its place is another then.
        if (entry !== undefined && isRemoval(entry) !== planned.isRemoval) continue;
        queue.waiting.delete(planned.id);
        if (waiting === undefined || entry === undefined) continue;
        taken.push([entry, waiting.since]);
        bytes += entryBytes(entry);
      }
      if (queue.waiting.size === 0) this.#queues.delete(namespace);
    }
    return taken.sort(([one], [other]) => pushRank(one) - pushRank(other));
  }
}

function plan(
  waiting: Queue["waiting"],
  read: (ref: EntryRef) => ProxyEntry | undefined,
): Planned[] {
  const entries = [...waiting].flatMap(([id, { ref }]) => {
    const entry = read(ref);
    if (entry !== undefined) return [{ id, isRemoval: isRemoval(entry), rank: pushRank(entry) }];
    waiting.delete(id);
    return [];
  });
  return entries.sort((a, b) => a.rank - b.rank).reverse();
}

function isRemoval({ value }: ProxyEntry): boolean {
  return value === undefined;
}

function idOf({ kind, name }: EntryRef): string {
  return `${kind} ${name}`;
}
