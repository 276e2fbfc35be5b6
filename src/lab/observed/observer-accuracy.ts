// How right an observer was, by the ledger: whether it saw every change once and nothing else, how
// far its lags were off at each hop, and whether it finds the same hop late. Over all stages of a play.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Journey } from "../../timeline/journey.ts";
import { type Hop, hops } from "../../timeline/witness.ts";
import { type HopChange, placeOf } from "./hop-ledger.ts";
import { slowestHop } from "./slowest-hop.ts";
import { type ShownChange, type ShownTime, trueChanges } from "./true-changes.ts";

export interface ObserverAccuracy {
  /** That happened, by the ledger. */
  readonly changes: number;
  /** Times at a hop that the ledger has and the observer does not, and the other way round. */
  readonly missed: number;
  readonly invented: number;
  readonly hops: readonly HopAccuracy[];
  /** Where the time of slow changes went on stock's way; null when none was slow. */
  readonly slowestHop: { readonly observed: Hop | null; readonly ledger: Hop | null };
}

/** By how much its lags differ from the ledger's, either way. */
export interface HopAccuracy {
  readonly hop: Hop;
  readonly compared: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface ObservedPlay {
  /** Every journey of the service, also those that are not over. */
  readonly journeys: readonly Journey[];
  readonly ledger: readonly HopChange[];
  /** Nothing was under way then; what was before does not count. */
  readonly since: MonotonicMs;
}

export class AccuracyCounters {
  readonly #errors = new Map<Hop, number[]>();
  readonly #observed: ShownChange[] = [];
  readonly #true: ShownChange[] = [];
  #missed = 0;
  #invented = 0;

  /** Adds what happened on one stage. */
  add({ journeys, ledger, since }: ObservedPlay): void {
    const observed = journeys.filter(isChange).map(shownBy).filter(isSince(since)).sort(byOrigin);
    const really = trueChanges(ledger.filter(({ at }) => at >= since));
    this.#observed.push(...observed);
    this.#true.push(...really);
    const left = [...observed];
    for (const change of really) {
      const index = left.findIndex((one) => isSameEndpoint(one, change));
      const [found] = index === -1 ? [] : left.splice(index, 1);
      this.#compare(change, found);
    }
    for (const { times } of left) this.#invented += times.size;
  }

  result(): ObserverAccuracy {
    return {
      changes: this.#true.length,
      missed: this.#missed,
      invented: this.#invented,
      hops: hops.flatMap((hop) => {
        const errors = this.#errors.get(hop)?.sort((a, b) => a - b) ?? [];
        return errors.length === 0 ? [] : [{ hop, ...quantiles(errors) }];
      }),
      slowestHop: {
        observed: slowestHop(this.#observed) ?? null,
        ledger: slowestHop(this.#true) ?? null,
      },
    };
  }

  #compare(change: ShownChange, found: ShownChange | undefined): void {
    for (const [place, { hop, at }] of change.times) {
      const shown = found?.times.get(place);
      if (found === undefined || shown === undefined) {
        this.#missed += 1;
        continue;
      }
      const errors = this.#errors.get(hop) ?? [];
      this.#errors.set(hop, errors);
      errors.push(Math.abs(shown.at - found.origin - (at - change.origin)));
    }
    for (const place of found?.times.keys() ?? []) {
      if (!change.times.has(place)) this.#invented += 1;
    }
  }
}

/** A replica that changed its mind has shown nothing that happened to the pods. */
function isChange({ outcome }: Journey): boolean {
  return outcome !== "withdrawn";
}

function shownBy({ endpoint, direction, origin, hops: all }: Journey): ShownChange {
  const times = new Map<string, ShownTime>();
  for (const { hop, witness, state } of all) {
    if (state.type !== "shown") continue;
    const at = (origin.at + state.lagMs) as MonotonicMs;
    times.set(placeOf({ hop, witness }), { hop, witness, at });
  }
  return { address: endpoint.address, direction, origin: origin.at, times };
}

function isSince(since: MonotonicMs): (change: ShownChange) => boolean {
  return ({ origin }) => origin >= since;
}

function byOrigin(a: ShownChange, b: ShownChange): number {
  return a.origin - b.origin;
}

function isSameEndpoint(a: ShownChange, b: ShownChange): boolean {
  return a.address === b.address && a.direction === b.direction;
}

/** Of sorted numbers, at least one. */
function quantiles(sorted: readonly number[]): Omit<HopAccuracy, "hop"> {
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { compared: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
