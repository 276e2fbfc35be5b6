// Waiting in real time. The functions are taken at import: a simulation in the same process
// replaces the ambient ones. No listener stays on a signal once its wait is over.
import type { CancelTimer, Timers } from "../timers.ts";

const startTimer = setTimeout;
const stopTimer = clearTimeout;
const startImmediate = setImmediate;

/** Node fires a timer with a longer delay at once, so a longer one is waited for in parts. */
const longestTimerMs = 2 ** 31 - 1;

export const nodeTimers: Timers = { after, sleep, breathe };

function after(delayMs: number, callback: () => void): CancelTimer {
  let remainingMs = Math.max(0, delayMs);
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const partMs = Math.min(remainingMs, longestTimerMs);
    remainingMs -= partMs;
    timer = startTimer(remainingMs > 0 ? wait : callback, partMs);
  };
  wait();
  return () => stopTimer(timer);
}

function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function breathe(): Promise<void> {
  return new Promise((resolve) => startImmediate(resolve));
}
