// Limits the lines of finished changes. A few a second are printed one by one; more similar ones
// become one line. Slow changes are printed separately, up to a limit. Nothing waits longer than a
// second.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { isAwaited, type Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { Hop } from "../../../timeline/witness.ts";
import type { ChangeGroup } from "./change-line.ts";
import { judgedLag } from "./hop-cell.ts";
import { groupKey } from "./in-flight.ts";

export type FinishedLine =
  | { readonly type: "change"; readonly journey: Journey }
  | { readonly type: "group"; readonly group: ChangeGroup }
  /** The number of further changes, and of their services. */
  | { readonly type: "more"; readonly changes: number; readonly services: number };

/** A person can read this many a second. */
const linesASecond = 10;

/** One page. */
const slowLinesASecond = 40;

const groupLinesASecond = 20;

const secondMs = 1_000;

interface OpenGroup {
  /** Further changes are only counted. */
  readonly first: Journey;
  count: number;
  since: MonotonicMs;
  readonly longestMs: Map<Hop, number>;
  /** Hops where the real lag may be longer. */
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

  /** The lines to print now. */
  take(now: MonotonicMs): readonly FinishedLine[] {
    this.#turn(now);
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** All remaining lines, at the end. */
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

// Decides when a change is printed: usually when it is over. A change that all hops have shown
// waits up to minutes for requests; it is printed after some seconds, and again if further requests
// failed.

/** Proxies write their logs up to some seconds late. */
const printAfterMs = 5_000;

interface Settled {
  journey: Journey;
  readonly since: MonotonicMs;
}

/** The current state of a change; requests to its address do not cause events. */
type Latest = (journey: Journey) => Journey;

export class SettledChanges {
  /** Changes that are not printed yet, by id, in the order in which they settled. */
  readonly #unprinted = new Map<number, Settled>();
  /** Failed requests at the time of printing, by id. */
  readonly #printed = new Map<number, number>();

  /** Returns the change if it must be printed now. */
  onEvent({ type, journey }: JourneyEvent, now: MonotonicMs): Journey | undefined {
    const { id } = journey;
    const printed = this.#printed.get(id);
    if (type !== "over") {
      const settled = this.#unprinted.get(id);
      if (printed !== undefined || isAwaited(journey)) this.#unprinted.delete(id);
      else if (settled !== undefined) settled.journey = journey;
      else this.#unprinted.set(id, { journey, since: now });
      return undefined;
    }
    this.#unprinted.delete(id);
    this.#printed.delete(id);
    return printed === undefined || printed < failedOf(journey) ? journey : undefined;
  }

  /** Changes that have waited long enough. */
  due(now: MonotonicMs, latest: Latest): readonly Journey[] {
    const due: Journey[] = [];
    for (const [id, { journey, since }] of this.#unprinted) {
      if (elapsedMs(since, now) < printAfterMs) break;
      const printed = latest(journey);
      this.#unprinted.delete(id);
      this.#printed.set(id, failedOf(printed));
      due.push(printed);
    }
    return due;
  }

  /** All remaining changes, at the end. */
  takeAll(latest: Latest): readonly Journey[] {
    const unprinted = [...this.#unprinted.values()].map(({ journey }) => latest(journey));
    this.#unprinted.clear();
    return unprinted;
  }

  /** The oldest changes that are not printed yet. */
  oldest(most: number, latest: Latest): readonly Journey[] {
    return [...this.#unprinted.values()].slice(0, most).map(({ journey }) => latest(journey));
  }
}

function failedOf({ traffic }: Journey): number {
  return traffic?.failed ?? 0;
}
