import { expect, test } from "vitest";
import { monotonicAfter } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Network } from "../../environment/network.ts";
import type { Timers } from "../../environment/timers.ts";
import { simulate } from "../../simulation/simulation.ts";
import { LeaderFence, NotLeadingError } from "./leader-fence.ts";

function onHost<Result>(main: (environment: Environment) => Promise<Result>): Promise<Result> {
  return simulate({ seed: 1 }, (simulation) => main(simulation.host("replica")));
}

/** A machine so busy that its timers do not fire. */
const noTimers: Timers = {
  after: () => () => undefined,
  sleep: () => new Promise(() => undefined),
  breathe: () => Promise.resolve(),
};

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* [];
}

test("leading ends at its instant and not before, and then the signal aborts", async () => {
  const seen = await onHost(async ({ clock, timers }) => {
    const fence = new LeaderFence({ clock, timers });
    const seen = [fence.isLeading()];
    const signal = fence.grant(monotonicAfter(clock.monotonicMs(), 100));
    seen.push(fence.isLeading(), signal.aborted);
    await timers.sleep(99);
    seen.push(fence.isLeading(), signal.aborted);
    await timers.sleep(1);
    seen.push(
      fence.isLeading(),
      signal.aborted,
      fence.extend(monotonicAfter(clock.monotonicMs(), 9)),
    );
    return seen;
  });
  expect(seen).toEqual([false, true, false, true, false, false, true, false]);
});

test("an extension moves the end", async () => {
  const seen = await onHost(async ({ clock, timers }) => {
    const fence = new LeaderFence({ clock, timers });
    const start = clock.monotonicMs();
    const signal = fence.grant(monotonicAfter(start, 100));
    const extended = fence.extend(monotonicAfter(start, 200));
    await timers.sleep(199);
    const before = [fence.isLeading(), signal.aborted];
    await timers.sleep(1);
    return [extended, ...before, fence.isLeading(), signal.aborted];
  });
  expect(seen).toEqual([true, true, false, false, true]);
});

test("a write that starts while leading sees the signal abort; one that comes later never starts", async () => {
  const seen = await onHost(async ({ clock, timers }) => {
    const fence = new LeaderFence({ clock, timers });
    fence.grant(monotonicAfter(clock.monotonicMs(), 100));
    const waiting = fence.runIfLeading((signal) => timers.sleep(1_000, signal));
    const error = await waiting.catch((reason: unknown) => reason);
    let hasStarted = false;
    const late = await fence
      .runIfLeading(async () => {
        hasStarted = true;
      })
      .catch((reason: unknown) => reason);
    return { error, at: clock.monotonicMs(), late, hasStarted };
  });
  expect(seen).toEqual({
    error: new NotLeadingError("the renew deadline has passed"),
    at: 100,
    late: new NotLeadingError("this replica is not the leader"),
    hasStarted: false,
  });
});

test("past the deadline nothing starts even though no timer has fired", async () => {
  const seen = await onHost(async ({ clock, timers, network }) => {
    const fence = new LeaderFence({ clock, timers: noTimers });
    const sent: string[] = [];
    const recording: Network = {
      listen: (options, handler) => network.listen(options, handler),
      request: async (request) => {
        sent.push(request.method);
        return { status: 200, headers: {}, body: nothing(), peer: "api:80" };
      },
    };
    const guarded = fence.guard(recording);
    const url = "http://api/x";
    fence.grant(monotonicAfter(clock.monotonicMs(), 100));
    await guarded.request({ method: "PUT", url });
    await timers.sleep(100);
    await guarded.request({ method: "GET", url });
    const refused = await guarded
      .request({ method: "PATCH", url })
      .catch((reason: unknown) => reason);
    return { isLeading: fence.isLeading(), sent, refused };
  });
  expect(seen).toEqual({
    isLeading: false,
    sent: ["PUT", "GET"],
    refused: new NotLeadingError("not the leader: PATCH http://api/x is not sent"),
  });
});

test("settled waits for every write that was begun, whether it succeeds or fails", async () => {
  const at = await onHost(async ({ clock, timers }) => {
    const fence = new LeaderFence({ clock, timers });
    fence.grant(monotonicAfter(clock.monotonicMs(), 50));
    const good = fence.runIfLeading(() => timers.sleep(300));
    const bad = fence.runIfLeading(async () => {
      await timers.sleep(200);
      throw new Error("refused");
    });
    await Promise.all([fence.settled(), good, expect(bad).rejects.toThrow("refused")]);
    return clock.monotonicMs();
  });
  expect(at).toBe(300);
});
