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
    const case_ = {
      run,
      made: key.split(" ")[1] === "shop/ext" ? "published" : "pod",
      delivered: deliveries.get(key) ?? [],
      happened: (happened.get(key) ?? []).filter(
        ({ at }) => at >= run.startedAt && at <= run.endedAt,
      ),
      journeys: (found.get(key) ?? []).toSorted((a, b) => a.id - b.id),
    } as const;
    try {
      judgeAny(case_);
      if (!isPrompt(case_)) continue;
      exact += 1;
      judgeExact(case_);
    } catch (cause) {
      throw new Error(storyOf(key, case_), { cause });
    }
  }
  return { endpoints: deliveries.size, exact, journeys: journeys.length };
}

/** One endpoint in one run. */
interface Case {
  readonly run: ProofRun;
  readonly made: Hop;
  readonly delivered: readonly ToldChange[];
  readonly happened: readonly ToldChange[];
  readonly journeys: readonly Journey[];
}

function judgeAny({ made, delivered, happened, journeys }: Case): void {
  const real = journeys.filter(({ outcome }) => outcome !== "withdrawn");
  const left = delivered.filter(({ how }) => how !== "baseline").map(markOf);
  for (const mark of journeys.flatMap(marksOf)) {
    const index = left.indexOf(mark);
    expect(left, "a time that was never delivered, or was told before").toContain(mark);
    left.splice(index, 1);
  }
  for (const [index, { direction }] of real.entries()) {
    if (index > 0) expect(direction).not.toBe(real[index - 1]?.direction);
  }
  const began = real.filter(({ origin }) => origin.beforeStart !== true);
  const changes = happened.filter(({ hop }) => hop === made).length;
  expect(began.length, "more journeys than changes").toBeLessThanOrEqual(changes);
  for (const { origin } of began) {
    if (origin.notBefore === undefined) continue;
    const isPossible = happened.some(
      ({ at }) => at <= origin.at && at >= (origin.notBefore ?? origin.at),
    );
    expect(isPossible, "nothing happened between these instants").toBe(true);
  }
}

function judgeExact({ made, delivered, journeys }: Case): void {
  const changes = delivered.filter(({ how }) => how !== "baseline").map(asHopChange);
  const expected = trueChanges(changes, made).map(({ direction, times }) => ({
    direction,
    marks: [...times].map(([place, { at }]) => `${place} ${direction} ${at}`).sort(),
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
function isPrompt({ run, delivered, happened }: Case): boolean {
  const places = new Set(happened.map(placeOf));
  const isBaselineAlike = new Set(delivered.filter(isBaseline).map(({ direction }) => direction));
  if (isBaselineAlike.size > 1) return false;
  for (const place of places) {
    const real = happened.filter((one) => placeOf(one) === place);
    const heard = delivered.filter((one) => placeOf(one) === place && !isBaseline(one));
    if (heard.length !== real.length) return false;
    for (const [index, { at, how, direction }] of heard.entries()) {
      const happenedAt = real[index];
      if (how !== "event" || happenedAt === undefined) return false;
      if (direction !== happenedAt.direction || at - happenedAt.at > promptMs) return false;
    }
  }
  return run.observer !== undefined;
}

function isBaseline({ how }: ToldChange): boolean {
  return how === "baseline";
}

function placeOf({ hop, witness }: Pick<ToldChange, "hop" | "witness">): string {
  return `${hop} ${witness}`;
}

function markOf({ direction, at, ...place }: ToldChange): string {
  return `${placeOf(place)} ${direction} ${at}`;
}

function marksOf({ origin, direction, hops }: Journey): readonly string[] {
  return hops.flatMap(({ hop, witness, state }) =>
    state.type === "shown" ? [`${hop} ${witness} ${direction} ${origin.at + state.lagMs}`] : [],
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
function storyOf(key: string, { happened, delivered, journeys, run }: Case): string {
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
