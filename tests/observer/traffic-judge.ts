// Only for tests: compares the requests in journeys with those that were really sent. To an address that
// joined the first, to one that left the last; where others have the address too, or a request names
// no service, it may count or not.
import { deepStrictEqual, ok } from "node:assert/strict";
import type { Journey } from "../../src/timeline/journey.ts";
import { byKey, type Case, placeOf } from "./proof-case.ts";
import type { SentRequest } from "./proof-run.ts";
import { fromKey, placeOfKey, type ReportedChange } from "./reported-endpoints.ts";

/** A journey waits longer than this for a request that shows it. */
const surelyMs = 60_000;

/** Sums and differences of fractions. */
const nearlyMs = 0.001;

/** For an endpoint whose journeys are exact otherwise. */
export function judgeRequests(one: Case): void {
  if (one.run.requests === undefined) return;
  const journeys = one.journeys.filter(({ outcome }) => outcome !== "withdrawn");
  const { service } = fromKey(one.key);
  const named = one.requests.filter((request) => (request.service ?? service) === service);
  for (const [index, journey] of journeys.entries()) {
    const until = journeys[index + 1]?.origin.at ?? Number.POSITIVE_INFINITY;
    const possible = named.filter(({ at }) => at >= journey.origin.at && at < until);
    judgeJourney(
      journey,
      possible,
      possible.filter((request) => isSurelyOf(journey, request, one)),
    );
  }
}

function judgeJourney(
  { direction, origin, hops, traffic }: Journey,
  possible: readonly SentRequest[],
  sure: readonly SentRequest[],
): void {
  const state = hops.find(({ hop }) => hop === "traffic")?.state;
  if (state?.type !== "shown") {
    deepStrictEqual(sure, [], "requests that the journey says were never sent");
    return;
  }
  const at = origin.at + state.lagMs;
  ok(possible.map(instantOf).includes(instantOf({ at })), "a request that was never sent");
  if (direction === "join") {
    // The first report is enough to show it; a later one can only make it less.
    const firstReportedAt = Math.min(...sure.map(({ reportedAt }) => reportedAt));
    const soonest = possible.filter(({ reportedAt }) => reportedAt <= firstReportedAt);
    const latest = Math.max(...soonest.map((request) => request.at));
    ok(at <= latest + nearlyMs, "not the first");
    return;
  }
  const last = Math.max(...sure.map((request) => request.at));
  ok(at >= last - nearlyMs, "not the last");
  const { requests = 0, failed = 0 } = traffic ?? {};
  const failures = (all: readonly SentRequest[]): number =>
    all.filter((request) => request.failed).length;
  ok(requests >= sure.length && requests <= possible.length, "how many requests");
  ok(failed >= failures(sure) && failed <= failures(possible), "how many failed");
}

/** By all reports no other pod can have been meant, and in reality no other was. */
function isSurelyOf({ origin }: Journey, { at, service }: SentRequest, one: Case): boolean {
  if (at - origin.at >= surelyMs || origin.at < one.run.logBeganAt) return false;
  // Requests may come while a late report is still pending.
  if (origin.notBefore !== undefined) return false;
  const isRival = (other: ReportedChange): boolean =>
    other.key !== one.key &&
    (service === undefined || placeOfKey(other.key) === placeOfKey(one.key));
  // By the reports, and in reality.
  return [[...one.others, ...one.addressed], one.rivals].every((changes) => {
    const words = byKey(changes.filter(isRival), (other) => `${other.key} ${placeOf(other)}`);
    return ![...words.values()].some((reported) => mayHaveHad(reported, at, origin.at));
  });
}

/** Whether an endpoint had the address then, or since some instant, as one place tells of it. */
function mayHaveHad(reported: readonly ReportedChange[], at: number, since: number): boolean {
  const last = reported.findLast((one) => one.at <= at);
  // An endpoint whose first report is a removal was there before.
  if (last === undefined) return reported[0]?.direction === "leave";
  return last.direction === "join" || last.at >= since;
}

function instantOf({ at }: { readonly at: number }): string {
  return at.toFixed(3);
}
