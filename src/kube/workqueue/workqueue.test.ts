import { expect, test } from "vitest";
import type { Timers } from "../../environment/timers.ts";
import { isThorough } from "../../simulation/seeds.ts";
import { simulate } from "../../simulation/simulation.ts";
import { freshInARowMax, Workqueue, type WorkqueueOptions } from "./workqueue.ts";

interface World {
  readonly queue: Workqueue;
  readonly timers: Timers;
  readonly now: () => number;
}

function withQueue<Result>(
  main: (world: World) => Promise<Result>,
  options: Pick<WorkqueueOptions, "fairness"> = {},
): Promise<Result> {
  return simulate({ seed: 1 }, (simulation) => {
    const { clock, timers } = simulation.host("controller");
    const queue = new Workqueue({ clock, timers, name: "endpoint", ...options });
    return main({ queue, timers, now: () => clock.monotonicMs() });
  });
}

/** Takes and finishes everything that is queued. */
async function drain(queue: Workqueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.length > 0) {
    const key = await queue.get();
    if (key === undefined) break;
    keys.push(key);
    queue.done(key);
  }
  return keys;
}

test("keys come out in the order they went in, each once, at its first place", async () => {
  const keys = await withQueue(async ({ queue }) => {
    for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
    return await drain(queue);
  });
  expect(keys).toEqual(["a", "b", "c"]);
});

test("a key added while in work is not handed out again before its work is done", async () => {
  const seen = await withQueue(async ({ queue }) => {
    queue.add("a");
    await queue.get();
    queue.add("a");
    queue.add("a");
    queue.add("b");
    const lengthInWork = queue.length;
    const meanwhile = await queue.get();
    queue.done("a");
    return { lengthInWork, meanwhile, afterwards: await drain(queue) };
  });
  expect(seen).toEqual({ lengthInWork: 1, meanwhile: "b", afterwards: ["a"] });
});

test("a key that became dirty in work goes to the end, behind what was added meanwhile", async () => {
  const keys = await withQueue(async ({ queue }) => {
    queue.add("a");
    await queue.get();
    queue.add("a");
    queue.add("b");
    queue.done("a");
    return await drain(queue);
  });
  expect(keys).toEqual(["b", "a"]);
});

test("several workers that wait get the keys in the order they asked", async () => {
  const keys = await withQueue(async ({ queue }) => {
    const waiting = [queue.get(), queue.get(), queue.get()];
    queue.add("a");
    queue.add("b");
    queue.add("b");
    queue.add("c");
    return await Promise.all(waiting);
  });
  expect(keys).toEqual(["a", "b", "c"]);
});

test("an aborted wait rejects with the reason, and the next key goes to someone else", async () => {
  const seen = await withQueue(async ({ queue }) => {
    const abort = new AbortController();
    const aborted = queue.get(abort.signal).catch((reason: unknown) => reason);
    const waiting = queue.get();
    abort.abort("stopped");
    queue.add("a");
    const rejected = await queue.get(abort.signal).catch((reason: unknown) => reason);
    return [await aborted, await waiting, rejected, queue.length];
  });
  expect(seen).toEqual(["stopped", "a", "stopped", 0]);
});

test("of several delays for a key the earliest counts", async () => {
  const seen = await withQueue(async ({ queue, now }) => {
    queue.addAfter("a", 300);
    queue.addAfter("a", 100);
    queue.addAfter("a", 200);
    queue.addAfter("b", 50);
    queue.addAfter("c", 0);
    const seen: string[] = [];
    for (let count = 0; count < 3; count++) seen.push(`${await queue.get()} at ${now()}`);
    return seen;
  });
  expect(seen).toEqual(["c at 0", "b at 50", "a at 100"]);
});

test("keys that become ready at one instant come in the order they were delayed", async () => {
  const keys = await withQueue(async ({ queue, timers }) => {
    for (const key of "abcdefgh") queue.addAfter(key, 100);
    await timers.sleep(100);
    return await drain(queue);
  });
  expect(keys.join("")).toBe("abcdefgh");
});

test("a delayed key that is also added at once is worked on at both times", async () => {
  const seen = await withQueue(async ({ queue, timers, now }) => {
    queue.addAfter("a", 100);
    queue.add("a");
    const seen = [await drain(queue)];
    await timers.sleep(100);
    seen.push(await drain(queue));
    return { seen, now: now() };
  });
  expect(seen).toEqual({ seen: [["a"], ["a"]], now: 100 });
});

test("retries wait for the rate limiter and are counted until forgotten", async () => {
  const seen = await withQueue(async ({ queue, now }) => {
    const seen: string[] = [];
    for (let failure = 0; failure < 4; failure++) {
      queue.addRateLimited("a");
      const key = await queue.get();
      seen.push(`${key} at ${now()} after ${queue.numRequeues("a")}`);
      queue.done("a");
    }
    queue.forget("a");
    seen.push(`forgotten: ${queue.numRequeues("a")}`);
    return seen;
  });
  expect(seen).toEqual([
    "a at 5 after 1",
    "a at 15 after 2",
    "a at 35 after 3",
    "a at 75 after 4",
    "forgotten: 0",
  ]);
});

test("a fresh change overtakes a resync of everything", async () => {
  const keys = await withQueue(async ({ queue }) => {
    for (const key of ["a", "b", "c"]) queue.add(key, "resync");
    queue.add("new");
    queue.add("c", "fresh");
    queue.add("c", "resync");
    return await drain(queue);
  });
  expect(keys).toEqual(["new", "c", "a", "b"]);
});

