// Changes that are over, on their way to the terminal. A few a second are shown one by one; when
// there are more, those that are alike become one line. Slow ones are shown by themselves, up to a
// bound that no eye follows. Nothing waits longer than a second.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Hop } from "../../../timeline/witness.ts";
import type { ChangeGroup } from "./change-line.ts";
import { judgedLag } from "./hop-cell.ts";
import { groupKey } from "./in-flight.ts";

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
