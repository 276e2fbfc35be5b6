import { expect, test } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import { simulate } from "../../simulation/simulation.ts";
import { Workqueue } from "./workqueue.ts";
import { runWorkers, type Sync } from "./workqueue-workers.ts";

function withQueue<Result>(
  main: (queue: Workqueue, environment: Environment, simulation: Simulation) => Promise<Result>,
): Promise<Result> {
  return simulate({ seed: 1 }, (simulation) => {
    const environment = simulation.host("controller");
    const { clock, timers } = environment;
    return main(new Workqueue({ clock, timers, name: "endpoint" }), environment, simulation);
  });
}

test("as many keys as there are workers are worked on at once", async () => {
  const starts = await withQueue(async (queue, { clock, timers, log }) => {
    const starts: string[] = [];
    const sync: Sync = async (key) => {
      starts.push(`${key} at ${clock.monotonicMs()}`);
      await timers.sleep(100);
    };
    for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);
    queue.shutDown();
    const { signal } = new AbortController();
    await runWorkers({ queue, workers: 2, sync, maxRetries: 15, log, signal });
    return starts;
  });
  expect(starts).toEqual(["a at 0", "b at 0", "c at 100", "d at 100", "e at 200"]);
});

test("a fresh key goes ahead of those that wait until one may be taken", async () => {
  const starts = await withQueue(async (queue, { clock, timers, log }) => {
    const starts: string[] = [];
    const sync: Sync = async (key) => {
      starts.push(`${key} at ${clock.monotonicMs()}`);
      await timers.sleep(1_000);
    };
    for (const key of ["a", "b", "c"]) queue.add(key, "resync");
    const stop = new AbortController();
    const { signal } = stop;
    const beforeTake = () => timers.sleep(100, signal);
    const working = runWorkers({
      queue,
      workers: 3,
      sync,
      beforeTake,
      maxRetries: 15,
      log,
      signal,
    });
    await timers.sleep(150);
    queue.add("fresh");
    await timers.sleep(3_000);
    stop.abort();
    await working;
    return starts;
  });
  expect(starts).toEqual(["a at 100", "fresh at 200", "b at 300", "c at 1200"]);
});

test("a failing key is tried again with growing delays and then given up with one line", async () => {
  const seen = await withQueue(async (queue, { clock, timers, log }, simulation) => {
    const tries: string[] = [];
    const sync: Sync = async (key) => {
      tries.push(`${key} at ${clock.monotonicMs()}`);
      if (key === "bad") throw new Error("refused");
    };
    queue.add("bad");
    queue.add("good");
    const stop = new AbortController();
    const { signal } = stop;
    const working = runWorkers({ queue, workers: 1, sync, maxRetries: 3, log, signal });
    await timers.sleep(10_000);
    stop.abort();
    await working;
    const warnings = simulation.logLines().filter((line) => line.level === "warn");
    return { tries, warnings, requeues: queue.numRequeues("bad") };
  });
  expect(seen).toEqual({
    tries: ["bad at 0", "good at 0", "bad at 5", "bad at 15", "bad at 35"],
    warnings: [
      {
        atMs: 35,
        host: "controller",
        level: "warn",
        message: "work on a key keeps failing; no retry until its next event",
        fields: { queue: "endpoint", key: "bad", retries: 3, error: new Error("refused") },
      },
    ],
    requeues: 0,
  });
});

test("success after failures restarts the delays", async () => {
  const tries = await withQueue(async (queue, { clock, timers, log }) => {
    const tries: number[] = [];
    const sync: Sync = async () => {
      tries.push(clock.monotonicMs());
      if (tries.length !== 3) throw new Error("not yet");
    };
    queue.add("a");
    const stop = new AbortController();
    const { signal } = stop;
    const working = runWorkers({ queue, workers: 1, sync, maxRetries: 3, log, signal });
    await timers.sleep(1_000);
    queue.add("a");
    await timers.sleep(6);
    stop.abort();
    await working;
    return tries;
  });
  expect(tries).toEqual([0, 5, 15, 1_000, 1_005]);
});

test("an abort lets the key in hand finish and leaves the rest in the queue", async () => {
  const seen = await withQueue(async (queue, { timers, log }) => {
    const finished: string[] = [];
    const sync: Sync = async (key) => {
      await timers.sleep(100);
      finished.push(key);
    };
    for (const key of ["a", "b", "c"]) queue.add(key);
    const stop = new AbortController();
    const { signal } = stop;
    const working = runWorkers({ queue, workers: 2, sync, maxRetries: 3, log, signal });
    await timers.sleep(50);
    stop.abort();
    await working;
    return { finished, left: await queue.get() };
  });
  expect(seen).toEqual({ finished: ["a", "b"], left: "c" });
});

test("a key handed over in the instant of the abort goes back to the queue", async () => {
  const left = await withQueue(async (queue, { log }) => {
    const stop = new AbortController();
    const { signal } = stop;
    const sync: Sync = async () => expect.unreachable();
    const working = runWorkers({ queue, workers: 1, sync, maxRetries: 3, log, signal });
    queue.add("a");
    stop.abort();
    await working;
    return await queue.get();
  });
  expect(left).toBe("a");
});