test("the resync lane gets one key in ten however many fresh keys there are", async () => {
  const lanes = await withQueue(async ({ queue }) => {
    for (let index = 0; index < 3; index++) queue.add(`r${index}`, "resync");
    for (let index = 0; index < 40; index++) queue.add(`f${index}`);
    return (await drain(queue)).map((key) => key.charAt(0)).join("");
  });
  const turn = `${"f".repeat(freshInARowMax)}r`;
  expect(lanes).toBe(turn + turn + turn + "f".repeat(40 - 3 * freshInARowMax));
});

test("a retry stays in the lane its key was taken from", async () => {
  const keys = await withQueue(async ({ queue, timers }) => {
    queue.add("old", "resync");
    await queue.get();
    queue.addRateLimited("old");
    queue.done("old");
    await timers.sleep(5);
    queue.add("new");
    return await drain(queue);
  });
  expect(keys).toEqual(["new", "old"]);
});

test("a key dirty in work comes back in the more urgent of the lanes it was added to", async () => {
  const keys = await withQueue(async ({ queue }) => {
    queue.add("a", "resync");
    await queue.get();
    queue.add("a", "resync");
    queue.add("b", "resync");
    queue.add("a", "fresh");
    queue.done("a");
    return await drain(queue);
  });
  expect(keys).toEqual(["a", "b"]);
});

test("after shutDown adds are ignored, delays are dropped, and what is queued can be taken", async () => {
  const seen = await withQueue(async ({ queue, timers }) => {
    queue.add("a");
    queue.addAfter("later", 100);
    queue.shutDown();
    queue.shutDown();
    queue.add("b");
    queue.addAfter("c", 0);
    await timers.sleep(200);
    return [await queue.get(), await queue.get()];
  });
  expect(seen).toEqual(["a", undefined]);
});

test("shutDown wakes every waiting worker", async () => {
  const keys = await withQueue(async ({ queue }) => {
    const waiting = [queue.get(), queue.get()];
    queue.shutDown();
    return await Promise.all(waiting);
  });
  expect(keys).toEqual([undefined, undefined]);
});

test("shutDownWithDrain waits until every key has been taken and done", async () => {
  const events = await withQueue(async ({ queue, timers }) => {
    const events: string[] = [];
    queue.add("a");
    queue.add("b");
    await queue.get();
    queue.add("a");
    const drained = queue.shutDownWithDrain().then(() => events.push("drained"));
    for (const key of ["a", "b", "a"]) {
      queue.done(key);
      events.push(`done ${key}`);
      await timers.sleep(1);
      events.push(`next ${await queue.get()}`);
    }
    await drained;
    return events;
  });
  expect(events).toEqual([
    "done a",
    "next b",
    "done b",
    "next a",
    "done a",
    "drained",
    "next undefined",
  ]);
});

test("shutDown ends a drain without a worker", async () => {
  await withQueue(async ({ queue }) => {
    queue.add("a");
    const drained = queue.shutDownWithDrain();
    queue.shutDown();
    await drained;
    expect(queue.length).toBe(1);
  });
});

test("many keys keep their order through moves and removals", async () => {
  const count = isThorough(process.env) ? 100_000 : 10_000;
  const keys = await withQueue(async ({ queue }) => {
    for (let index = 0; index < count; index++) queue.add(`k${index}`, "resync");
    for (let index = count - 1; index >= 0; index -= 2) queue.add(`k${index}`, "fresh");
    const keys: string[] = [];
    for (let index = 0; index < count; index++) {
      const key = await queue.get();
      if (key !== undefined) queue.done(key);
      keys.push(key ?? "none");
    }
    return keys;
  });
  const numbers = keys.map((key) => Number(key.slice(1)));
  const odd = numbers.filter((number) => number % 2 === 1);
  const even = numbers.filter((number) => number % 2 === 0);
  expect(odd).toEqual(Array.from({ length: count / 2 }, (_, index) => count - 1 - 2 * index));
  expect(even).toEqual(Array.from({ length: count / 2 }, (_, index) => 2 * index));
});

test.each(["fresh", "resync"] as const)("namespaces take turns in the lane %s", async (lane) => {
  const keys = await withQueue(
    async ({ queue }) => {
      for (const key of ["loud/1", "loud/2", "loud/3", "loud/4", "routes"]) queue.add(key, lane);
      for (const key of ["quiet/1", "quiet/2"]) queue.add(key, lane);
      return await drain(queue);
    },
    { fairness: "namespaces" },
  );
  expect(keys).toEqual(["loud/1", "routes", "quiet/1", "loud/2", "quiet/2", "loud/3", "loud/4"]);
});

test("retries of one namespace do not delay those of another", async () => {
  const retried = await withQueue(
    async ({ queue, timers, now }) => {
      for (let number = 0; number < 10_000; number += 1) queue.addRateLimited(`loud/${number}`);
      queue.addRateLimited("quiet/1");
      const startedMs = now();
      for (;;) {
        const key = await queue.get();
        if (key === "quiet/1") return now() - startedMs;
        if (key !== undefined) queue.done(key);
        await timers.breathe();
      }
    },
    { fairness: "namespaces" },
  );
  expect(retried).toBeLessThan(100);
});
