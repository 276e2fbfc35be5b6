// Changes in flight, oldest first, and groups of similar ones. Groups are updated with every event,
// so showing them costs the same for any number. Changes that only wait for requests are settled
// and counted separately.
import { hasStuckHop, isAwaited, type Journey } from "../../../timeline/journey.ts";
import type { Direction, Hop } from "../../../timeline/witness.ts";

/** Changes in flight of one service in one direction for one cause. */
export interface FlyingGroup {
  readonly cluster: string;
  readonly service: string;
  readonly direction: Direction;
  readonly cause: string;
  readonly count: number;
  /** Changes that every source of the hop has shown; no entry for a hop without sources. */
  readonly shownAt: ReadonlyMap<Hop, number>;
}

interface OpenGroup extends Omit<FlyingGroup, "shownAt"> {
  count: number;
  readonly shownAt: Map<Hop, number>;
}

/** Invariant: the groups count exactly the awaited journeys in their last state. */
export class InFlight {
  readonly #awaited = new Map<number, Journey>();
  /** Only requests may still arrive. */
  readonly #settled = new Map<number, Journey>();
  readonly #groups = new Map<string, OpenGroup>();
  /** Number of stuck changes by hop and direction. */
  readonly #stuckAt = new Map<string, number>();
  #stuck = 0;

  get size(): number {
    return this.#awaited.size;
  }

  /** Changes that only wait for requests. */
  get settled(): number {
    return this.#settled.size;
  }

  /** Changes that are stuck at a hop. */
  get stuck(): number {
    return this.#stuck;
  }

  isAnyStuckAt(hop: Hop, direction: Direction): boolean {
    return (this.#stuckAt.get(`${hop} ${direction}`) ?? 0) > 0;
  }

  has({ id }: Pick<Journey, "id">): boolean {
    return this.#awaited.has(id) || this.#settled.has(id);
  }

  /** By its last state. */
  isStuck({ id }: Pick<Journey, "id">): boolean {
    const journey = this.#awaited.get(id);
    return journey !== undefined && hasStuckHop(journey);
  }

  /** The last state; requests are counted without events. */
  latest(journey: Journey): Journey {
    return this.#settled.get(journey.id) ?? this.#awaited.get(journey.id) ?? journey;
  }

  /** The oldest, at most `most`. */
  oldest(most: number): readonly Journey[] {
    const oldest: Journey[] = [];
    for (const journey of this.#awaited.values()) {
      if (oldest.length >= most) break;
      oldest.push(journey);
    }
    return oldest;
  }

  /** Stuck changes, at most `most`. */
  stuckOnes(most: number): readonly Journey[] {
    const stuck: Journey[] = [];
    for (const journey of this.#awaited.values()) {
      if (stuck.length >= most) break;
      if (hasStuckHop(journey)) stuck.push(journey);
    }
    return stuck;
  }

  /** Largest first. */
  groups(): readonly FlyingGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count);
  }

  set(journey: Journey): void {
    const { id } = journey;
    this.#uncount(id);
    if (isAwaited(journey)) {
      this.#settled.delete(id);
      this.#awaited.set(id, journey);
      this.#count(journey, 1);
    } else {
      this.#awaited.delete(id);
      this.#settled.set(id, journey);
    }
  }

  delete({ id }: Pick<Journey, "id">): void {
    this.#uncount(id);
    this.#awaited.delete(id);
    this.#settled.delete(id);
  }

  #uncount(id: number): void {
    const before = this.#awaited.get(id);
    if (before !== undefined) this.#count(before, -1);
  }

  #count(journey: Journey, by: 1 | -1): void {
    if (hasStuckHop(journey)) this.#stuck += by;
    for (const { hop, state } of journey.hops) {
      if (state.type !== "stuck") continue;
      const place = `${hop} ${journey.direction}`;
      this.#stuckAt.set(place, (this.#stuckAt.get(place) ?? 0) + by);
    }
    const key = groupKey(journey);
    const group = this.#groups.get(key) ?? emptyGroup(journey);
    group.count += by;
    for (const [hop, isShown] of shownHops(journey)) {
      group.shownAt.set(hop, (group.shownAt.get(hop) ?? 0) + (isShown ? by : 0));
    }
    if (group.count === 0) this.#groups.delete(key);
    else this.#groups.set(key, group);
  }
}

export function groupKey({ endpoint, direction, cause }: Journey): string {
  return `${endpoint.cluster ?? ""} ${endpoint.service} ${direction} ${cause ?? ""}`;
}

function emptyGroup({ endpoint, direction, cause }: Journey): OpenGroup {
  return {
    cluster: endpoint.cluster ?? "",
    service: endpoint.service,
    direction,
    cause: cause ?? "?",
    count: 0,
    shownAt: new Map(),
  };
}

/** Each hop that has sources, and whether all of them have shown the change. */
function shownHops({ hops }: Journey): ReadonlyMap<Hop, boolean> {
  const shown = new Map<Hop, boolean>();
  for (const { hop, state } of hops) {
    const isShown = state.type !== "pending" && state.type !== "stuck";
    shown.set(hop, (shown.get(hop) ?? true) && isShown);
  }
  return shown;
}
