import fc from "fast-check";
import { expect, it } from "vitest";
import { type BalancedService, balancedService } from "./balance.ts";
import { pickByKey } from "./ring.ts";

const noneSuspect = { isSuspect: () => false };
const keys = Array.from({ length: 300 }, (_, index) => `key ${index}`);

it("moves only the keys of an endpoint that leaves", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^c[12]\/shop\/web-[a-z0-9]{5}$/), {
    minLength: 2,
    maxLength: 12,
  });
  fc.assert(
    fc.property(names, fc.nat(), (all, choice) => {
      const leaving = all[choice % all.length] ?? "";
      const before = ownersOf(serviceOf(all));
      const after = ownersOf(serviceOf(all.filter((name) => name !== leaving)));
      const moved = keys.filter((_, index) => before[index] !== after[index]);
      expect(moved).toEqual(keys.filter((_, index) => before[index] === leaving));
    }),
    { numRuns: 20 },
  );
});

it("gives the keys of a suspect to those who would have them without it", () => {
  const names = ["a", "b", "c", "d", "e"];
  const isSuspect = (slot: number): boolean => slot === 3;
  const without = ownersOf(serviceOf(names.filter((name) => name !== "c")));
  expect(ownersOf(serviceOf(names), { isSuspect })).toEqual(without);
});

it("shares the keys by weight, about equally where there are none", () => {
  const names = Array.from({ length: 10 }, (_, index) => `c1/shop/web-${index}`);
  const many = Array.from({ length: 5_000 }, (_, index) => `user ${index}`);
  const shares = (service: BalancedService): readonly number[] => {
    const owners = ownersOf(service, noneSuspect, many);
    return names.map((name) => owners.filter((owner) => owner === name).length / many.length);
  };
  for (const share of shares(serviceOf(names))) expect(Math.abs(share - 0.1)).toBeLessThan(0.03);
  const weights = names.map((_, index) => (index === 0 ? 9 : 1));
  const [heavy = 0] = shares(serviceOf(names, weights));
  expect(Math.abs(heavy - 0.5)).toBeLessThan(0.1);
});

function serviceOf(names: readonly string[], weights?: readonly number[]): BalancedService {
  return balancedService({
    tiers: [names.length],
    addresses: names,
    ports: names.map(() => 80),
    slots: names.map((_, index) => index + 1),
    names,
    ...(weights === undefined ? {} : { weights }),
  });
}

function ownersOf(
  service: BalancedService,
  choice: { readonly isSuspect: (slot: number) => boolean } = noneSuspect,
  asked: readonly string[] = keys,
): readonly (string | undefined)[] {
  return asked.map((key) => service.entry.names[pickByKey(service, key, choice) ?? -1]);
}
