// The cost of one change at every size, in turns of the same run: to observe it; to parse and store
// it beforehand; and, as a floor, only to find as many names in a plain map of that size. The floor
// shows the effect of the processor's caches: the more data there is, the less of it is near.
import { atMost, type Figures, median, type Progress, plain } from "./benchmark.ts";
import type { JourneysWorld } from "./journeys-world.ts";

export interface CostsOptions {
  /** By number of pods, the smallest first. */
  readonly worlds: ReadonlyMap<number, JourneysWorld>;
  readonly turns: number;
  readonly changes: number;
}

/** Some at a time are stored and then observed: watches deliver several events in one read. */
const burst = 10;

/** About as many names are looked for when a pod and its slice are stored and observed. */
const lookupsPerChange = 25;

/** Microseconds of processor time for a change, of every turn, by number of pods. */
type Costs = Map<number, number[]>;

export function measureCosts(options: CostsOptions, progress: Progress): Figures {
  const { worlds, turns, changes } = options;
  const observed: Costs = new Map();
  const stored: Costs = new Map();
  const found: Costs = new Map();
  const names = new Map([...worlds.keys()].map((pods) => [pods, new Names(pods)]));
  for (let turn = 0; turn <= turns; turn += 1) {
    progress(`cost of a change, turn ${turn} of ${turns}`);
    for (const [pods, world] of worlds) {
      const { storeMs, observeMs } = takeTurn(world, changes);
      const findMs = names.get(pods)?.find(changes * lookupsPerChange) ?? Number.NaN;
      // The first turn only warms up.
      if (turn === 0) continue;
      append(observed, pods, (observeMs * 1_000) / changes);
      append(stored, pods, (storeMs * 1_000) / changes);
      append(found, pods, (findMs * 1_000) / changes);
    }
  }
  const beside = ofBig(observed).map((cost, turn) => cost / (ofBig(stored)[turn] ?? Number.NaN));
  return {
    ...bySize(observed, "changeMicroseconds", "three hops of one change"),
    ...bySize(stored, "storeMicroseconds", "parse, project and store a pod and its slice"),
    ...bySize(found, "floorMicroseconds", `${lookupsPerChange} names in a map with all pods`),
    floorRatio: plain(median(ratios(found)), "× 1k pods", "what the machine makes of size alone"),
    storeRatio: plain(median(ratios(stored)), "× 1k pods", "parse and store alone"),
    costRatio: atMost(median(ratios(observed)), 2, "× 1k pods", "a change at 100k pods"),
    costBesideStore: atMost(median(beside), 2, "× parse + store", "of the same changes"),
  };
}

/** Processor time and not time, because the machine may be shared; in milliseconds. */
export function timed(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function takeTurn(world: JourneysWorld, changes: number): { storeMs: number; observeMs: number } {
  const made = Array.from({ length: changes }, () => world.makeChange());
  let storeMs = 0;
  let observeMs = 0;
  for (let done = 0; done < made.length; done += burst) {
    let stored: ReturnType<JourneysWorld["store"]>[] = [];
    storeMs += timed(() => {
      stored = made.slice(done, done + burst).map((change) => world.store(change));
    });
    observeMs += timed(() => {
      for (const one of stored) world.observe(one);
    });
  }
  return { storeMs, observeMs };
}

/** Objects by a name, as stores and witnesses have them. */
class Names {
  readonly #byName = new Map<string, { seen: number }>();
  #next = 0;

  constructor(count: number) {
    for (let index = 0; index < count; index += 1) this.#byName.set(nameOf(index), { seen: 0 });
  }

  /** How long it takes to find so many, in milliseconds; the names are new strings, as from JSON. */
  find(count: number): number {
    const names = Array.from({ length: count }, () => {
      this.#next = (this.#next + 7_919) % this.#byName.size;
      return Buffer.from(nameOf(this.#next)).toString("latin1");
    });
    return timed(() => {
      for (const name of names) {
        const one = this.#byName.get(name);
        if (one !== undefined) one.seen += 1;
      }
    });
  }
}

function nameOf(index: number): string {
  return `6f1c9d2e-0b7a-4c55-9a61-${String(index).padStart(12, "0")}`;
}

function bySize(costs: Costs, name: string, note: string): Figures {
  return Object.fromEntries(
    [...costs].map(([pods, all]) => [`${name}${pods / 1_000}k`, plain(median(all), "µs", note)]),
  );
}

/** The largest beside the smallest, turn by turn, so that what else the machine does cancels out. */
function ratios(costs: Costs): readonly number[] {
  const [small = []] = costs.values();
  return ofBig(costs).map((cost, turn) => cost / (small[turn] ?? Number.NaN));
}

function ofBig(costs: Costs): readonly number[] {
  return [...costs.values()].at(-1) ?? [];
}

function append(costs: Costs, pods: number, cost: number): void {
  costs.set(pods, [...(costs.get(pods) ?? []), cost]);
}
