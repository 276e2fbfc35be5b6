import { expect, test } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { defaultRateLimiter, ExponentialRateLimiter, longestOf } from "./rate-limiter.ts";

test("a failing key waits 5 ms, then twice as long each time, up to 1000 s", async () => {
  const delays = await simulate({ seed: 1 }, async (simulation) => {
    const limiter = defaultRateLimiter(simulation.host("controller"));
    return Array.from({ length: 21 }, () => limiter.when("a"));
  });
  expect(delays).toEqual([
    5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 40_960, 81_920, 163_840,
    327_680, 655_360, 1_000_000, 1_000_000, 1_000_000,
  ]);
});

test("beyond a hundred retries at once the shared bucket decides: ten a second", async () => {
  const delays = await simulate({ seed: 1 }, async (simulation) => {
    const limiter = defaultRateLimiter(simulation.host("controller"));
    return Array.from({ length: 103 }, (_, index) => limiter.when(`key ${index}`));
  });
  expect(delays).toEqual([...Array.from({ length: 100 }, () => 5), 100, 200, 300]);
});

test("forgetting a key restarts its delays and leaves other keys alone", () => {
  const limiter = longestOf(
    new ExponentialRateLimiter({ baseMs: 1, maxMs: 8 }),
    new ExponentialRateLimiter({ baseMs: 3, maxMs: 6 }),
  );
  const first = [limiter.when("a"), limiter.when("a"), limiter.when("a"), limiter.when("b")];
  const counted = [limiter.numRequeues("a"), limiter.numRequeues("b"), limiter.numRequeues("c")];
  limiter.forget("a");
  const afterwards = [limiter.numRequeues("a"), limiter.when("a"), limiter.when("b")];
  expect({ first, counted, afterwards }).toEqual({
    first: [3, 6, 6, 3],
    counted: [3, 1, 0],
    afterwards: [0, 3, 6],
  });
});
