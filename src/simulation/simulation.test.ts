// The run itself: virtual time, its bounds, hosts and their crashes; timers and files by contract.
import { describe, expect, test } from "vitest";
import { assertCostly, BrokenInvariantError } from "../environment/assert.ts";
import { filesContract } from "../environment/files.contract.ts";
import { timersContract } from "../environment/timers.contract.ts";
import { simulate } from "./simulation.ts";
import { SimulationDeadlockError, SimulationLimitError } from "./virtual-time.ts";

const hourMs = 3_600_000;

describe("simulated timers", () => {
  timersContract((run) => simulate({ seed: 1 }, (simulation) => run(simulation.host("a"))));
});

describe("simulated files", () => {
  filesContract((run) => simulate({ seed: 1 }, (simulation) => run(simulation.host("a").files)));
});

describe("virtual time", () => {
  test("passes only while everyone waits", async () => {
    const times = await simulate({ seed: 1 }, async (simulation) => {
      const { timers, clock } = simulation.host("a");
      await Promise.all([timers.sleep(48 * hourMs), timers.sleep(5)]);
      const seen = [simulation.now(), clock.monotonicMs() as number];
      for (let turn = 0; turn < 1000; turn++) await Promise.resolve();
      return [...seen, simulation.now()];
    });
    expect(times).toEqual([48 * hourMs, 48 * hourMs, 48 * hourMs]);
  });

  test("is the same for all hosts, but their wall clocks may differ and jump", async () => {
    const seen = await simulate({ seed: 1 }, async (simulation) => {
      const a = simulation.host("a");
      const b = simulation.host("b", { wallSkewMs: -250 });
      await a.timers.sleep(1500);
      const before = [a, b].map(({ clock }) => new Date(clock.wallMs()).toISOString());
      simulation.setWallSkew("a", hourMs);
      const after = new Date(a.clock.wallMs()).toISOString();
      return { before, after, monotonic: [a.clock.monotonicMs(), b.clock.monotonicMs()] };
    });
    expect(seen).toEqual({
      before: ["2026-01-01T00:00:01.500Z", "2026-01-01T00:00:01.250Z"],
      after: "2026-01-01T01:00:01.500Z",
      monotonic: [1500, 1500],
    });
  });

  test("a run that waits for nothing that can happen fails and says so", async () => {
    const run = simulate({ seed: 3 }, async (simulation) => {
      simulation.host("a");
      await simulation.host("b").timers.sleep(20);
      await new Promise(() => undefined);
    });
    await expect(run).rejects.toThrow(SimulationDeadlockError);
    await expect(run).rejects.toThrow(
      "nothing is left to happen at 20 ms, after 2 events, and the run still waits: for a " +
        "promise that never settles, or for the real world. Hosts: a, b; open exchanges: 0; seed 3",
    );
  });

  test("a run ends at once when its signal aborts, and does not begin afterwards", async () => {
    const stop = new AbortController();
    const reason = new Error("enough");
    const seen: number[] = [];
    const run = () =>
      simulate({ seed: 1, signal: stop.signal }, async (simulation) => {
        const { timers } = simulation.host("a");
        for (;;) {
          await timers.sleep(10);
          seen.push(simulation.now());
          if (simulation.now() === 30) stop.abort(reason);
        }
      });
    await expect(run()).rejects.toBe(reason);
    expect(seen).toEqual([10, 20, 30]);
    await expect(run()).rejects.toBe(reason);
    expect(seen).toEqual([10, 20, 30]);
  });

  test("a run past its bounds fails and says which", async () => {
    const tick = (options: { maxVirtualMs?: number; maxEvents?: number }, sleepMs: number) =>
      simulate({ seed: 1, ...options }, async (simulation) => {
        for (;;) await simulation.host("a").timers.sleep(sleepMs);
      });
    await expect(tick({ maxVirtualMs: 1000 }, 10)).rejects.toThrow(
      new SimulationLimitError("the run went past 1000 ms of virtual time"),
    );
    await expect(tick({ maxEvents: 50 }, 10)).rejects.toThrow(
      new SimulationLimitError("the run took more than 50 events; now 500 ms"),
    );
  });

  test("what is scheduled when the run ends never happens", async () => {
    const happened: string[] = [];
    const timers = await simulate({ seed: 1 }, async (simulation) => {
      const host = simulation.host("a");
      host.timers.after(10, () => happened.push("later"));
      return host.timers;
    });
    timers.after(0, () => happened.push("after the end"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(happened).toEqual([]);
  });

  test("an unhandled rejection fails the run, even in its last moment", async () => {
    const early = simulate({ seed: 1 }, async (simulation) => {
      void Promise.reject(new Error("unhandled"));
      await simulation.sleep(1000);
    });
    await expect(early).rejects.toThrow("unhandled");
    const late = simulate({ seed: 1 }, async () => {
      void Promise.reject(new Error("unhandled at the end"));
    });
    await expect(late).rejects.toThrow("unhandled at the end");
  });

  test("a timer's callback that throws fails the run", async () => {
    const run = simulate({ seed: 1 }, async (simulation) => {
      simulation.host("a").timers.after(5, () => {
        throw new Error("thrown in a timer");
      });
      await simulation.sleep(1000);
    });
    await expect(run).rejects.toThrow("thrown in a timer");
  });

  test("progress is reported with the guard lifted, while virtual time stands still", async () => {
    const events: { nowMs: number; real: boolean }[] = [];
    await simulate(
      {
        seed: 1,
        progressEveryEvents: 4,
        onProgress: async ({ nowMs }) => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          events.push({ nowMs, real: Date.now() > 0 });
        },
      },
      async (simulation) => {
        for (let turn = 0; turn < 10; turn++) await simulation.sleep(100);
      },
    );
    expect(events).toEqual([
      { nowMs: 300, real: true },
      { nowMs: 700, real: true },
    ]);
  });
});

describe("a simulated host", () => {
  test("is the same for the same name", async () => {
    await simulate({ seed: 1 }, async (simulation) => {
      expect(simulation.host("a")).toBe(simulation.host("a"));
      expect(simulation.host("a")).not.toBe(simulation.host("b"));
    });
  });

  test("has chance of its own, which other hosts do not shift", async () => {
    const draw = (others: readonly string[]): Promise<number[]> =>
      simulate({ seed: 9 }, async (simulation) => {
        for (const other of others) simulation.host(other).random.next();
        const { random } = simulation.host("a");
        return [random.next(), random.next()];
      });
    expect(await draw(["b", "c"])).toEqual(await draw([]));
  });

  test("logs lines that tests can read", async () => {
    const lines = await simulate({ seed: 1 }, async (simulation) => {
      const { log, timers } = simulation.host("a");
      await timers.sleep(5);
      log.child({ part: "watch" }).warn("the watch broke", { attempt: 2 });
      return simulation.logLines();
    });
    expect(lines).toEqual([
      {
        atMs: 5,
        host: "a",
        level: "warn",
        message: "the watch broke",
        fields: { part: "watch", attempt: 2 },
      },
    ]);
  });

  test("when it crashes, its code never runs on; it restarts with its files", async () => {
    const seen = await simulate({ seed: 1 }, async (simulation) => {
      const events: string[] = [];
      const before = simulation.host("a");
      await before.files.write("/tmp/state", "kept");
      before.timers.after(10, () => events.push("timer"));
      void before.timers.sleep(10).then(() => events.push("sleep"));
      simulation.crash("a");
      before.timers.after(0, () => events.push("timer set after death"));
      void before.files.write("/tmp/state", "lost").then(() => events.push("write"));
      before.log.info("logged after death");
      await simulation.sleep(100);
      const after = simulation.host("a");
      const content = Buffer.from((await after.files.read("/tmp/state")) ?? []).toString();
      return { events, content, same: before === after, lines: simulation.logLines() };
    });
    expect(seen).toEqual({ events: [], content: "kept", same: false, lines: [] });
  });
});

test("a broken invariant fails the run even where its error is caught", async () => {
  const run = simulate({ seed: 1 }, async (simulation) => {
    try {
      assertCostly(() => false, "one is two");
    } catch {
      // As a loop does that logs what went wrong and goes on.
    }
    await simulation.sleep(1);
  });
  await expect(run).rejects.toThrow(new BrokenInvariantError("one is two"));
});
