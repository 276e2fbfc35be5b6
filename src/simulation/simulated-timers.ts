// The clock and the timers of one simulated process. Timers are exact: they fire at the virtual
// instant asked for, and not at all once their process has ended.
import type { Clock, MonotonicMs, WallMs } from "../environment/clock.ts";
import type { CancelTimer, Timers } from "../environment/timers.ts";
import { never, type SimulatedProcess } from "./simulated-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** True time when a run begins: 2026-01-01T00:00:00Z. */
export const wallStartMs = Date.UTC(2026, 0, 1);

export function simulatedClock(time: VirtualTime, process: SimulatedProcess): Clock {
  const { host } = process;
  return {
    monotonicMs: () => time.nowMs as MonotonicMs,
    wallMs: () => Math.floor(wallStartMs + time.nowMs + host.wallSkewMs) as WallMs,
  };
}

export class SimulatedTimers implements Timers {
  readonly #time: VirtualTime;
  readonly #process: SimulatedProcess;
  /** Each stops listening to the signal of one sleep. */
  readonly #unlisten = new Set<() => void>();

  constructor(options: { time: VirtualTime; process: SimulatedProcess }) {
    this.#time = options.time;
    this.#process = options.process;
    this.#process.onEnd(() => {
      this.#time.cancelOwnedBy(this.#process);
      // Node keeps a signal made of others for as long as something listens to it, and by that
      // everything the dead process had.
      for (const unlisten of this.#unlisten) unlisten();
      this.#unlisten.clear();
    });
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    assertFinite(delayMs);
    if (this.#process.ended) return () => undefined;
    const event = this.#time.after(delayMs, this.#process, callback);
    return () => this.#time.cancel(event);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    assertFinite(delayMs);
    if (this.#process.ended) return never();
    if (signal === undefined) {
      return new Promise((resolve) => {
        this.#time.after(delayMs, this.#process, resolve);
      });
    }
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const unlisten = (): void => signal.removeEventListener("abort", onAbort);
      const event = this.#time.after(delayMs, this.#process, () => {
        this.#unlisten.delete(unlisten);
        unlisten();
        resolve();
      });
      const onAbort = (): void => {
        this.#unlisten.delete(unlisten);
        this.#time.cancel(event);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#unlisten.add(unlisten);
    });
  }

  breathe(): Promise<void> {
    return this.sleep(0);
  }
}

/** A delay of NaN or Infinity is a mistake; a real timer would fire at once and hide it. */
function assertFinite(delayMs: number): void {
  if (!Number.isFinite(delayMs)) throw new RangeError(`a delay of ${delayMs} ms`);
}
