import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BalanceCase, balanceCases } from "../../../tests/nginx/balancer-cases.ts";
import { pickBySession } from "./affinity.ts";
import { type BalancedService, balancedService, pickInTurn } from "./balance.ts";
import { type Chance, latencyCost, pickByLatency, slowStartShare } from "./least-latency.ts";
import { pickByKey } from "./ring.ts";

describe("the pick", () => {
  it.each(balanceCases())("$name", (one) => {
    expect(picksIn(one)).toEqual(one.picks);
  });

  it("gives every healthy endpoint of the first tier the same share", () => {
    const counts = fc.record({
      active: fc.integer({ min: 1, max: 8 }),
      draining: fc.integer({ min: 0, max: 4 }),
      suspects: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 6 }),
      cursor: fc.nat(100),
    });
    fc.assert(
      fc.property(counts, ({ active, draining, suspects, cursor }) => {
        const slots = Array.from({ length: active + draining }, (_, index) => index + 1);
        const healthy = slots.slice(0, active).filter((slot) => !suspects.includes(slot));
        fc.pre(healthy.length > 0);
        const service = serviceOf({ tiers: [active, draining], slots });
        const seen = picksOf(service, suspects, { cursor, count: healthy.length * 3 });
        expect([...seen].sort(([a], [b]) => a - b)).toEqual(healthy.map((slot) => [slot, 3]));
      }),
    );
  });

  it("gives endpoints their share by weight, with any weights and any suspects", () => {
    const weights = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 6 });
    const suspects = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 4 });
    fc.assert(
      fc.property(weights, suspects, (weighed, suspected) => {
        const slots = weighed.map((_, index) => index + 1);
        const healthy = slots.filter((slot) => !suspected.includes(slot));
        const total = healthy.reduce((sum, slot) => sum + (weighed[slot - 1] ?? 0), 0);
        fc.pre(healthy.length > 0 && new Set(weighed).size > 1 && total >= 10);
        const service = serviceOf({ tiers: [slots.length], slots, weights: weighed });
        const count = 1_000;
        const seen = picksOf(service, suspected, { cursor: 0, count });
        for (const slot of healthy) {
          const share = (seen.get(slot) ?? 0) / count;
          expect(Math.abs(share - (weighed[slot - 1] ?? 0) / total)).toBeLessThan(0.05);
        }
      }),
    );
  });
});

/** The endpoints that the requests of the case get, in order. */
function picksIn(one: BalanceCase): readonly (number | null)[] {
  const { suspects = [], tried = [], cookies, keys, draws } = one;
  const service = serviceOf(one.service);
  const { slots } = one.service;
  const choice = {
    isSuspect: (slot: number) => suspects.includes(slot),
    tried: new Set(tried.map((slot) => slots.indexOf(slot))),
  };
  const slotAt = (index: number | undefined): number | null =>
    index === undefined ? null : (slots[index] ?? null);
  if (keys !== undefined) return keys.map((key) => slotAt(pickByKey(service, key, choice)));
  if (draws !== undefined) {
    return draws.map((drawn) => slotAt(pickByLatency(service, chanceOf(one, drawn), choice)));
  }
  if (cookies !== undefined) {
    return cookies.map((value) => {
      const { index, isKnown } = pickBySession(service, value, choice);
      return slotAt(index) ?? (isKnown ? 0 : null);
    });
  }
  let at = one.cursor ?? 0;
  return one.picks.map(() => {
    const pick = pickInTurn(service, at, choice);
    at = pick?.cursor ?? at;
    return slotAt(pick?.index);
  });
}

function chanceOf({ known = {} }: BalanceCase, drawn: readonly number[]): Chance {
  const left = [...drawn];
  return {
    draw: () => {
      const next = left.shift();
      if (next === undefined) throw new Error("more draws than the case has");
      return next;
    },
    cost: (slot) => {
      const { latencyMs = 0, measuredMsAgo = 0, underWay = 0 } = known[slot] ?? {};
      return latencyCost(latencyMs, measuredMsAgo, underWay);
    },
    share: (slot) => slowStartShare(known[slot]?.joinedMsAgo ?? Number.POSITIVE_INFINITY),
  };
}

function serviceOf(short: {
  readonly tiers: readonly number[];
  readonly slots: readonly number[];
  readonly weights?: readonly number[];
}): BalancedService {
  return balancedService({
    ...short,
    addresses: short.slots.map((slot) => `10.0.0.${slot}`),
    ports: short.slots.map(() => 80),
    names: short.slots.map((slot) => `c1/d/pod-${slot}`),
  });
}

/** How often each slot was picked. */
function picksOf(
  service: BalancedService,
  suspects: readonly number[],
  { cursor, count }: { readonly cursor: number; readonly count: number },
): ReadonlyMap<number, number> {
  const seen = new Map<number, number>();
  let at = cursor;
  for (let round = 0; round < count; round += 1) {
    const pick = pickInTurn(service, at, { isSuspect: (slot) => suspects.includes(slot) });
    const slot = service.entry.slots[pick?.index ?? -1] ?? 0;
    seen.set(slot, (seen.get(slot) ?? 0) + 1);
    at = pick?.cursor ?? 0;
  }
  return seen;
}
