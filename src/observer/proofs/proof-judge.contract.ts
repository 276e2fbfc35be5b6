// Only for tests: judges the journeys of one run of an observer by what was delivered to it and by
// what really happened, and by nothing else that it says. Of an endpoint whose every change arrived
// promptly, the journeys must be exactly those that follow from the deliveries: one a change, with
// each witness's own time. Where deliveries were late or left something out, what a journey says must
// still be something that was delivered, told once, and no more than happened.
import { expect } from "vitest";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Journey } from "../../journeys/journey.ts";
import type { Hop } from "../../journeys/witness.ts";
import type { HopChange } from "../../lab/observed/hop-ledger.ts";
import { trueChanges } from "../../lab/observed/true-changes.ts";
import type { ProofRun, ProofWorld } from "./proof-world.contract.ts";
import { keyOf, type ToldChange } from "./told-endpoints.contract.ts";

/** A delivery that took longer was held up by a fault. */
const promptMs = 500;

/** What a watch tells in so short a time it tells at once. */
const atOnceMs = 50;

/** What the watches of a cluster that is back tell, one after the other, is told by then. */
const gatheredMs = 33_000;

/** Where an endpoint of each service is when all agree. */
const beginnings: Readonly<Record<string, readonly Hop[]>> = {
  "shop/web": ["pod", "published", "synced"],
  "shop/all": ["pod", "published"],
  "shop/ext": ["published"],
};

export interface Judged {
  readonly endpoints: number;
  /** Of them, those whose every change arrived promptly. */
  readonly exact: number;
  readonly journeys: number;
}

export function judgeRun(world: ProofWorld, run: ProofRun): Judged {
  const journeys = [...run.over, ...run.observer.journeys.pending()];
  const told = [...run.told.values()].flatMap(({ changes }) => changes);
  const deliveries = byKey([...told, ...run.routed], ({ key }) => key);
  const happened = byKey(
    [...world.clusters, world.access].flatMap(({ truth }) => truth.changes),
    ({ key }) => key,
  );
  const found = byKey(journeys, keyOfJourney);
  let exact = 0;
  for (const key of new Set([...deliveries.keys(), ...found.keys()])) {
    const one = {
      key,
      run,
      isCalm: world.isCalm,
      made: key.split(" ")[1] === "shop/ext" ? "published" : "pod",
      delivered: deliveries.get(key) ?? [],
      happened: (happened.get(key) ?? []).filter(
        ({ at }) => at >= run.startedAt && at <= run.endedAt,
      ),
      journeys: (found.get(key) ?? []).toSorted((a, b) => a.id - b.id),
    } as const;
    try {
      judgeAny(one);
      // Of what was pending when the observer ended, something may still have been undecided.
      if (!isPrompt(one) || one.journeys.some(({ outcome }) => outcome === "pending")) continue;
      exact += 1;
      judgeExact(one);
    } catch (cause) {
      throw new Error(storyOf(one), { cause });
    }
  }
  return { endpoints: deliveries.size, exact, journeys: journeys.length };
}

/** One endpoint in one run. */
interface Case {
  readonly key: string;
  readonly run: ProofRun;
  readonly isCalm: boolean;
  readonly made: Hop;
  readonly delivered: readonly ToldChange[];
  readonly happened: readonly ToldChange[];
  readonly journeys: readonly Journey[];
}

