// Chance that repeats must still look like chance.
import { expect, test } from "vitest";
import { SeededRandom } from "./seeded-random.ts";

function draw(seed: number, name: string, count: number): number[] {
  const random = new SeededRandom({ seed, name });
  return Array.from({ length: count }, () => random.next());
}

test("repeats from the same seed and name, and differs for another of either", () => {
  expect(draw(1, "a", 20)).toEqual(draw(1, "a", 20));
  const firsts = [draw(1, "a", 1), draw(2, "a", 1), draw(1, "b", 1), draw(11, "", 1)].flat();
  expect(new Set(firsts).size).toBe(4);
});

test("is spread evenly over [0, 1)", () => {
  const buckets = Array.from({ length: 10 }, () => 0);
  for (const value of draw(7, "spread", 100_000)) {
    const bucket = Math.floor(value * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(500);
});

test("neighbouring seeds give unrelated numbers", () => {
  const firsts = Array.from({ length: 1000 }, (_, seed) => draw(seed, "host", 1)[0] ?? 0);
  const mean = firsts.reduce((sum, value) => sum + value, 0) / firsts.length;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
  expect(new Set(firsts).size).toBe(1000);
});

test("makes version 4 UUIDs that do not repeat", () => {
  const random = new SeededRandom({ seed: 1, name: "uuid" });
  const uuids = Array.from({ length: 1000 }, () => random.uuid());
  for (const uuid of uuids) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  expect(new Set(uuids).size).toBe(1000);
});

test("tells every draw", () => {
  const drawn: number[] = [];
  const random = new SeededRandom({ seed: 1, name: "drawn", onDraw: (value) => drawn.push(value) });
  const values = [random.next(), random.next()];
  random.uuid();
  expect(drawn.slice(0, 2)).toEqual(values);
  expect(drawn).toHaveLength(3);
});
