import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { FairShare, fairLevel } from "./fair-share.ts";

const entryBytesMax = 1_000;

function shareOf(capacityBytes: number): FairShare {
  return new FairShare({ capacityBytes, entryBytesMax });
}

function leftOut(share: FairShare): readonly string[] {
  share.settle();
  return share.leftOut().flatMap(({ keys }) => keys);
}

describe("the level", () => {
  it.each([
    ["all that fit", [10, 20, 30], 60, Number.POSITIVE_INFINITY],
    ["the largest is cut", [10, 20, 300], 90, 60],
    ["two large ones alike", [10, 200, 300], 90, 40],
    ["one alone", [100], 60, 60],
    ["no namespace", [], 60, Number.POSITIVE_INFINITY],
  ])("%s", (_, uses, capacity, level) => {
    expect(fairLevel(uses, capacity)).toBe(level);
  });
});

describe("a fair share", () => {
  it("leaves nothing out while everything fits, for any distribution", () => {
    const share = shareOf(1_000);
    for (let n = 0; n < 10; n += 1)
      share.charge(`a ${n}`, { namespace: "a", bytes: 100, createdAtMs: n });
    expect(leftOut(share)).toEqual([]);
    expect(share.usedBytes).toBe(1_000);
  });

  it("leaves out the largest, then the newest of the namespace that uses most", () => {
    const share = shareOf(1_024);
    const charges = { old: [100, 1], middle: [120, 2], new: [110, 3], large: [900, 0] } as const;
    for (const [key, [bytes, createdAtMs]] of Object.entries(charges)) {
      share.charge(key, { namespace: "a", bytes, createdAtMs });
    }
    share.charge("b", { namespace: "b", bytes: 500, createdAtMs: 9 });
    expect(leftOut(share)).toEqual(["large"]);
    share.charge("b", { namespace: "b", bytes: 800, createdAtMs: 9 });
    // Half is b's at least.
    expect(leftOut(share)).toEqual(["large", "b"]);
    share.charge("b", { namespace: "b", bytes: 512, createdAtMs: 9 });
    share.charge("more", { namespace: "a", bytes: 128, createdAtMs: 4 });
    share.charge("most", { namespace: "a", bytes: 128, createdAtMs: 5 });
    expect(leftOut(share)).toEqual(["large", "most"]);
  });

  it("takes back what fits again, and says which changed", () => {
    const share = shareOf(1_000);
    share.charge("a", { namespace: "a", bytes: 900, createdAtMs: 0 });
    share.charge("b", { namespace: "b", bytes: 200, createdAtMs: 0 });
    expect(share.settle()).toEqual(["a"]);
    expect(share.isLeftOut("a")).toBe(true);
    expect(share.settle()).toEqual([]);
    share.charge("b", undefined);
    expect(share.settle()).toEqual(["a"]);
    expect(share.isLeftOut("a")).toBe(false);
    share.charge("b", { namespace: "b", bytes: 200, createdAtMs: 0 });
    expect(share.settle()).toEqual(["a"]);
    share.charge("a", { namespace: "a", bytes: 300, createdAtMs: 0 });
    expect(share.settle()).toEqual(["a"]);
  });

  it("leaves out what is too large by itself, and lets nothing else pay for it", () => {
    const share = shareOf(10_000);
    share.charge("a", { namespace: "a", bytes: entryBytesMax + 1, createdAtMs: 0 });
    share.charge("small", { namespace: "a", bytes: 10, createdAtMs: 0 });
    expect(leftOut(share)).toEqual(["a"]);
  });
});

/** One flood of one namespace beside quiet ones, in any order. */
const worlds = fc.record({
  quiet: fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 }),
  flood: fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 1, maxLength: 200 }),
  seed: fc.integer(),
});

test("whatever one namespace has, others within their share lose nothing, and all of it fits", () => {
  fc.assert(
    fc.property(worlds, ({ quiet, flood, seed }) => {
      const capacityBytes = (quiet.length + 1) * 401;
      const share = shareOf(capacityBytes);
      const charges = [
        ...quiet.map(
          (bytes, n) => [`quiet-${n}`, { namespace: `q${n}`, bytes, createdAtMs: 9 }] as const,
        ),
        ...flood.map(
          (bytes, n) => [`flood-${n}`, { namespace: "f", bytes, createdAtMs: n % 5 }] as const,
        ),
      ];
      const turned = charges.map((_, n) => charges[(n + Math.abs(seed)) % charges.length]);
      for (const one of turned) {
        if (one !== undefined) share.charge(one[0], one[1]);
        share.settle();
      }
      const out = new Set(share.leftOut().flatMap(({ keys }) => keys));
      const kept = charges.filter(([key]) => !out.has(key));
      expect([...out].filter((key) => key.startsWith("quiet"))).toEqual([]);
      expect(kept.reduce((sum, [, { bytes }]) => sum + bytes, 0)).toBeLessThanOrEqual(
        capacityBytes,
      );
      // The same whatever the order in which they came.
      const again = shareOf(capacityBytes);
      for (const [key, charge] of charges) again.charge(key, charge);
      expect(new Set(leftOut(again))).toEqual(out);
    }),
  );
});
