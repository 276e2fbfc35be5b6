import { expect, test } from "vitest";
import { byChance, distance } from "./compared-figures.ts";

test("a real figure agrees with the lab's within its bound, and not beyond", () => {
  expect(distance(18, 18)).toBe(0);
  expect(distance(18, 20)).toBe(2);
  expect(distance([16.5, 20.7], 19.3)).toBe(0);
  expect(distance([16.5, 20.7], 12.5)).toBe(4);
  expect(distance([16.5, 20.7], Number.NaN)).toBeNaN();
});

test("shares of flaps agree within chance: 0.216 of 690 with 0.198 of 6,900, and not 0.1 or 0.3", () => {
  const apart = byChance(0.198, 6_900, 690);
  expect(distance(0.198, 0.216)).toBeLessThan(apart);
  expect(distance(0.198, 0.1)).toBeGreaterThan(apart);
  expect(distance(0.198, 0.3)).toBeGreaterThan(apart);
});
