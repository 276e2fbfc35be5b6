// The oracle of the proof: what the changes of one run were, worked out by brute force from what really
// happened, and whether the journeys of an observer say the same. It shares no code and no constant with
// the timeline.
//
// The pods make the changes. Whatever else happened at a place in the world shows the latest change of its
// direction that had happened by then, because controllers and proxies act on how things are; that is told
// from true times, in which causes come before effects. The observer has only the times of deliveries.
import { expect } from "vitest";
import type { Journey } from "../../src/timeline/journey.ts";
import type { Direction } from "../../src/timeline/witness.ts";
import {
  byKey,
  type Case,
  casesOf,
  isBaseline,
  knowsPods,
  markOf,
  marksOf,
  placeOf,
  storyOf,
} from "./proof-case.ts";
import type { ProofRun } from "./proof-run.ts";
import type { ProofWorld } from "./proof-world.ts";
import { fromKey, placeOfKey, type ToldChange } from "./told-endpoints.ts";
import { judgeRequests } from "./traffic-judge.ts";

export interface Judged {
  /** How many endpoints there were. */
  readonly endpoints: number;
  /** Of them, those whose journeys had to be exact, and were. */
  readonly exact: number;
  /** How many journeys had no known beginning. */
  readonly disagreements: number;
}

export function judgeRun(world: ProofWorld, run: ProofRun): Judged {
  const cases = casesOf(world, run);
  const byPlace = byKey(cases, ({ key }) => placeOfKey(key));
  const judged = { endpoints: cases.length, exact: 0, disagreements: 0 };
  for (const one of cases) {
    const atPlace = byPlace.get(placeOfKey(one.key)) ?? [];
    try {
      judgeMarks(one);
      judgeOrder(one);
      judgeInstants(one, atPlace);
      judgeDisagreements(one, atPlace);
      judged.disagreements += one.journeys.filter(hasNoBeginning).length;
      if (!world.isCalm || !isDeliveredAsItWas(one)) continue;
      judgeExact(one, atPlace);
      judgeRequests(one);
      judged.exact += 1;
    } catch (cause) {
      throw new Error(storyOf(one), { cause });
    }
  }
  judgeAddresses(cases);
  return judged;
}

/** Guarantee 1: no time in a journey is invented: it was delivered, of this endpoint, and counts once. */
function judgeMarks({ run, delivered, addressed, journeys }: Case): void {
  const own = delivered.filter((one) => !isBaseline(one) && knowsPods(run, one.witness));
  const left = [...own.map(markOf), ...new Set(addressed.map(markOf))];
  for (const mark of journeys.flatMap(marksOf)) {
    const index = left.indexOf(mark);
    expect(left, "a time that was never delivered, or counts twice").toContain(mark);
    left.splice(index, 1);
  }
}

/** What was said of an address, without saying whose it is, counts for one endpoint only. */
function judgeAddresses(cases: readonly Case[]): void {
  const owners = new Map<string, string>();
  for (const { key, run, journeys } of cases) {
    for (const { hops, ...journey } of journeys) {
      const byAddress = hops.filter(
        ({ hop, witness }) => hop === "routed" && !knowsPods(run, witness),
      );
      for (const mark of marksOf({ ...journey, hops: byAddress })) {
        const word = `${placeOfKey(key)} ${mark}`;
        expect(owners.get(word), `${word} counts for ${key} too`).toBeUndefined();
        owners.set(word, key);
      }
    }
  }
}

/**
 * Guarantee 2: one journey a change. Joins and leaves alternate, there are no more of them than the
 * cluster's own watches delivered, and they end as the cluster was last seen to be.
 */
function judgeOrder({ key, made, run, delivered, journeys }: Case): void {
  const begun = journeys.filter((one) => !hasNoBeginning(one));
  for (const [index, { direction }] of begun.entries()) {
    if (index > 0) expect(direction, "twice the same").not.toBe(begun[index - 1]?.direction);
  }
  const { cluster } = fromKey(key);
  const steps = delivered.filter(({ hop, witness }) => hop === made && witness === cluster);
  const changes = steps.filter((one) => !isBaseline(one));
  // Before the cluster itself is listed, proxies and copies are all that is known.
  const listedAt = run.told.get(cluster)?.beganAt(made) ?? Number.POSITIVE_INFINITY;
  const since = begun.filter(({ origin }) => origin.at >= listedAt);
  expect(since.length, "more journeys than changes").toBeLessThanOrEqual(changes.length);
  const first = steps.some(isBaseline) ? "join" : "leave";
  const last = begun.at(-1)?.direction ?? first;
  expect(last, "how it ended").toBe(steps.at(-1)?.direction ?? first);
}

