import { expect, test } from "vitest";
import { InternPool } from "./intern.ts";

test("gives back the first of equal values", () => {
  const pool = new InternPool<object>();
  const [first, second] = [{ a: 1 }, { a: 1 }];
  expect(pool.share("a", first)).toBe(first);
  expect(pool.share("a", second)).toBe(first);
});

test("never holds more than its capacity, and keeps what is in use", () => {
  const pool = new InternPool<object>(8);
  const used = pool.share("used", {});
  let largest = 0;
  for (let index = 0; index < 100; index += 1) {
    pool.share(`value ${index}`, {});
    expect(pool.share("used", {})).toBe(used);
    largest = Math.max(largest, pool.size);
  }
  expect(largest).toBe(8);
});
