// The oracle of the proof: computes the changes of one run by brute force from the real events, and
// compares them with the journeys of an observer. It shares no code and no constant with the
// timeline.
//
// The pods make the changes. Each step of any other place in the world shows the latest change of
// its direction that had happened by then, because controllers and proxies act on the current
// state. True times decide this, and there causes come before effects; the observer has only times
// of deliveries.
import { AssertionError, deepStrictEqual, equal, ok } from "node:assert/strict";
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
import { fromKey, placeOfKey, type ReportedChange } from "./reported-endpoints.ts";
import { judgeRequests } from "./traffic-judge.ts";

/** Deliveries that are closer than this may have changed places. */
const ambiguousMs = 500;

export interface Judged {
  /** How many endpoints there were. */
  readonly endpoints: number;
  /** Of them, those whose journeys had to be exact, and were. */
  readonly exact: number;
  /** How many journeys had no known beginning. */
  readonly disagreements: number;
}

/** Throws an error that has the whole story of the first endpoint that breaks a guarantee. */
export function judgeRun(world: ProofWorld, run: ProofRun): Judged {
  const cases = casesOf(world, run);
  const byPlace = byKey(cases, ({ key }) => placeOfKey(key));
  const judged = { endpoints: cases.length, exact: 0, disagreements: 0 };
  for (const one of cases) {
    const atPlace = byPlace.get(placeOfKey(one.key)) ?? [];
    try {
      judgeMarks(one);
      judgeOrder(one);
      judgeInstants(one);
      judgeDisagreements(one, atPlace);
      judged.disagreements += one.journeys.filter(hasNoBeginning).length;
      if (!world.isCalm || !isDeliveredAsItWas(one) || isAmbiguous(one, atPlace)) continue;
      judgeExact(one, atPlace);
      judgeRequests(one);
      judged.exact += 1;
    } catch (error) {
      const message = error instanceof AssertionError ? error.message : String(error);
      throw new Error(`${message}\n${storyOf(one)}`, { cause: error });
    }
  }
  judgeAddresses(cases);
  return judged;
}

/** Guarantee 6: a while after the last change nothing is pending. */
export function judgePending(world: ProofWorld, run: ProofRun): void {
  const [left] = run.observer.journeys.pending();
  if (left === undefined) return;
  const { service, address, port } = left.endpoint;
  const place = `${service} ${address} ${port}`;
  const stories = casesOf(world, run).filter(({ key }) => placeOfKey(key) === place);
  throw new Error(`G6: left pending: ${JSON.stringify(left)}\n${stories.map(storyOf).join("\n")}`);
}

/** Guarantee 1: no time in a journey is invented: it was delivered, of this endpoint, and counts once. */
function judgeMarks({ run, delivered, addressed, journeys }: Case): void {
  const own = delivered.filter((one) => !isBaseline(one) && knowsPods(run, one.witness));
  const left = [
    ...own.map(markOf),
    ...new Set(addressed.filter((one) => !isBaseline(one)).map(markOf)),
  ];
  for (const mark of journeys.flatMap(marksOf)) {
    const index = left.indexOf(mark);
    ok(index !== -1, `G1: ${mark} was never delivered, or counts twice`);
    left.splice(index, 1);
  }
}

/** An observation of an address, by a witness that knows no pods, counts for one endpoint only. */
function judgeAddresses(cases: readonly Case[]): void {
  const owners = new Map<string, string>();
  for (const { key, run, journeys } of cases) {
    for (const { hops, ...journey } of journeys) {
      const byAddress = hops.filter(
        ({ hop, witness }) => hop === "routed" && !knowsPods(run, witness),
      );
      for (const mark of marksOf({ ...journey, hops: byAddress })) {
        const shown = `${placeOfKey(key)} ${mark}`;
        ok(!owners.has(shown), `G1: ${shown} counts for ${key} and for ${owners.get(shown)}`);
        owners.set(shown, key);
      }
    }
  }
}

/**
 * Guarantee 2: one journey a change. Joins and leaves alternate, there are no more of them than the
 * cluster's own watches delivered or than there really were, and they end as the cluster was last
 * seen to be. If the pod watch missed a change that the slices show, the opposite change may have no
 * known beginning.
 */
