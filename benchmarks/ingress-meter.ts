// The changes of a run, with the time each was accepted by the API server and the time each hop saw
// it, all on one monotonic clock. An endpoint joins and leaves in turns, so what a hop shows belongs
// to the newest change of that direction; an older one that the hop had not shown by then, it never
// will: it was superseded.
import { elapsedMs, type MonotonicMs } from "../src/environment/clock.ts";

export type Direction = "join" | "leave";

/** `lockstep` and `stock` are the hop `routed` of one replica each. */
export type MeteredHop = "published" | "synced" | "lockstep" | "stock";

export interface HopLags {
  readonly lagsMs: readonly number[];
  /** Changes that the hop did not show before the next change of the same endpoint, if ever. */
  readonly unseen: number;
}

interface MeteredChange {
  readonly series: string;
  readonly direction: Direction;
  acceptedAt: MonotonicMs | undefined;
  readonly seenAt: Map<MeteredHop, MonotonicMs>;
}

export class ChangeMeter {
  readonly #hops: readonly MeteredHop[];
  readonly #changes: MeteredChange[] = [];
  /** By address, the newest change of all and of each direction. */
  readonly #newest = new Map<string, MeteredChange>();
  readonly #newestOf = {
    join: new Map<string, MeteredChange>(),
    leave: new Map<string, MeteredChange>(),
  };

  /** `hops` are those that are waited for. */
  constructor(hops: readonly MeteredHop[]) {
    this.#hops = hops;
  }

  /** The change is about to be written; a hop can show it before its writer has the answer. */
  begin(series: string, address: string, direction: Direction): void {
    const change = { series, direction, acceptedAt: undefined, seenAt: new Map() };
    this.#changes.push(change);
    this.#newest.set(address, change);
    this.#newestOf[direction].set(address, change);
  }

  /** A witness of the API server received it; the earliest counts. */
  accepted(address: string, direction: Direction, at: MonotonicMs): void {
    const change = this.#newestOf[direction].get(address);
    if (change !== undefined) change.acceptedAt ??= at;
  }

  seen(hop: MeteredHop, address: string, direction: Direction, at: MonotonicMs): void {
    const change = this.#newestOf[direction].get(address);
    if (change !== undefined && !change.seenAt.has(hop)) change.seenAt.set(hop, at);
  }

  /** How many endpoints are not everywhere as their newest change has them. */
  get outstanding(): number {
    const newest = [...this.#newest.values()];
    return newest.filter(({ seenAt }) => this.#hops.some((hop) => !seenAt.has(hop))).length;
  }

  lags(series: string, hop: MeteredHop, direction: Direction): HopLags {
    const lagsMs: number[] = [];
    let unseen = 0;
    for (const change of this.#changes) {
      if (change.series !== series || change.direction !== direction) continue;
      const seenAt = change.seenAt.get(hop);
      if (change.acceptedAt === undefined || seenAt === undefined) unseen += 1;
      else lagsMs.push(elapsedMs(change.acceptedAt, seenAt));
    }
    return { lagsMs, unseen };
  }
}
