import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  newSetSize,
  oldSetSizes,
  proportionalSizes,
  rolloutLimits,
  type SetSize,
} from "./rollout.ts";

function set(wanted: number, available = wanted, maxReplicas = wanted): SetSize {
  return { name: "set", wanted, available, maxReplicas };
}

test.each([
  [10, { maxSurge: "25%", maxUnavailable: "25%" }, 3, 2],
  [1, { maxSurge: "25%", maxUnavailable: "25%" }, 1, 0],
  [4, { maxSurge: 2, maxUnavailable: 0 }, 2, 0],
  [4, { maxSurge: 0, maxUnavailable: "10%" }, 0, 1],
  [2, { maxSurge: 0, maxUnavailable: 5 }, 0, 2],
])("%i replicas with %j may surge by %i and miss %i", (replicas, strategy, surge, unavailable) => {
  expect(rolloutLimits({ replicas, strategy })).toEqual({
    replicas,
    maxSurge: surge,
    maxUnavailable: unavailable,
  });
});

describe("with 4 replicas, a surge of 1 and 1 that may be missing", () => {
  const limits = { replicas: 4, maxSurge: 1, maxUnavailable: 1 };

  test.each([
    ["begins with the surge", 0, 4, 1],
    ["grows as the old shrink", 1, 4, 2],
    ["does not grow while there is no room", 1, 5, 1],
    ["ends at the wanted number", 3, 3, 4],
    ["comes down when it is too large", 6, 6, 4],
  ])("the new set %s", (_, wanted, allWanted, expected) => {
    expect(newSetSize(limits, { wanted }, allWanted)).toBe(expected);
  });

  test.each<[string, SetSize, readonly SetSize[], readonly number[]]>([
    ["give up at once as many as may be missing", set(1, 0), [set(4)], [3]],
    ["do not shrink while too few are available", set(2, 0), [set(3)], [3]],
    ["give up first what is not available", set(1, 1), [set(2, 2), set(2, 0)], [2, 0]],
    ["go, the oldest first, when the new ones are there", set(4, 4), [set(1), set(2)], [0, 0]],
    ["count no pods that are on their way out", set(1, 1), [set(2, 4)], [2]],
  ])("the old sets %s", (_, newSet, old, expected) => {
    expect(oldSetSizes(limits, newSet, old)).toEqual(expected);
  });
});

test("a rollout ends, and is within its limits at every step, whatever the limits", () => {
  const input = fc.record({
    replicas: fc.integer({ min: 1, max: 12 }),
    maxSurge: fc.integer({ min: 0, max: 5 }),
    maxUnavailable: fc.integer({ min: 0, max: 5 }),
  });
  fc.assert(
    fc.property(input, ({ replicas, ...strategy }) => {
      const limits = rolloutLimits({ replicas, strategy });
      let [oldSize, newSize] = [replicas, 0];
      for (let step = 0; step < 4 * replicas && (oldSize > 0 || newSize < replicas); step += 1) {
        const available = newSize;
        newSize = newSetSize(limits, set(newSize), oldSize + newSize);
        expect(oldSize + newSize).toBeLessThanOrEqual(replicas + limits.maxSurge);
        oldSize = oldSetSizes(limits, set(newSize, available), [set(oldSize)])[0] ?? 0;
        expect(oldSize + available).toBeGreaterThanOrEqual(replicas - limits.maxUnavailable);
      }
      expect([oldSize, newSize]).toEqual([0, replicas]);
    }),
  );
});

test.each<[string, number, readonly SetSize[], readonly number[]]>([
  ["up, by their shares", 20, [set(8, 8, 11), set(3, 3, 11)], [15, 6]],
  ["down, by their shares", 5, [set(8, 8, 11), set(3, 3, 11)], [4, 2]],
  ["to nothing", 0, [set(8, 8, 11), set(3, 3, 11)], [0, 0]],
  ["and the largest takes what rounding leaves", 12, [set(4, 4, 9), set(4, 4, 9)], [7, 6]],
])(
  "a Deployment scaled in the middle of a rollout scales its sets %s",
  (_, replicas, sets, expected) => {
    expect(proportionalSizes({ replicas, maxSurge: 1, maxUnavailable: 1 }, sets)).toEqual(expected);
  },
);