/** Guarantee 3: where a journey says between which instants it began, it did. */
function judgeInstants({ made, journeys, key }: Case, atPlace: readonly Case[]): void {
  for (const { origin, direction, outcome } of journeys) {
    const { at: last, notBefore: first, beforeStart } = origin;
    if (first === undefined || beforeStart === true || outcome === "pending") continue;
    const own = atPlace.find((one) => one.key === key);
    const happened = [...(own?.happened ?? []), ...(own?.rerouted ?? [])];
    const isWithin = ({ at }: ToldChange): boolean => at >= first && at <= last;
    const isIt = (one: ToldChange): boolean => one.direction === direction && isWithin(one);
    const isCrossed = own !== undefined && !isMadeAsItWas(own, made);
    expect(isCrossed || happened.some(isIt), "nothing happened between these instants").toBe(true);
  }
}

/** Guarantee 4: where a journey has no known beginning, witnesses did disagree when it was opened. */
function judgeDisagreements({ run, journeys, ...one }: Case, atPlace: readonly Case[]): void {
  for (const { origin } of journeys.filter(hasNoBeginning)) {
    const words = [
      ...one.delivered,
      ...one.addressed,
      ...atPlace.flatMap((other) => other.delivered),
    ];
    const states = new Map<string, Direction>();
    for (const word of words) {
      if (word.at <= origin.at) states.set(`${placeOf(word)} ${word.key}`, word.direction);
    }
    const shown = new Set(states.values());
    // A witness that is expected to show it and has not shown it ever disagrees by its silence.
    const isAlone = shown.size === 1 && shown.has("join");
    expect(shown.size > 1 || isAlone, "all agreed").toBe(true);
  }
}

/** Guarantee 5: where nothing broke, journeys are exactly the changes, with each witness's own time. */
function judgeExact(one: Case, atPlace: readonly Case[]): void {
  const { run, made, journeys } = one;
  const changes = madeChanges(one);
  const times = changes.map(() => new Set<string>());
  for (const [index, change] of changes.entries()) {
    const word = nthDelivered(one, change, index);
    if (word !== undefined) times[index]?.add(markOf(word));
  }
  const elsewhere = one.happened.filter(
    ({ hop, witness }) => hop !== made && knowsPods(run, witness),
  );
  for (const steps of byKey(elsewhere, placeOf).values()) {
    assign(steps, changes, one.delivered, times);
  }
  const flips = flipsOf(atPlace);
  for (const steps of byKey(one.rerouted, placeOf).values()) {
    const shown = steps.map(() => new Set<string>());
    const at = flips.map(() => new Set<string>());
    assign(inOrder(steps), flips, one.addressed, at);
    void shown;
    for (const [index, flip] of flips.entries()) {
      const own = changes.findIndex((change) => flip.key === one.key && change.at === flip.at);
      for (const mark of at[index] ?? []) times[own]?.add(mark);
    }
  }
  const isKnownLate = (mark: string): boolean => isOfNewReplica(mark, one, changes, times);
  const expected = changes.map(({ direction }, index) => ({
    direction,
    marks: [...(times[index] ?? [])].filter((mark) => !isKnownLate(mark)).sort(),
  }));
  const found = journeys
    .filter((journey) => !hasNoBeginning(journey))
    .map((journey) => ({
      direction: journey.direction,
      marks: marksOf(journey)
        .filter((mark) => !isKnownLate(mark))
        .sort(),
    }));
  expect(found.map(lineOf).join("\n")).toBe(expected.map(lineOf).join("\n"));
  for (const { origin, hops } of journeys.filter((journey) => !hasNoBeginning(journey))) {
    const lags = hops.flatMap(({ state }) => (state.type === "shown" ? [state.lagMs] : []));
    expect(Math.min(...lags)).toBe(0);
    expect(origin.beforeStart).toBeUndefined();
  }
}