function judgeAny({ key, run, made, delivered, happened, journeys }: Case): void {
  const real = journeys.filter(({ outcome }) => outcome !== "withdrawn");
  const left = delivered.filter(({ how }) => how !== "baseline").map(markOf);
  for (const mark of journeys.flatMap(marksOf)) {
    const index = left.indexOf(mark);
    expect(left, "a time that was never delivered, or was told before").toContain(mark);
    left.splice(index, 1);
  }
  // Where witnesses disagree for no reason that was seen, a journey says that it has no beginning.
  const began = real.filter(({ origin }) => origin.beforeStart !== true);
  for (const [index, { direction }] of began.entries()) {
    if (index > 0) expect(direction).not.toBe(began[index - 1]?.direction);
  }
  // Pods that are told in time and services that are told late can make a change that never was.
  const isMade = ({ hop, how }: ToldChange): boolean => hop === made && how !== "baseline";
  const known = Math.max(happened.filter(isMade).length, delivered.filter(isMade).length);
  // Before its own cluster is listed, another can be all that tells of it, also late.
  const listedAt = run.told.get(key.split(" ")[0] ?? "")?.beganAt(made) ?? 0;
  const isOfBefore = (one: ToldChange): boolean =>
    one.at < listedAt ||
    (one.how !== "event" &&
      happened.some(
        (real) =>
          placeOf(real) === placeOf(one) && real.direction === one.direction && real.at < listedAt,
      ));
  const before = delivered.filter((one) => !isBaseline(one) && !isMade(one) && isOfBefore(one));
  const changes = known + before.length;
  if (agreesAtStart({ key, delivered })) {
    expect(began.length, "more journeys than changes").toBeLessThanOrEqual(changes);
    const least = toldApart(delivered.filter(isMade));
    expect(real.length, "fewer journeys than changes").toBeGreaterThanOrEqual(least);
  }
  for (const journey of began) judgeInstant(journey, { made, delivered, happened });
}

/**
 * How many changes an observer cannot but know of, from what one place tells in order. What is told
 * at once, or after a gap, may be parts of what happened at once: of these, how they ended.
 */
function toldApart(told: readonly ToldChange[]): number {
  let count = 0;
  let together = 0;
  for (const [index, one] of told.entries()) {
    together += 1;
    const next = told[index + 1];
    if (next !== undefined && next.at - one.at < togetherMs(one, next)) continue;
    count += together === 1 ? 1 : together % 2;
    together = 0;
  }
  return count;
}

/** Two words of one place that are told within so long may have been told together. */
function togetherMs(one: ToldChange, next: ToldChange): number {
  return one.how === "event" && next.how === "event" ? atOnceMs : gatheredMs;
}

/** What is only known from a list has no instant, but two between which it happened. */
function judgeInstant(
  { origin, direction }: Journey,
  { made, delivered, happened }: Pick<Case, "made" | "delivered" | "happened">,
): void {
  const { at: last, notBefore: first } = origin;
  const told = delivered.filter(({ at }) => at.toFixed(3) === last.toFixed(3));
  const isListed = told.length > 0 && told.every(({ how }) => how === "list");
  if (isListed) expect(first, "a list does not tell when").toBeDefined();
  if (first === undefined) return;
  const isWithin = ({ at }: ToldChange): boolean => at >= first && at <= last;
  const hasHappened = happened.some((one) => one.direction === direction && isWithin(one));
  // What was told in time, for all that its watch knew, another watch can only take back.
  const words = delivered.filter((one) => one.hop === made && !isBaseline(one));
  const index = words.findIndex((one) => told.includes(one) && one.direction === direction);
  const before = words[index - 1];
  const isTakingBack = before?.how === "event" && last - before.at < atOnceMs;
  expect(hasHappened || isTakingBack, "nothing happened between these instants").toBe(true);
}

function judgeExact({ made, delivered, journeys }: Case): void {
  const changes = delivered.filter(({ how }) => how !== "baseline").map(asHopChange);
  const expected = trueChanges(changes, made).map(({ direction, times }) => ({
    direction,
    marks: [...times.values()].map((time) => markOf({ ...time, direction })).sort(),
  }));
  expect(
    journeys.map((journey) => ({
      direction: journey.direction,
      marks: [...marksOf(journey)].sort(),
    })),
  ).toEqual(expected);
  for (const { origin, hops } of journeys) {
    const times = hops.flatMap(({ state }) => (state.type === "shown" ? [state.lagMs] : []));
    expect(Math.min(...times)).toBe(0);
    expect(origin.beforeStart).toBeUndefined();
  }
}

