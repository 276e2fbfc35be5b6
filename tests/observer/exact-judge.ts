// Only for tests: of an endpoint whose every change arrived promptly, the journeys must be exactly those
// that follow from the deliveries: one a change, with each witness's own time.
import { expect } from "vitest";
import type { MonotonicMs } from "../../src/environment/clock.ts";
import type { HopChange } from "../../src/lab/observed/hop-ledger.ts";
import { trueChanges } from "../../src/lab/observed/true-changes.ts";
import { type Case, isBaseline, knowsPods, markOf, marksOf, placeOf } from "./proof-case.ts";
import { services } from "./proof-services.ts";
import { fromKey, placeOfKey, type ToldChange } from "./told-endpoints.ts";

/** A delivery that took longer was held up by a fault. */
const promptMs = 500;

/** What a watch tells in so short a time it tells at once. */
export const atOnceMs = 50;

/** What the watches of a cluster that is back tell, one after the other, is told by then. */
const gatheredMs = 33_000;

/** Until a change has come to everybody who shows it. */
const everywhereMs = 10_000;

/** Why an endpoint is not judged exactly; undefined when it is. */
export type Doubt = "late" | "untellable";

export function doubtOf(one: Case): Doubt | undefined {
  // Of what was pending when the observer ended, something may still have been undecided.
  if (one.journeys.some(({ outcome }) => outcome === "pending")) return "late";
  // Of an address that no cluster has told of nobody knows whose it is.
  if (fromKey(one.key).cluster === "") return "late";
  if (isCrossed(one)) return "untellable";
  if (!isPrompt(one)) return "late";
  return isBegunBetween(one) ? "untellable" : undefined;
}

export function judgeExact(one: Case): void {
  const { made, delivered, journeys, run } = one;
  // Of two pods that have an address one after the other, who knows only that can show neither.
  const isLeftOut = ({ witness }: { readonly witness: string }): boolean =>
    isShared(one) && !knowsPods(run, witness);
  const changes = delivered.filter((told) => !isBaseline(told) && !isLeftOut(told));
  const expected = trueChanges(changes.map(asHopChange), made).map(({ direction, times }) => ({
    direction,
    marks: [...times.values()].map((time) => markOf({ ...time, direction })).sort(),
  }));
  const shown = journeys.filter(({ outcome }) => !isShared(one) || outcome !== "withdrawn");
  const found = shown.map((journey) => ({
    ...journey,
    hops: journey.hops.filter((hop) => !isLeftOut(hop)),
  }));
  expect(
    found.map((journey) => ({
      direction: journey.direction,
      marks: [...marksOf(journey)].sort(),
    })),
  ).toEqual(expected);
  for (const { origin, hops } of shown) {
    const times = hops.flatMap(({ state }) => (state.type === "shown" ? [state.lagMs] : []));
    expect(Math.min(...times)).toBe(0);
    expect(origin.beforeStart).toBeUndefined();
  }
}

/** Whether it was told soon after it happened, where it did. */
export function isToldInTime(told: ToldChange, happened: readonly ToldChange[]): boolean {
  return happened.some(
    (one) =>
      placeOf(one) === placeOf(told) &&
      one.direction === told.direction &&
      one.at <= told.at &&
      told.at - one.at <= promptMs,
  );
}

/** Two words of one place that are told within so long may have been told together. */
export function togetherMs(one: ToldChange, next: ToldChange): number {
  return one.how === "event" && next.how === "event" ? atOnceMs : gatheredMs;
}

/** Who begins in the middle of a change cannot tell its end from the next one. */
export function agreesAtStart({ key, delivered }: Pick<Case, "key" | "delivered">): boolean {
  const began = new Set(delivered.filter(isBaseline).map(({ hop }) => hop));
  const service = services.find(({ path }) => path === fromKey(key).service);
  if (began.size === 0 || service === undefined) return true;
  if (service.selector !== undefined && !began.has("pod")) return false;
  return began.has("published") && (!service.isCopied || began.has("synced"));
}

/** Whether all places agreed at the start, and each change reached the observer soon and by a watch. */
function isPrompt({ key, run, delivered, happened, isCalm }: Case): boolean {
  if (!agreesAtStart({ key, delivered })) return false;
  const isUnseen = ({ at }: ToldChange): boolean =>
    run.silences.some(({ from, to }) => at > from - everywhereMs && at < to);
  if (delivered.some(isUnseen)) return false;
  // Also where nothing happened, and something was delivered all the same.
  const watched = delivered.filter((one) => one.hop !== "routed" && !isBaseline(one));
  const really = happened.filter(({ hop }) => hop !== "routed");
  for (const place of new Set([...really, ...watched].map(placeOf))) {
    const real = really.filter((one) => placeOf(one) === place);
    const heard = watched.filter((one) => placeOf(one) === place);
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
 * Of a pod and of its service two watches tell. Where both change at once, the one that is told first
 * can make a change that never was, and the other takes it back.
 */
function isCrossed({ made, delivered, happened }: Case): boolean {
  const words = delivered.filter((one) => one.hop === made && !isBaseline(one));
  return words.some((one, index) => {
    const next = words[index + 1];
    if (next === undefined || next.at - one.at >= atOnceMs) return false;
    return !happened.some(
      ({ hop, at }) => hop === made && at >= one.at - promptMs && at <= next.at,
    );
  });
}

/** A replica that begins while a pod flaps may stand before the flap or after it: nobody can tell. */
function isBegunBetween({ run, made, delivered }: Case): boolean {
  const isRecent = (beganAt: number, { hop, at }: ToldChange): boolean =>
    hop === made && at <= beganAt && beganAt - at < everywhereMs;
  // Who copies may begin to be heard when all else that shows the change has shown it.
  const copying = new Set(
    delivered.filter(({ hop }) => hop === "synced").map((one) => one.witness),
  );
  const words = delivered.filter((one) => !isBaseline(one));
  for (const access of copying) {
    const beganAt = run.told.get(access)?.beganAt("synced") ?? 0;
    if (words.some((one) => isRecent(beganAt, one))) return true;
  }
  const begun = [...run.replicas.values()].map(({ beganAt }) => beganAt);
  return begun.some((beganAt) => delivered.filter((one) => isRecent(beganAt, one)).length > 1);
}

/**
 * Two changes that one place tells at once, or one soon after the other when its watch has just been
 * opened, are told in the same way when they are old and over: nobody can know which they are.
 */
function mayHaveGathered(heard: readonly ToldChange[], index: number): boolean {
  const [one, next] = heard.slice(index, index + 2);
  if (one === undefined || next === undefined) return false;
  return next.at - one.at < togetherMs(one, next);
}

/** Whether another pod of the service had its address. */
function isShared({ key, others }: Case): boolean {
  return others.some((one) => placeOfKey(one.key) === placeOfKey(key));
}

function asHopChange({ hop, witness, key, direction, at }: ToldChange): HopChange {
  return { hop, witness, address: key, direction, at: at as MonotonicMs };
}
