import fc from "fast-check";
import { expect, test } from "vitest";
import { endpointKey, type WitnessedEndpoint } from "../timeline/witness.ts";
import { listDifference } from "./list-difference.ts";

const cluster = "east";
const service = "shop/web";
const all: readonly WitnessedEndpoint[] = Array.from({ length: 12 }, (_, index) => ({
  cluster: index % 2 === 0 ? cluster : undefined,
  service,
  address: `10.0.0.${index >> 2}`,
  port: 8080,
  podUid: index % 4 < 2 ? "u" : undefined,
}));

/** Some of them the same value and some an equal one, in any order, also twice. */
const list = fc
  .array(fc.tuple(fc.constantFrom(...all), fc.boolean()), { maxLength: 14 })
  .map((items) => items.map(([endpoint, isCopy]) => (isCopy ? { ...endpoint } : endpoint)));

test("names what only one of two lists has, each once, in whatever order they are", () => {
  fc.assert(
    fc.property(list, list, (before, after) => {
      const { gone, come } = listDifference(before, after);
      expect(gone.map(endpointKey)).toEqual(onlyIn(before, after));
      expect(come.map(endpointKey)).toEqual(onlyIn(after, before));
    }),
    { numRuns: 300 },
  );
});

function onlyIn(
  some: readonly WitnessedEndpoint[],
  others: readonly WitnessedEndpoint[],
): readonly string[] {
  const names = new Set(others.map(endpointKey));
  return [...new Set(some.map(endpointKey))].filter((name) => !names.has(name));
}
