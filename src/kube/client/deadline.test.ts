// Deadlines in a hand-driven time: their aborts, and that nothing is left behind.
import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { Timers } from "../../environment/timers.ts";
import { DeadlineExceededError } from "./client.ts";
import { Deadline, orAborted } from "./deadline.ts";

describe("a deadline", () => {
  it("aborts with a DeadlineExceededError when the time has passed", () => {
    const { timers, pass } = handTimers();
    const { signal } = new AbortController();
    const deadline = new Deadline({ timers, deadlineMs: 100, signal, what: "GET /x" });
    pass(99);
    expect(deadline.signal.aborted).toBe(false);
    pass(1);
    expect(deadline.signal.reason).toEqual(
      new DeadlineExceededError("GET /x: no answer within 100 ms"),
    );
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("aborts with the caller's reason when that comes first, and forgets the time", () => {
    const { timers, pending } = handTimers();
    const controller = new AbortController();
    const { signal } = controller;
    const deadline = new Deadline({ timers, deadlineMs: 100, signal, what: "GET /x" });
    const reason = new Error("not wanted");
    controller.abort(reason);
    expect(deadline.signal.reason).toBe(reason);
    expect(pending()).toBe(0);
  });

  it("has aborted from the start when the caller had", () => {
    const { timers, pending } = handTimers();
    const reason = new Error("never wanted");
    const signal = AbortSignal.abort(reason);
    const deadline = new Deadline({ timers, deadlineMs: 100, signal, what: "GET /x" });
    expect(deadline.signal.reason).toBe(reason);
    expect(pending()).toBe(0);
  });

  it("that is met listens to the caller still", () => {
    const { timers, pending, pass } = handTimers();
    const controller = new AbortController();
    const { signal } = controller;
    const deadline = new Deadline({ timers, deadlineMs: 100, signal, what: "GET /x" });
    deadline.met();
    expect(pending()).toBe(0);
    pass(1000);
    expect(deadline.signal.aborted).toBe(false);
    controller.abort(new Error("not wanted"));
    expect(deadline.signal.aborted).toBe(true);
  });

  it("that is released leaves neither a timer nor a listener", () => {
    const { timers, pending } = handTimers();
    const controller = new AbortController();
    const { signal } = controller;
    const deadline = new Deadline({ timers, deadlineMs: 100, signal, what: "GET /x" });
    deadline.release();
    deadline.release();
    expect(pending()).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    controller.abort(new Error("too late"));
    expect(deadline.signal.aborted).toBe(false);
  });
});

describe("orAborted", () => {
  it("gives the promise's outcome and takes its listener back", async () => {
    const { signal } = new AbortController();
    await expect(orAborted(Promise.resolve("value"), signal)).resolves.toBe("value");
    const failure = new Error("failed");
    await expect(orAborted(Promise.reject(failure), signal)).rejects.toBe(failure);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("gives up when the signal aborts first, or already had", async () => {
    const controller = new AbortController();
    const reason = new Error("not wanted");
    const waiting = orAborted(new Promise(() => undefined), controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    const late = Promise.reject(new Error("an error that comes too late"));
    await expect(orAborted(late, controller.signal)).rejects.toBe(reason);
  });
});

/** Timers that advance only when a test calls `pass`. */
function handTimers() {
  let nowMs = 0;
  const waiting = new Map<() => void, number>();
  const timers: Timers = {
    after: (delayMs, callback) => {
      waiting.set(callback, nowMs + delayMs);
      return () => waiting.delete(callback);
    },
    sleep: () => Promise.reject(new Error("not used")),
    breathe: () => Promise.resolve(),
  };
  const pass = (ms: number): void => {
    nowMs += ms;
    for (const [callback, dueMs] of waiting) {
      if (dueMs > nowMs) continue;
      waiting.delete(callback);
      callback();
    }
  };
  return { timers, pass, pending: () => waiting.size };
}
