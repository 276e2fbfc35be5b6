// What became of nodes in a run, each with one pod: when a node that lives was given up, how long
// the pod's endpoint was away for it, and how long a dead one went unnoticed.

interface NodeHistory {
  isReady: boolean;
  /** When the endpoint was last published as not ready; undefined while it is ready. */
  outSinceMs: number | undefined;
  diedMs: number | undefined;
}

export class NodeJournal {
  /** Of nodes that lived. */
  flaps = 0;
  readonly outagesMs: number[] = [];
  /** From the death of a node: until it was not ready, and until its endpoint was not. */
  readonly noticedMs: number[] = [];
  readonly leftMs: number[] = [];
  readonly #now: () => number;
  readonly #nodes = new Map<string, NodeHistory>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What happened until now was the beginning. */
  forget(): void {
    this.flaps = 0;
    this.outagesMs.length = 0;
  }

  node(name: string, isReady: boolean): void {
    const node = this.#history(name);
    if (node.isReady && !isReady) {
      if (node.diedMs === undefined) this.flaps += 1;
      else this.noticedMs.push(this.#now() - node.diedMs);
    }
    node.isReady = isReady;
  }

  published(name: string, isReady: boolean): void {
    const node = this.#history(name);
    if (!isReady && node.outSinceMs === undefined) {
      node.outSinceMs = this.#now();
      if (node.diedMs !== undefined) this.leftMs.push(this.#now() - node.diedMs);
    }
    if (isReady && node.outSinceMs !== undefined) {
      this.outagesMs.push(this.#now() - node.outSinceMs);
      node.outSinceMs = undefined;
    }
  }

  /** One that was given up already when it died cannot be noticed any more. */
  died(name: string): void {
    this.#history(name).diedMs = this.#now();
  }

  #history(name: string): NodeHistory {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const made: NodeHistory = { isReady: false, outSinceMs: undefined, diedMs: undefined };
    this.#nodes.set(name, made);
    return made;
  }
}
