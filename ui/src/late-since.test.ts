import { expect, test } from "vitest";
import type { Journey } from "../../src/server/api.ts";
import { journeysAt, stateAt } from "../../tests/page/page-answers.ts";
import { lateSince } from "./late-since.ts";

const now = 1_700_000_000_000;
const [sample] = journeysAt(now);
const state = stateAt(now);

/** Started so many seconds ago; without a lag it waits. */
function change(secondsAgo: number, lagMs: number | null, about: Partial<Journey> = {}): Journey {
  if (sample === undefined) throw new Error("there is no journey");
  const hop = { hop: "published", witness: "alpha" } as const;
  const outcome: "pending" | "complete" = lagMs === null ? "pending" : "complete";
  return {
    ...sample,
    cluster: "alpha",
    originMs: now - secondsAgo * 1_000,
    outcome,
    hops: [{ ...hop, state: lagMs === null ? ("pending" as const) : ("shown" as const), lagMs }],
    ...about,
  };
}

const secondsAgo = (journeys: readonly Journey[]) => {
  const since = lateSince(journeys, state);
  return since === undefined ? undefined : (now - since) / 1_000;
};

test("it is late since the first of the late changes that follow each other", () => {
  expect(secondsAgo([change(1, null), change(20, null), change(50, 29_000), change(70, 40)])).toBe(
    50,
  );
  expect(secondsAgo([change(30, 12_000), change(40, 35), change(90, 29_000)])).toBe(30);
  expect(secondsAgo([change(1, null), change(40, 35)])).toBeUndefined();
});

test("changes of another cluster, or with an unknown start, neither begin nor end the run", () => {
  const before = { originBeforeStart: true } as const;
  expect(
    secondsAgo([change(20, null), change(30, 5, { cluster: "beta" }), change(40, 9_000)]),
  ).toBe(40);
  expect(secondsAgo([change(20, null), change(30, 71, before), change(40, 9_000)])).toBe(40);
  expect(secondsAgo([change(20, 7_000, { cluster: "beta" }), change(40, 35)])).toBeUndefined();
});

test("it is not known when no hop is late", () => {
  const verdict = { ...state.verdict, late: null };
  expect(lateSince([change(20, null)], { ...state, verdict })).toBeUndefined();
});
