// Which of the ledger's times belong to one change. The pods make the changes; what happens at any
// other place is put down to the pods' latest change before it, or to the next one where the place
// was ahead of the pods, as a replica is that finds out by itself. This is computed from times alone and
// knows nothing of how an observer matches reports. Pure.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Direction, Hop } from "../../timeline/witness.ts";
import { type HopChange, placeOf } from "./hop-ledger.ts";

/** When each place showed one change. */
export interface ShownChange {
  readonly address: string;
  readonly direction: Direction;
  /** The earliest of its times. */
  readonly origin: MonotonicMs;
  /** By hop and witness: `routed stock-1`. */
  readonly times: ReadonlyMap<string, ShownTime>;
}

export interface ShownTime {
  readonly hop: Hop;
  readonly witness: string;
  readonly at: MonotonicMs;
}

interface PodChange {
  readonly change: HopChange;
  readonly times: Map<string, ShownTime>;
}

/**
 * In the order of their origins. A source that changed without the pods has not shown a change.
 * Where a service has no pods, `made` is the hop at which its changes are made.
 */
export function trueChanges(
  ledger: readonly HopChange[],
  made: Hop = "pod",
): readonly ShownChange[] {
  const byAddress = grouped(ledger, ({ address }) => address);
  return byAddress
    .flatMap((one) => changesAtAddress(one, made))
    .sort((a, b) => a.origin - b.origin);
}

function changesAtAddress(ledger: readonly HopChange[], made: Hop): readonly ShownChange[] {
  const changes: readonly PodChange[] = ledger
    .filter(({ hop }) => hop === made)
    .map((change) => ({ change, times: new Map([[placeOf(change), change]]) }));
  const elsewhere = ledger.filter(({ hop }) => hop !== made);
  for (const shown of grouped(elsewhere, placeOf)) assign(shown, changes);
  return changes.map(({ change, times }) => ({
    address: change.address,
    direction: change.direction,
    origin: Math.min(...[...times.values()].map(({ at }) => at)) as MonotonicMs,
    times,
  }));
}

/** A place that has been silent for so long has caught up with the pods. */
const caughtUpMs = 10_000;

/** Assigns the changes that one place showed, in order. */
function assign(shown: readonly HopChange[], changes: readonly PodChange[]): void {
  let done = -1;
  for (const [index, one] of shown.entries()) {
    const isNext = ({ change }: PodChange, place: number): boolean =>
      place > done && change.direction === one.direction;
    const last = changes.findLast(({ change }) => change.at <= one.at)?.change;
    const isCaughtUp = last?.direction !== one.direction && one.at - (last?.at ?? 0) > caughtUpMs;
    const behind = isCaughtUp
      ? -1
      : changes.findLastIndex((to, at) => isNext(to, at) && to.change.at <= one.at);
    const ahead = changes.findIndex((to, at) => isNext(to, at) && to.change.at > one.at);
    const undoneAt = shown[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const isUndone = undoneAt <= (changes[ahead]?.change.at ?? Number.POSITIVE_INFINITY);
    const owner = behind === -1 && !isUndone ? ahead : behind;
    changes[owner]?.times.set(placeOf(one), one);
    done = Math.max(done, owner);
  }
}

/** In the order in which they were. */
function grouped(
  ledger: readonly HopChange[],
  by: (change: HopChange) => string,
): readonly (readonly HopChange[])[] {
  const groups = new Map<string, HopChange[]>();
  for (const change of ledger) {
    const group = groups.get(by(change));
    if (group === undefined) groups.set(by(change), [change]);
    else group.push(change);
  }
  return [...groups.values()];
}
