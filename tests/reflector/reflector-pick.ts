// One of several, by chance.
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  for (const item of items.slice(randomInt(random, items.length))) {
    return item;
  }
  throw new RangeError("there is nothing to choose from");
}

/** Even over the orders of magnitude: as many of tenths of a second as of tens. */
export function logBetween(random: Random, from: number, to: number): number {
  return Math.exp(randomBetween(random, Math.log(from), Math.log(to)));
}