/** Which change each step of one place shows, by true times; the mark is that of its delivery. */
function assign(
  steps: readonly ToldChange[],
  changes: readonly ToldChange[],
  delivered: readonly ToldChange[],
  times: readonly Set<string>[],
): void {
  const [first] = steps;
  if (first === undefined) return;
  const words = delivered.filter((word) => placeOf(word) === placeOf(first) && !isBaseline(word));
  let done = -1;
  for (const [index, step] of inOrder(steps).entries()) {
    const owner = changes.findLastIndex(
      ({ direction, at }, place) => place > done && direction === step.direction && at <= step.at,
    );
    const word = words[index];
    if (owner === -1 || word === undefined) continue;
    done = owner;
    times[owner]?.add(markOf(word));
  }
}

/** True changes at the hop where they are made, while it was observed. */
function madeChanges({ made, happened }: Case): readonly ToldChange[] {
  return inOrder(happened.filter(({ hop }) => hop === made));
}

/** Those after which another answer holds to whether anybody has the address, in any cluster. */
function flipsOf(atPlace: readonly Case[]): readonly ToldChange[] {
  const all = inOrder(atPlace.flatMap(madeChanges));
  const holders = new Set(atPlace.filter((one) => hadBefore(one)).map(({ key }) => key));
  return all.filter(({ key, direction }) => {
    const before = holders.size > 0;
    if (direction === "join") holders.add(key);
    else holders.delete(key);
    return before !== holders.size > 0;
  });
}

function hadBefore(one: Case): boolean {
  const [first] = madeChanges(one);
  if (first !== undefined) return first.direction === "leave";
  return one.delivered.some((word) => word.hop === one.made && isBaseline(word));
}

function nthDelivered({ made, delivered }: Case, _: ToldChange, index: number) {
  return delivered.filter((word) => word.hop === made && !isBaseline(word))[index];
}

/** Whether the cluster's own watches delivered its changes as they were. */
function isMadeAsItWas(one: Case, made: Case["made"]): boolean {
  const words = one.delivered.filter((word) => word.hop === made && !isBaseline(word));
  const changes = one.happened.filter(({ hop }) => hop === made);
  if (words.length !== changes.length) return false;
  return words.every(({ direction }, index) => direction === changes[index]?.direction);
}

/** Whether everything that happened was delivered, place by place, and no replica began within. */
function isDeliveredAsItWas(one: Case): boolean {
  const { delivered, happened, run } = one;
  const words = byKey(
    delivered.filter((word) => !isBaseline(word) && knowsPods(run, word.witness)),
    placeOf,
  );
  const steps = byKey(
    happened.filter((step) => knowsPods(run, step.witness)),
    placeOf,
  );
  const places = new Set([...words.keys(), ...steps.keys()]);
  return [...places].every((place) => {
    const told = words.get(place) ?? [];
    const real = steps.get(place) ?? [];
    return (
      told.length === real.length &&
      told.every(({ direction }, index) => direction === real[index]?.direction)
    );
  });
}

/** A replica that came after a change may find it over: whether it still counts is not said. */
function isOfNewReplica(
  mark: string,
  { run }: Case,
  changes: readonly ToldChange[],
  times: readonly ReadonlySet<string>[],
): boolean {
  const [hop, name = ""] = mark.split(" ");
  if (hop !== "routed") return false;
  const beganAt = run.replicas.get(name)?.beganAt ?? 0;
  const index = times.findIndex((marks) => marks.has(mark));
  const change = changes[index];
  return change === undefined ? false : change.at <= beganAt;
}

function hasNoBeginning({ origin }: Journey): boolean {
  return origin.beforeStart === true;
}

function inOrder(changes: readonly ToldChange[]): readonly ToldChange[] {
  return changes.toSorted((a, b) => a.at - b.at);
}

function lineOf({
  direction,
  marks,
}: {
  readonly direction: Direction;
  readonly marks: readonly string[];
}) {
  return `${direction}: ${marks.join(", ")}`;
}