function judgeOrder(one: Case): void {
  const { key, made, run, delivered, journeys } = one;
  const { cluster } = fromKey(key);
  const steps = delivered.filter(({ hop, witness }) => hop === made && witness === cluster);
  const changes = steps.filter((step) => !isBaseline(step));
  // Before the cluster itself is listed, proxies and copies are all that is known.
  const listedAt = run.reported.get(cluster)?.beganAt(made) ?? Number.POSITIVE_INFINITY;
  const isShown = ({ hops }: Journey): boolean =>
    hops.some((hop) => hop.hop === made && hop.witness === cluster && hop.state.type === "shown");
  const isOfNow = (journey: Journey): boolean =>
    journey.origin.at >= listedAt || isShown(journey) || hasNoBeginning(journey);
  let before: Direction | undefined;
  for (const journey of journeys) {
    const { direction } = journey;
    if (!hasNoBeginning(journey)) {
      ok(direction !== before, "G2: twice the same");
      before = direction;
    } else if (direction !== before) before = undefined;
  }
  const since = journeys.filter(isOfNow);
  const begun = since.filter((journey) => !hasNoBeginning(journey));
  const most = Math.max(changes.length, madeChanges(one).length);
  ok(begun.length <= most, "G2: more journeys than changes");
  const first = steps.some(isBaseline) ? "join" : "leave";
  const last = since.at(-1)?.direction ?? first;
  equal(last, steps.at(-1)?.direction ?? first, "G2: how it ended");
}

/** Guarantee 3: where a journey says between which instants it began, it did. */
function judgeInstants(one: Case): void {
  const { made, journeys, happened, rerouted } = one;
  // A service and its pods are two watches: where one is late both can make a change of nothing.
  if (!isMadeAsItWas(one, made)) return;
  for (const { origin, direction, outcome } of journeys) {
    const { at: last, notBefore: first, beforeStart } = origin;
    if (first === undefined || beforeStart === true || outcome === "pending") continue;
    const isIt = (step: ReportedChange): boolean =>
      step.direction === direction && step.at >= first && step.at <= last;
    ok([...happened, ...rerouted].some(isIt), `G3: nothing happened from ${first} to ${last}`);
  }
}

/** Guarantee 4: where a journey has no known beginning, something showed the endpoint since then. */
function judgeDisagreements({ journeys, ...one }: Case, atPlace: readonly Case[]): void {
  const all = [...one.delivered, ...one.addressed, ...atPlace.flatMap((each) => each.delivered)];
  for (const { origin } of journeys.filter(hasNoBeginning)) {
    const states = new Map<string, Direction>();
    for (const step of inOrder(all)) {
      if (step.at <= origin.at) states.set(`${placeOf(step)} ${step.key}`, step.direction);
    }
    // Where all had it absent until then, one that begins to show it is the one that disagrees.
    const isShown = [...states.values()].includes("join");
    ok(isShown || all.some(({ at }) => at >= origin.at), "G4: nothing to disagree about");
  }
}

/** Guarantee 5: where nothing broke, journeys are exactly the changes, with each witness's own time. */
function judgeExact(one: Case, atPlace: readonly Case[]): void {
  const { run, made, journeys, delivered, happened } = one;
  const changes = madeChanges(one);
  const marks = changes.map(() => new Set<string>());
  const own = delivered.filter((step) => step.hop === made && !isBaseline(step));
  for (const [index, step] of own.entries()) marks[index]?.add(markOf(step));
  const elsewhere = happened.filter(({ hop, witness }) => hop !== made && knowsPods(run, witness));
  for (const steps of byKey(elsewhere, placeOf).values()) {
    assign(inOrder(steps), changes, delivered, marks);
  }
  const flips = flipsOf(atPlace);
  for (const steps of byKey(one.rerouted, placeOf).values()) {
    const ofFlips = flips.map(() => new Set<string>());
    assign(inOrder(steps), flips, one.addressed, ofFlips);
    for (const [index, flip] of flips.entries()) {
      const change = changes.findIndex(({ at }) => flip.key === one.key && at === flip.at);
      for (const mark of ofFlips[index] ?? []) marks[change]?.add(mark);
    }
  }
  const begun = journeys.filter((journey) => !hasNoBeginning(journey));
  const isOpen = (mark: string): boolean => isOfNewReplica(mark, run, changes, marks);
  const found = begun.map((journey) => textOf(journey.direction, marksOf(journey), isOpen));
  const expected = changes.map(({ direction }, index) =>
    textOf(direction, [...(marks[index] ?? [])], isOpen),
  );
  deepStrictEqual(found, expected);
  for (const { hops } of begun) {
    const lags = hops.flatMap(({ state }) => (state.type === "shown" ? [state.lagMs] : []));
    equal(Math.min(...lags), 0, "G5: no witness is the first");
  }
}

