import { describe, expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import type { WitnessReport } from "../journeys/witness.ts";
import { wordsTakenBack } from "./words-taken-back.ts";

/** A pod's words, a leave first, at the instants 0, 1, 2. */
function takenBack(...told: readonly Partial<WitnessReport>[]): readonly number[] {
  const reports = told.map(
    (more, index): WitnessReport => ({
      witness: { hop: "pod", name: "east" },
      endpoint: { cluster: "east", service: "shop/web", address: "a", port: 80, podUid: "p" },
      direction: index % 2 === 0 ? "leave" : "join",
      at: index as MonotonicMs,
      ...more,
    }),
  );
  return wordsTakenBack(reports).map(({ at }) => at);
}

const late = { notBefore: -10 as MonotonicMs };
const listed = { ...late, partOf: "list" } as const;
const ofService = { ...late, partOf: "services" } as const;

describe("of words that were held back", () => {
  test("none are taken back that a watch tells one by one, however late", () => {
    expect(takenBack(late, late, late)).toEqual([]);
  });

  test("a list, told object by object, counts for how it ended", () => {
    expect(takenBack(listed, listed)).toEqual([0, 1]);
    expect(takenBack(listed, listed, listed)).toEqual([0, 1]);
    expect(takenBack(listed)).toEqual([]);
  });

  test("a service's and its pods' count together", () => {
    expect(takenBack(late, ofService)).toEqual([0, 1]);
    expect(takenBack(ofService, late, late)).toEqual([0, 1]);
    expect(takenBack(ofService, ofService)).toEqual([0, 1]);
  });

  test("one watch's that come one after the other are what happened so", () => {
    expect(takenBack(ofService, { ...ofService, at: 50 as MonotonicMs })).toEqual([]);
    expect(takenBack(late, { ...ofService, at: 1_000 as MonotonicMs })).toEqual([0, 1_000]);
  });

  test("those count that a watch tells in time after late ones", () => {
    expect(takenBack(listed, listed, {}, {})).toEqual([0, 1]);
    expect(takenBack({}, listed, listed)).toEqual([]);
  });
});
