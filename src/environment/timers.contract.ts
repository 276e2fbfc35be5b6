// The contract of every `Timers`, in real and in virtual time.
import { describe, expect, it } from "vitest";
import { elapsedMs } from "./clock.ts";
import type { Environment } from "./environment.ts";

export type TimersWorld = Pick<Environment, "clock" | "timers">;

/** Makes a fresh world, runs one test body in it and cleans up. */
export type RunInTimersWorld = (test: (world: TimersWorld) => Promise<void>) => Promise<void>;

/** Node rounds its timers to whole milliseconds, so one may fire a fraction of one early. */
const timerGrainMs = 1;

/** The longest delay a real timer of Node takes; a longer one would fire at once. */
const longestNodeDelayMs = 2 ** 31 - 1;

export function timersContract(run: RunInTimersWorld): void {
  describe("after", () => {
    afterContract(run);
  });
  describe("sleep", () => {
    sleepContract(run);
  });
  describe("breathe", () => {
    it("lets work that is already waiting run first", () =>
      run(async ({ timers }) => {
        let ran = false;
        const other = timers.breathe().then(() => {
          ran = true;
        });
        await timers.breathe();
        expect(ran).toBe(true);
        await other;
      }));
  });
}

function afterContract(run: RunInTimersWorld): void {
  it("calls back once, after the delay", () =>
    run(async ({ clock, timers }) => {
      const start = clock.monotonicMs();
      const calls: number[] = [];
      timers.after(20, () => calls.push(elapsedMs(start, clock.monotonicMs())));
      expect(calls).toEqual([]);
      await timers.sleep(60);
      expect(calls).toHaveLength(1);
      expect(calls[0]).toBeGreaterThanOrEqual(20 - timerGrainMs);
    }));

  it("never calls back inside the call that set it, and takes a negative delay as zero", () =>
    run(async ({ timers }) => {
      const order: string[] = [];
      timers.after(-1000, () => order.push("negative"));
      timers.after(0, () => order.push("zero"));
      order.push("now");
      await timers.sleep(20);
      expect(order).toEqual(["now", "negative", "zero"]);
    }));

  it("calls back in the order of the delays, and equal delays in the order they were set", () =>
    run(async ({ timers }) => {
      const order: string[] = [];
      timers.after(60, () => order.push("late"));
      timers.after(20, () => order.push("early, first"));
      timers.after(20, () => order.push("early, second"));
      await timers.sleep(120);
      expect(order).toEqual(["early, first", "early, second", "late"]);
    }));

  it("does not call back once cancelled; cancelling again or later is harmless", () =>
    run(async ({ timers }) => {
      const calls: string[] = [];
      const cancelFirst = timers.after(10, () => calls.push("cancelled"));
      const cancelSecond = timers.after(10, () => calls.push("kept"));
      cancelFirst();
      cancelFirst();
      await timers.sleep(40);
      cancelSecond();
      expect(calls).toEqual(["kept"]);
    }));

  it("waits through a delay longer than the platform's longest timer", () =>
    run(async ({ timers }) => {
      let called = false;
      const cancel = timers.after(longestNodeDelayMs + 1, () => {
        called = true;
      });
      await timers.sleep(20);
      cancel();
      expect(called).toBe(false);
    }));
}

function sleepContract(run: RunInTimersWorld): void {
  it("resolves after the delay", () =>
    run(async ({ clock, timers }) => {
      const start = clock.monotonicMs();
      await timers.sleep(20);
      expect(elapsedMs(start, clock.monotonicMs())).toBeGreaterThanOrEqual(20 - timerGrainMs);
    }));

  it("rejects with the signal's reason as soon as it aborts", () =>
    run(async ({ clock, timers }) => {
      const controller = new AbortController();
      const reason = new Error("no longer wanted");
      const start = clock.monotonicMs();
      timers.after(10, () => controller.abort(reason));
      await expect(timers.sleep(600_000, controller.signal)).rejects.toBe(reason);
      expect(elapsedMs(start, clock.monotonicMs())).toBeLessThan(600_000);
    }));

  it("rejects at once when the signal has aborted before", () =>
    run(async ({ timers }) => {
      const reason = new Error("never wanted");
      await expect(timers.sleep(600_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    }));

  it("is not disturbed by a signal that aborts afterwards", () =>
    run(async ({ timers }) => {
      const controller = new AbortController();
      const slept = timers.sleep(5, controller.signal);
      await expect(slept).resolves.toBeUndefined();
      controller.abort(new Error("too late"));
      await expect(slept).resolves.toBeUndefined();
    }));
}
