import { describe, expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import type { WitnessReport } from "../journeys/witness.ts";
import { wordsThatCount } from "./words-that-count.ts";

/** A pod's words, a leave first, at these instants. */
function words(
  ...told: readonly (Partial<Omit<WitnessReport, "at">> & { readonly at: number })[]
): readonly WitnessReport[] {
  return told.map(({ at, ...more }, index) => ({
    witness: { hop: "pod", name: "east" },
    endpoint: { cluster: "east", service: "shop/web", address: "a", port: 80, podUid: "p" },
    direction: index % 2 === 0 ? "leave" : "join",
    at: at as MonotonicMs,
    ...more,
  }));
}

function counting(reports: readonly WitnessReport[], { isPast = false } = {}): readonly number[] {
  return wordsThatCount(reports, { isPast }).map(({ at }) => at);
}

const late = { notBefore: 0 as MonotonicMs };

describe("of words that were held back", () => {
  test("all count that came late but one by one, when others have told of nothing since", () => {
    expect(counting(words({ at: 0, ...late }, { at: 50, ...late }))).toEqual([0, 50]);
  });

  test("late ones count for how they ended when others have told since", () => {
    const three = words({ at: 0, ...late }, { at: 900, ...late }, { at: 1_800, ...late });
    expect(counting(three, { isPast: true })).toEqual([1_800]);
    expect(counting(three.slice(0, 2), { isPast: true })).toEqual([]);
  });

  test("late ones that came at once count for how they ended", () => {
    expect(counting(words({ at: 0, ...late }, { at: 49, ...late }))).toEqual([]);
  });

  test("a list, told object by object, counts for how it ended", () => {
    const list = { ...late, partOf: "list" } as const;
    expect(counting(words({ at: 0, ...list }, { at: 900, ...list }))).toEqual([]);
  });

  test("a service's and its pods' count together, and a service's alone one by one", () => {
    const service = { ...late, partOf: "service" } as const;
    expect(counting(words({ at: 0, ...late }, { at: 900, ...service }))).toEqual([]);
    expect(counting(words({ at: 0, ...service }, { at: 900, ...service }))).toEqual([0, 900]);
  });

  test("those count that a watch tells in time after late ones", () => {
    const told = words({ at: 0, ...late }, { at: 10, ...late }, { at: 900 }, { at: 1_800 });
    expect(counting(told)).toEqual([900, 1_800]);
    expect(counting(told, { isPast: true })).toEqual([900, 1_800]);
  });

  test("those in time count for how they ended when others have told since and they came at once", () => {
    const told = words({ at: 0 }, { at: 10 }, { at: 20 });
    expect(counting(told)).toEqual([0, 10, 20]);
    expect(counting(told, { isPast: true })).toEqual([20]);
  });
});
