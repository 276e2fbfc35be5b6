// Only for tests: judges the journeys of one run of an observer by what was delivered to it and by
// what really happened, and by nothing else that it says. Of an endpoint whose every change arrived
// promptly, the journeys must be exactly those that follow from the deliveries: one a change, with
// each witness's own time. Where deliveries were late or left something out, what a journey says must
// still be something that was delivered, told once, and no more than happened.
import { expect } from "vitest";
import type { Journey } from "../../src/timeline/journey.ts";
import { agreesAtStart, doubtOf, isToldInTime, judgeExact, togetherMs } from "./exact-judge.ts";
import {
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

/** A connection that stood still and is slow tells by then what has gathered. */
const stalledMs = 3_000;

export interface Judged {
  /** How many endpoints there were something to say of. */
  readonly endpoints: number;
  /** Of them, those whose every change arrived promptly, so that their journeys had to be exact. */
  readonly exact: number;
  /** Those that were told in a way from which nobody could know more. */
  readonly untellable: number;
}

export function judgeRun(world: ProofWorld, run: ProofRun): Judged {
  const cases = casesOf(world, run);
  const judged = { endpoints: cases.length, exact: 0, untellable: 0 };
  for (const one of cases) {
    try {
      judgeAny(one);
      const doubt = doubtOf(one);
      if (doubt === "untellable") judged.untellable += 1;
      if (doubt !== undefined) continue;
      judged.exact += 1;
      const own = { ...one, journeys: one.journeys.filter((each) => !isAnothers(each, one)) };
      judgeExact(own);
      judgeRequests(own);
    } catch (cause) {
      throw new Error(storyOf(one), { cause });
    }
  }
  judgeAddresses(cases);
  return judged;
}

/** What was said of an address, without saying whose it is, is told of one endpoint only. */
function judgeAddresses(cases: readonly Case[]): void {
  const told = new Map<string, string>();
  for (const one of cases) {
    for (const journey of one.journeys) {
      if (journey.outcome === "withdrawn") continue;
      const { hops } = journey;
      const byAddress = hops.filter(
        ({ hop, witness }) => hop === "routed" && !knowsPods(one.run, witness),
      );
      for (const mark of marksOf({ ...journey, hops: byAddress })) {
        const word = `${placeOfKey(one.key)} ${mark}`;
        expect(told.get(word), `${word} is told of ${one.key} too`).toBeUndefined();
        told.set(word, one.key);
      }
    }
  }
}

function judgeAny(one: Case): void {
  const { key, run, made, delivered, happened, journeys } = one;
  const kept = journeys.filter(({ outcome }) => outcome !== "withdrawn");
  const others = kept.filter((journey) => isAnothers(journey, one));
  const real = kept.filter((journey) => !isOnlyRouted(journey) && !others.includes(journey));
  const left = wordsOn(one);
  for (const mark of journeys.flatMap(marksOf)) {
    const index = left.indexOf(mark);
    expect(left, "a time that was never delivered, or was told before").toContain(mark);
    left.splice(index, 1);
  }
  judgeOrder(kept.filter(hasBegun), one);
  const began = real.filter(hasBegun);
  const isMade = ({ hop, how }: ToldChange): boolean => hop === made && how !== "baseline";
  const really = happened.filter(isMade);
  const told = delivered.filter(isMade);
  // Where two watches make something of nothing, each of their words may be taken for a change.
  const known = really.length + (neverWere(told, really).length > 0 ? told.length : 0);
  // Before its own cluster is listed, another can be all that tells of it, also late.
  const listedAt = run.told.get(fromKey(key).cluster)?.beganAt(made) ?? 0;
  const isOfBefore = (one: ToldChange): boolean =>
    one.at < listedAt ||
    (one.how !== "event" &&
      happened.some(
        (real) =>
          placeOf(real) === placeOf(one) && real.direction === one.direction && real.at < listedAt,
      ));
  const before = delivered.filter((one) => !isBaseline(one) && !isMade(one) && isOfBefore(one));
  // Whose an address is that no cluster has told of nobody knows.
  const addressed = fromKey(key).cluster === "" ? one.addressed.length : 0;
  // Where another comes and goes unnoticed, its own end may seem to be the other's.
  const changes = known + before.length + addressed + others.length;
  if (agreesAtStart({ key, delivered })) {
    expect(began.length, "more journeys than changes").toBeLessThanOrEqual(changes);
    const least = toldApart(told, happened);
    // What only replicas show may stand for it: all that its cluster told may be weighed still.
    const found = kept.length + one.unnamed.length;
    expect(found, "fewer journeys than changes").toBeGreaterThanOrEqual(least);
  }
  for (const journey of began) {
    // Of what is pending when the observation ends the rest may be on its way.
    if (journey.outcome !== "pending") judgeInstant(journey, one);
  }
}

/** Joins and leaves alternate; one between may be over since before anybody said whose it was. */
function judgeOrder(kept: readonly Journey[], { unnamed }: Case): void {
  for (const [index, { id, direction }] of kept.entries()) {
    const before = kept[index - 1];
    if (before === undefined || unnamed.some((one) => one.id > before.id && one.id < id)) continue;
    expect(direction).not.toBe(before.direction);
  }
}

/**
 * What was told and never was: of a pod and of its service two watches tell, and where one of them is
 * late both together can make a change of nothing.
 */
function neverWere(
  told: readonly ToldChange[],
  happened: readonly ToldChange[],
): readonly ToldChange[] {
  let from = 0;
  return told.filter((word) => {
    const later = happened.slice(from);
    const inTime = later.findIndex((one) => isToldInTime(word, [one]));
    const index =
      inTime === -1
        ? later.findIndex(({ direction, at }) => direction === word.direction && at <= word.at)
        : inTime;
    from += index + 1;
    return index === -1;
  });
}

/** Where witnesses disagree for no reason that was seen, a journey says that it has no beginning. */
function hasBegun({ origin }: Journey): boolean {
  return origin.beforeStart !== true;
}

/** Replicas alone show it when the observation ends, and may take it back. */
function isOnlyRouted({ outcome, hops }: Journey): boolean {
  const shown = hops.filter(({ state }) => state.type === "shown");
  return outcome === "pending" && shown.every(({ hop }) => hop === "routed");
}

/** Only who knows addresses shows it, and meant another one, of whom nothing else was heard. */
function isAnothers(journey: Journey, { delivered, addressed }: Case): boolean {
  const marks = marksOf(journey);
  const ofAddress = new Set(addressed.map(markOf));
  const own = new Set(delivered.map(markOf));
  return marks.length > 0 && marks.every((mark) => ofAddress.has(mark) && !own.has(mark));
}

/** All that was said of it, or of its address by who does not know whose that is. */
function wordsOn({ run, delivered, addressed }: Case): string[] {
  const own = delivered.filter((one) => !isBaseline(one) && knowsPods(run, one.witness));
  return [...own.map(markOf), ...new Set(addressed.map(markOf))];
}

/**
 * How many changes an observer cannot but know of, from what one place tells in order. What is told
 * at once, late or after a gap, may be parts of what happened at once: of these, how they ended.
 */
function toldApart(told: readonly ToldChange[], happened: readonly ToldChange[]): number {
  let count = 0;
  let together = 0;
  for (const [index, one] of told.entries()) {
    together += 1;
    const next = told[index + 1];
    const isLate = (word: ToldChange): boolean => !isToldInTime(word, happened);
    if (next !== undefined) {
      const lateMs = isLate(one) || isLate(next) ? stalledMs : 0;
      if (next.at - one.at < Math.max(lateMs, togetherMs(one, next))) continue;
    }
    count += together === 1 ? 1 : together % 2;
    together = 0;
  }
  return count;
}

/** What is only known from a list has no instant, but two between which it happened. */
function judgeInstant(
  { origin, direction }: Journey,
  { made, delivered, happened, rerouted }: Case,
): void {
  const { at: last, notBefore: first } = origin;
  const told = delivered.filter(({ at }) => at.toFixed(3) === last.toFixed(3));
  const isListed = told.length > 0 && told.every(({ how }) => how === "list");
  if (isListed) expect(first, "a list does not tell when").toBeDefined();
  if (first === undefined) return;
  const isWithin = ({ at }: ToldChange): boolean => at >= first && at <= last;
  const hasHappened = [...happened, ...rerouted].some(
    (one) => one.direction === direction && isWithin(one),
  );
  const words = delivered.filter((one) => one.hop === made && !isBaseline(one));
  const really = happened.filter(({ hop }) => hop === made);
  const isOfNothing = neverWere(words, really).some(
    (one) => told.includes(one) && one.direction === direction,
  );
  expect(hasHappened || isOfNothing, "nothing happened between these instants").toBe(true);
}
