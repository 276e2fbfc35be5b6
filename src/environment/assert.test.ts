import { afterEach, expect, test } from "vitest";
import { assert, assertCostly, BrokenInvariantError, startCostlyChecks } from "./assert.ts";

const stops: (() => void)[] = [];

function startChecks(): readonly BrokenInvariantError[] {
  const seen: BrokenInvariantError[] = [];
  stops.push(startCostlyChecks((error) => seen.push(error)));
  return seen;
}

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

test("an assertion that does not hold throws an error with a stable code", () => {
  assert(true, "one is one");
  const error = new BrokenInvariantError("one is two");
  expect(() => assert(false, "one is two")).toThrow(error);
  expect(error).toMatchObject({ name: "BrokenInvariantError", code: "BROKEN_INVARIANT" });
});

test("a broken invariant is reported even where its error is caught", () => {
  const seen = startChecks();
  for (const check of [() => assert(false, "cheap"), () => assertCostly(() => false, "costly")]) {
    expect(check).toThrow(BrokenInvariantError);
  }
  expect(seen.map(({ message }) => message)).toEqual(["cheap", "costly"]);
});

test("a check that looks at much is made less often, each statement for itself", () => {
  startChecks();
  const checked: number[] = [];
  const check = (size: number) => (): boolean => checked.push(size) > 0;
  for (let call = 0; call < 630; call += 1) {
    assertCostly(check(1_000), "of a thousand elements", 1_000);
    assertCostly(check(10), "of ten elements", 10);
  }
  const times = (size: number) => checked.filter((one) => one === size).length;
  expect([times(1_000), times(10)]).toEqual([10, 630]);
});