/** Whether all places agreed at the start, and each change reached the observer soon and by a watch. */
function isPrompt({ key, delivered, happened, isCalm }: Case): boolean {
  // Also where nothing happened, and something was delivered all the same.
  const watched = delivered.filter((one) => one.hop !== "routed" && !isBaseline(one));
  const places = new Set([...happened, ...watched].map(placeOf));
  if (!agreesAtStart({ key, delivered })) return false;
  for (const place of places) {
    const real = happened.filter((one) => placeOf(one) === place);
    const heard = delivered.filter((one) => placeOf(one) === place && !isBaseline(one));
    if (heard.length !== real.length) return false;
    for (const [index, { at, how, direction }] of heard.entries()) {
      const happenedAt = real[index];
      if (how === "list" || happenedAt === undefined) return false;
      if (direction !== happenedAt.direction || at - happenedAt.at > promptMs) return false;
      if (!isCalm && mayHaveGathered(heard, index)) return false;
    }
  }
  return true;
}

/**
 * Two changes that one place tells at once, or one soon after the other when its watch has just been
 * opened, are told in the same way when they are old and over: nobody can know which they are.
 */
function mayHaveGathered(heard: readonly ToldChange[], index: number): boolean {
  const [one, next] = heard.slice(index, index + 2);
  if (one === undefined || next === undefined || one.hop === "routed") return false;
  return next.at - one.at < togetherMs(one, next);
}

/** Who begins in the middle of a change cannot tell its end from the next one. */
function agreesAtStart({ key, delivered }: Pick<Case, "key" | "delivered">): boolean {
  const began = new Set(delivered.filter(isBaseline).map(({ hop }) => hop));
  const [, service] = key.split(" ");
  return began.size === 0 || !beginnings[service ?? ""]?.some((hop) => !began.has(hop));
}

function isBaseline({ how }: ToldChange): boolean {
  return how === "baseline";
}

function placeOf({ hop, witness }: Pick<ToldChange, "hop" | "witness">): string {
  return `${hop} ${witness}`;
}

function markOf({
  direction,
  at,
  ...place
}: Pick<ToldChange, "hop" | "witness" | "direction" | "at">): string {
  return `${placeOf(place)} ${direction} ${at.toFixed(3)}`;
}

function marksOf({ origin, direction, hops }: Journey): readonly string[] {
  return hops.flatMap(({ hop, witness, state }) =>
    state.type === "shown"
      ? [markOf({ hop, witness, direction, at: origin.at + state.lagMs })]
      : [],
  );
}

function asHopChange({ hop, witness, key, direction, at }: ToldChange): HopChange {
  return { hop, witness, address: key, direction, at: at as MonotonicMs };
}

function keyOfJourney({ endpoint }: Journey): string {
  const { cluster = "", service, address, port, podUid = "" } = endpoint;
  return keyOf(cluster, service, { address, port, uid: podUid });
}

function byKey<T>(all: readonly T[], key: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group === undefined) groups.set(key(one), [one]);
    else group.push(one);
  }
  return groups;
}

/** All of it, for whoever has to find out. */
function storyOf({ key, happened, delivered, journeys, run }: Case): string {
  const tell = ({ hop, witness, direction, at, how }: ToldChange): string =>
    `${at.toFixed(3)} ${hop} ${witness} ${direction} ${how}`;
  return [
    `${key}, observed from ${run.startedAt} to ${run.endedAt}`,
    "happened:",
    ...happened.map(tell),
    "delivered:",
    ...delivered.map(tell),
    "journeys:",
    ...journeys.flatMap(({ id, direction, origin, hops, outcome }) => [
      `${id} ${direction} ${JSON.stringify(origin)} ${outcome}`,
      ...hops.map(({ hop, witness, state }) => `  ${hop} ${witness} ${JSON.stringify(state)}`),
    ]),
  ].join("\n");
}
