import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { Backoff, backoffResetAfterMs } from "./backoff.ts";

function backoffAt(chance: number) {
  let nowMs = 0;
  const backoff = new Backoff({
    clock: { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => nowMs as WallMs },
    random: { next: () => chance, uuid: () => "" },
  });
  return { backoff, pass: (ms: number) => (nowMs += ms) };
}

test("waits double from 0.8 s to 30 s, stretched by chance within these bounds", () => {
  const [shortest, longest] = [backoffAt(0).backoff, backoffAt(1).backoff];
  const waits = Array.from({ length: 7 }, () => [shortest.next(), longest.next()]);
  expect(waits).toEqual([
    [800, 1_600],
    [1_600, 3_200],
    [3_200, 6_400],
    [6_400, 12_800],
    [12_800, 25_600],
    [15_000, 30_000],
    [15_000, 30_000],
  ]);
});

test("two minutes after the last wait without a failure it starts again, and not before", () => {
  const { backoff, pass } = backoffAt(0);
  backoff.next();
  pass(800 + backoffResetAfterMs - 1);
  expect([backoff.next(), backoff.failures]).toEqual([1_600, 2]);
  pass(1_600 + backoffResetAfterMs);
  expect([backoff.next(), backoff.failures]).toEqual([800, 1]);
});