/** Which change each step of one place shows, by true times; the mark is that of its delivery. */
function assign(
  steps: readonly ReportedChange[],
  changes: readonly ReportedChange[],
  delivered: readonly ReportedChange[],
  marks: readonly Set<string>[],
): void {
  const [first] = steps;
  if (first === undefined) return;
  const received = delivered.filter(
    (step) => placeOf(step) === placeOf(first) && !isBaseline(step),
  );
  let done = -1;
  for (const [index, step] of steps.entries()) {
    const owner = changes.findLastIndex(
      ({ direction, at }, place) => place > done && direction === step.direction && at <= step.at,
    );
    const delivery = received[index];
    if (owner === -1 || delivery === undefined) continue;
    done = owner;
    marks[owner]?.add(markOf(delivery));
  }
}

/** True changes at the hop where they are made, while it was observed. */
function madeChanges({ made, happened }: Case): readonly ReportedChange[] {
  return inOrder(happened.filter(({ hop }) => hop === made));
}

/** Those after which another answer holds to whether anything has the address, in any cluster. */
function flipsOf(atPlace: readonly Case[]): readonly ReportedChange[] {
  const holders = new Set(atPlace.filter((one) => hadBefore(one)).map(({ key }) => key));
  return inOrder(atPlace.flatMap(madeChanges)).filter(({ key, direction }) => {
    const before = holders.size > 0;
    if (direction === "join") holders.add(key);
    else holders.delete(key);
    return before !== holders.size > 0;
  });
}

function hadBefore(one: Case): boolean {
  const [first] = madeChanges(one);
  if (first !== undefined) return first.direction === "leave";
  return one.delivered.some((step) => step.hop === one.made && isBaseline(step));
}

/** Whether the cluster's own watches delivered its changes as they were. */
function isMadeAsItWas(one: Case, made: Case["made"]): boolean {
  const received = one.delivered.filter((step) => step.hop === made && !isBaseline(step));
  const changes = madeChanges(one);
  const isAfter = received.every(({ at }, index) => at >= (changes[index]?.at ?? 0));
  return isAfter && isAlike(received, changes);
}

/** Whether everything that happened was delivered, place by place. */
function isDeliveredAsItWas({ delivered, happened, run }: Case): boolean {
  const isNamed = ({ witness }: ReportedChange): boolean => knowsPods(run, witness);
  const received = byKey(
    delivered.filter((step) => !isBaseline(step) && isNamed(step)),
    placeOf,
  );
  const steps = byKey(happened.filter(isNamed), placeOf);
  const places = new Set([...received.keys(), ...steps.keys()]);
  return [...places].every((place) =>
    isAlike(received.get(place) ?? [], inOrder(steps.get(place) ?? [])),
  );
}

/**
 * Not required: a late step shortly before the next change of its direction is reported looks like
 * a step that shows this next change a little early.
 */
function isAmbiguous({ made, delivered, addressed }: Case, atPlace: readonly Case[]): boolean {
  const all = inOrder(atPlace.flatMap((one) => one.delivered));
  const changes = all.filter(({ hop, how }) => hop === made && how !== "baseline");
  return [...delivered, ...addressed]
    .filter(({ hop }) => hop !== made)
    .some(({ direction, at }) => {
      const before = changes.filter((one) => one.direction === direction && one.at <= at);
      const next = changes.find((one) => one.direction === direction && one.at > at);
      return before.length > 0 && next !== undefined && next.at - at < ambiguousMs;
    });
}

function isAlike(received: readonly ReportedChange[], steps: readonly ReportedChange[]): boolean {
  return (
    received.length === steps.length &&
    received.every(({ direction }, index) => direction === steps[index]?.direction)
  );
}

/** A replica that came after a change may find it over: whether it still counts is not said. */
function isOfNewReplica(
  mark: string,
  { replicas }: ProofRun,
  changes: readonly ReportedChange[],
  marks: readonly ReadonlySet<string>[],
): boolean {
  const [hop, name = ""] = mark.split(" ");
  if (hop !== "routed") return false;
  const change = changes[marks.findIndex((all) => all.has(mark))];
  return change !== undefined && change.at <= (replicas.get(name)?.beganAt ?? 0);
}

function hasNoBeginning({ origin }: Journey): boolean {
  return origin.beforeStart === true;
}

function inOrder(changes: readonly ReportedChange[]): readonly ReportedChange[] {
  return changes.toSorted((a, b) => a.at - b.at);
}

function textOf(
  direction: Direction,
  marks: readonly string[],
  isOpen: (mark: string) => boolean,
): string {
  const shown = marks.filter((mark) => !isOpen(mark)).sort();
  return `${direction}: ${shown.join(", ")}`;
}
