import { expect, test } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import { simulate } from "../../simulation/simulation.ts";
import { TokenBucket } from "./token-bucket.ts";

/** Runs a case on a machine of its own, in virtual time. */
function onHost<Result>(main: (environment: Environment) => Promise<Result>): Promise<Result> {
  return simulate({ seed: 1 }, (simulation) => main(simulation.host("client")));
}

test.each([
  { qps: 20, burst: 30, requests: 30, lastAtMs: 0 },
  { qps: 20, burst: 30, requests: 31, lastAtMs: 50 },
  { qps: 20, burst: 30, requests: 12_954, lastAtMs: 646_200 },
  { qps: 100, burst: 120, requests: 12_954, lastAtMs: 128_340 },
  { qps: 5, burst: 10, requests: 11, lastAtMs: 200 },
])(
  "$requests requests at $qps a second and a burst of $burst drain in $lastAtMs ms",
  async (row) => {
    const lastAtMs = await onHost(async ({ clock, timers }) => {
      const bucket = new TokenBucket({ clock, timers, qps: row.qps, burst: row.burst });
      for (let request = 0; request < row.requests; request++) await bucket.wait();
      return clock.monotonicMs();
    });
    expect(lastAtMs).toBe(row.lastAtMs);
  },
);

test("requests that wait together are served in the order they came, one per token time", async () => {
  const served = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 1 });
    const served: string[] = [];
    const request = async (name: string) => {
      await bucket.wait();
      served.push(`${name} at ${clock.monotonicMs()}`);
    };
    await Promise.all(["a", "b", "c"].map(request));
    return served;
  });
  expect(served).toEqual(["a at 0", "b at 100", "c at 200"]);
});

test("a bucket left alone refills in fractions, up to its burst and no further", async () => {
  const tokens = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 2 });
    const tokens = [bucket.tokens()];
    bucket.reserve();
    bucket.reserve();
    bucket.reserve();
    tokens.push(bucket.tokens());
    for (const ms of [50, 50, 150, 10_000]) {
      await timers.sleep(ms);
      tokens.push(bucket.tokens());
    }
    return tokens;
  });
  expect(tokens).toEqual([2, -1, -0.5, 0, 1.5, 2]);
});

test("tryAccept takes a token that is there and never one that is not", async () => {
  const accepted = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 2 });
    const accepted = [bucket.tryAccept(), bucket.tryAccept(), bucket.tryAccept()];
    await timers.sleep(99);
    accepted.push(bucket.tryAccept());
    await timers.sleep(1);
    accepted.push(bucket.tryAccept());
    return accepted;
  });
  expect(accepted).toEqual([true, true, false, false, true]);
});

test("an aborted wait rejects with the reason and gives the newest token back", async () => {
  const result = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 1 });
    bucket.reserve();
    const abort = new AbortController();
    const waiting = bucket.wait(abort.signal).catch((reason: unknown) => reason);
    abort.abort("gave up");
    return { reason: await waiting, nextWaitMs: bucket.reserve().waitMs };
  });
  expect(result).toEqual({ reason: "gave up", nextWaitMs: 100 });
});

test("an aborted wait does not bring those after it forward: their times were promised", async () => {
  const waits = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 1 });
    bucket.reserve();
    const first = bucket.reserve();
    const second = bucket.reserve();
    first.cancel();
    const third = bucket.reserve();
    third.cancel();
    third.cancel();
    return [first.waitMs, second.waitMs, third.waitMs, bucket.reserve().waitMs];
  });
  expect(waits).toEqual([100, 200, 300, 300]);
});

test("a wait on a signal that has already aborted takes no token", async () => {
  const tokens = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 1 });
    await expect(bucket.wait(AbortSignal.abort("too late"))).rejects.toBe("too late");
    return bucket.tokens();
  });
  expect(tokens).toBe(1);
});

test("who waits until a token is there is not kept waiting by those who take the next ones", async () => {
  const atMs = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 1 });
    const stop = new AbortController();
    const takeAll = async (): Promise<void> => {
      while (!stop.signal.aborted) await bucket.wait();
    };
    const taking = [takeAll(), takeAll()];
    const startedAt = clock.monotonicMs();
    await Promise.race([bucket.untilToken(), timers.sleep(5_000)]);
    const tookMs = clock.monotonicMs() - startedAt;
    stop.abort();
    await Promise.all(taking);
    return tookMs;
  });
  expect(atMs).toBe(200);
});

test("a bounded reservation is refused without taking a token when the wait would be longer", async () => {
  const waits = await onHost(async ({ clock, timers }) => {
    const bucket = new TokenBucket({ clock, timers, qps: 10, burst: 1 });
    bucket.reserve();
    return [bucket.reserveWithin(99)?.waitMs, bucket.reserveWithin(100)?.waitMs];
  });
  expect(waits).toEqual([undefined, 100]);
});

test.each([
  { qps: 0, burst: 1 },
  { qps: -1, burst: 1 },
  { qps: Number.NaN, burst: 1 },
  { qps: 1, burst: 0 },
])("qps $qps with burst $burst is refused", async ({ qps, burst }) => {
  await onHost(async ({ clock, timers }) => {
    expect(() => new TokenBucket({ clock, timers, qps, burst })).toThrow(RangeError);
  });
});
