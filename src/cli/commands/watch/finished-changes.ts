// Changes that are over, on their way to the terminal. A few a second are shown one by one; when
// there are more, those that are alike become one line. Slow ones are shown by themselves, up to a
// bound that no eye follows. Nothing waits longer than a second.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { Hop } from "../../../timeline/witness.ts";
import type { ChangeGroup } from "./change-line.ts";
import { judgedLag } from "./hop-cell.ts";
import { groupKey, isAwaited } from "./in-flight.ts";

export type FinishedLine =
  | { readonly type: "change"; readonly journey: Journey }
  | { readonly type: "group"; readonly group: ChangeGroup }
  /** So many more changes, of so many services. */
  | { readonly type: "more"; readonly changes: number; readonly services: number };

/** What a person can read as it passes. */
const linesASecond = 10;

/** A page: whoever sees so many slow changes in a second has understood. */
const slowLinesASecond = 40;

const groupLinesASecond = 20;

const secondMs = 1_000;

interface OpenGroup {
  /** All but the first are only counted. */
  readonly first: Journey;
  count: number;
  since: MonotonicMs;
  readonly longestMs: Map<Hop, number>;
  /** Where some of them may have taken longer than is said. */
  readonly atLeast: Set<Hop>;
}

export class FinishedChanges {
  #ready: FinishedLine[] = [];
  readonly #groups = new Map<string, OpenGroup>();
  #secondBegan: MonotonicMs | undefined;
  #shown = 0;
  #shownSlow = 0;

  add(journey: Journey, options: { readonly now: MonotonicMs; readonly isSlow: boolean }): void {
    this.#turn(options.now);
    const isRoom = options.isSlow ? this.#shownSlow < slowLinesASecond : this.#shown < linesASecond;
    if (!isRoom) {
      this.#group(journey);
      return;
    }
    if (options.isSlow) this.#shownSlow += 1;
    else this.#shown += 1;
    this.#ready.push({ type: "change", journey });
  }

  /** What is to be shown now. */
  take(now: MonotonicMs): readonly FinishedLine[] {
    this.#turn(now);
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Everything, because nothing comes after. */
  takeAll(): readonly FinishedLine[] {
    this.#closeGroups();
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  #turn(now: MonotonicMs): void {
    if (this.#secondBegan !== undefined && elapsedMs(this.#secondBegan, now) < secondMs) return;
    this.#secondBegan = now;
    this.#shown = 0;
    this.#shownSlow = 0;
    this.#closeGroups();
  }

  #closeGroups(): void {
    const groups = [...this.#groups.values()].sort((a, b) => b.count - a.count);
    this.#groups.clear();
    for (const group of groups.slice(0, groupLinesASecond)) this.#ready.push(lineOf(group));
    const rest = groups.slice(groupLinesASecond);
    if (rest.length === 0) return;
    const changes = rest.reduce((sum, { count }) => sum + count, 0);
    const services = new Set(rest.map(({ first }) => first.endpoint.service)).size;
    this.#ready.push({ type: "more", changes, services });
  }

  #group(journey: Journey): void {
    const key = groupKey(journey);
    const group = this.#groups.get(key) ?? {
      first: journey,
      count: 0,
      since: journey.origin.at,
      longestMs: new Map(),
      atLeast: new Set(),
    };
    this.#groups.set(key, group);
    group.count += 1;
    if (journey.origin.at < group.since) group.since = journey.origin.at;
    for (const { hop, state } of journey.hops) {
      if (state.type !== "shown") continue;
      const { ms, isLeast } = judgedLag(state);
      group.longestMs.set(hop, Math.max(group.longestMs.get(hop) ?? 0, ms));
      if (isLeast) group.atLeast.add(hop);
    }
  }
}

function lineOf({ first, ...group }: OpenGroup): FinishedLine {
  if (group.count === 1) return { type: "change", journey: first };
  const { endpoint, direction, cause = "?" } = first;
  const { service, cluster = "" } = endpoint;
  return { type: "group", group: { ...group, cluster, service, direction, cause } };
}

// When a change is worth its line. Mostly when it is over. One that every hop has shown is kept for a
// minute or more to hear of requests to its address; nobody should wait that long to read of it, so
// it is told after some seconds, and once more only if further requests have failed since.

/** Proxies write their logs some seconds late. */
const tellAfterMs = 5_000;

interface Settled {
  journey: Journey;
  readonly since: MonotonicMs;
}

/** What is known of a change by now: requests to its address are not told one by one. */
type Latest = (journey: Journey) => Journey;

export class SettledChanges {
  /** By id, those that are not told yet, in the order in which they settled. */
  readonly #untold = new Map<number, Settled>();
  /** By id, how many requests had failed when it was told. */
  readonly #told = new Map<number, number>();

  /** The change that is to be told at once. */
  onEvent({ type, journey }: JourneyEvent, now: MonotonicMs): Journey | undefined {
    const { id } = journey;
    const told = this.#told.get(id);
    if (type !== "over") {
      const settled = this.#untold.get(id);
      if (told !== undefined || isAwaited(journey)) this.#untold.delete(id);
      else if (settled !== undefined) settled.journey = journey;
      else this.#untold.set(id, { journey, since: now });
      return undefined;
    }
    this.#untold.delete(id);
    this.#told.delete(id);
    return told === undefined || told < failedOf(journey) ? journey : undefined;
  }

  /** Those that have waited long enough. */
  due(now: MonotonicMs, latest: Latest): readonly Journey[] {
    const due: Journey[] = [];
    for (const [id, { journey, since }] of this.#untold) {
      if (elapsedMs(since, now) < tellAfterMs) break;
      const told = latest(journey);
      this.#untold.delete(id);
      this.#told.set(id, failedOf(told));
      due.push(told);
    }
    return due;
  }

  /** All that are not told yet, because nothing comes after. */
  takeAll(latest: Latest): readonly Journey[] {
    const untold = [...this.#untold.values()].map(({ journey }) => latest(journey));
    this.#untold.clear();
    return untold;
  }

  /** The oldest that are not told yet, at most so many. */
  oldest(most: number, latest: Latest): readonly Journey[] {
    return [...this.#untold.values()].slice(0, most).map(({ journey }) => latest(journey));
  }
}

function failedOf({ traffic }: Journey): number {
  return traffic?.failed ?? 0;
}
