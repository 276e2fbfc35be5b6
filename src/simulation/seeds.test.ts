// Which seeds a test tries, and how a failing one is repeated.
import { expect, test } from "vitest";
import { chooseSeeds, isThorough, repeatCommand, timeoutMs } from "./seeds.ts";

test("tries the regressions first, then consecutive seeds, none twice", () => {
  expect(chooseSeeds({ seeds: 3, regressions: [17, 2] }, {})).toEqual([17, 2, 1, 3]);
  expect(chooseSeeds({}, {})).toHaveLength(50);
});

test("a short run tries no more seeds because some failed once", () => {
  const options = { seeds: 5, regressions: [17, 23] };
  const tried = (seeds: string) => chooseSeeds(options, { LOCKSTEP_SEEDS: seeds });
  expect([tried("10"), tried("30"), tried("50")]).toEqual([
    [17],
    [17, 23, 1],
    [17, 23, 1, 2, 3, 4, 5],
  ]);
});

test("LOCKSTEP_SEEDS says how many, LOCKSTEP_SEED which one alone", () => {
  const options = { seeds: 3, regressions: [17] };
  expect(chooseSeeds({}, { LOCKSTEP_SEEDS: "2" })).toEqual([1, 2]);
  expect(chooseSeeds(options, { LOCKSTEP_SEED: "99", LOCKSTEP_SEEDS: "2" })).toEqual([99]);
  expect(() => chooseSeeds(options, { LOCKSTEP_SEED: "many" })).toThrow(
    "LOCKSTEP_SEED must be a whole number, not many",
  );
});

test("a costly test takes its share of LOCKSTEP_SEEDS, and at least one", () => {
  expect(chooseSeeds({ seeds: 5 }, { LOCKSTEP_SEEDS: "500" })).toHaveLength(50);
  expect(chooseSeeds({ seeds: 5 }, { LOCKSTEP_SEEDS: "3" })).toEqual([1]);
});

test("a soak of many seeds has as much more time", () => {
  expect([1, 50, 5_000].map((seeds) => timeoutMs(seeds))).toEqual([600_000, 600_000, 50_000_000]);
  expect(timeoutMs(100, 1)).toBe(50_000_000);
});

test("a run with more seeds than usual is thorough", () => {
  expect([{}, { LOCKSTEP_SEEDS: "50" }, { LOCKSTEP_SEEDS: "500" }].map(isThorough)).toEqual([
    false,
    false,
    true,
  ]);
});

test("a failing seed can be repeated with one command, whatever the test is called", () => {
  const failing = { seed: 17, file: "src/kube/store.simulation.test.ts", test: "holds (it's so)" };
  expect(repeatCommand(failing)).toBe(
    "LOCKSTEP_SEED=17 npx vitest run --project simulation src/kube/store.simulation.test.ts " +
      "-t 'holds \\(it'\\''s so\\)'",
  );
});
