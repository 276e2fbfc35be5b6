// The seats of one priority level. Requests that find none wait in the queue of their flow. A free
// seat goes to the flow whose turn it is, so a flow with many requests delays only itself.
import { assertCostly } from "../../environment/assert.ts";
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import { OverloadError } from "../api-error.ts";

export interface FlowLevelOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly seats: number;
  /** Waiting requests: of one flow, and of all together. */
  readonly maxQueuedPerFlow: number;
  readonly maxQueued: number;
  readonly maxWaitMs: number;
  readonly onRejected: (
    flow: string,
    reason: "queue-full" | "time-out" | "concurrency-limit",
  ) => void;
  readonly onQueued: (flow: string, change: 1 | -1) => void;
  readonly onWaited: (flow: string, waitedMs: number, isExecuted: boolean) => void;
}

interface Waiter {
  readonly grant: () => void;
}

/** The Retry-After of a refusal. */
const retryAfterSeconds = 1;

export class FlowLevel {
  readonly #options: FlowLevelOptions;
  /** Flows with waiting requests; the first is next. Invariant: no queue is empty. */
  readonly #queues = new Map<string, Waiter[]>();
  #executing = 0;
  #queued = 0;

  constructor(options: FlowLevelOptions) {
    this.#options = options;
  }

  /** Resolves with a seat, which must be left. Throws 429; rejects when the client has gone. */
  async enter(flow: string, closed: AbortSignal): Promise<void> {
    const { seats, onWaited } = this.#options;
    if (this.#executing < seats) {
      this.#executing += 1;
      onWaited(flow, 0, true);
      return;
    }
    this.#refuseOverfull(flow);
    await this.#wait(flow, closed);
  }

  leave(): void {
    const [next] = this.#queues;
    if (next === undefined) {
      this.#executing -= 1;
      return;
    }
    const [flow, [waiter, ...waiters]] = next;
    // To the end of the line, unless nothing of it waits any more.
    this.#queues.delete(flow);
    if (waiters.length > 0) this.#queues.set(flow, waiters);
    waiter?.grant();
    this.#check();
  }

  #refuseOverfull(flow: string): void {
    const { maxQueued, maxQueuedPerFlow, onRejected } = this.#options;
    const ownQueued = this.#queues.get(flow)?.length ?? 0;
    if (ownQueued < maxQueuedPerFlow && this.#queued < maxQueued) return;
    onRejected(flow, maxQueued === 0 ? "concurrency-limit" : "queue-full");
    throw new OverloadError(retryAfterSeconds);
  }

  #wait(flow: string, closed: AbortSignal): Promise<void> {
    const { clock, timers, maxWaitMs, onRejected, onQueued, onWaited } = this.#options;
    const began = clock.monotonicMs();
    return new Promise((resolve, reject) => {
      const finish = (isExecuted: boolean): void => {
        cancel();
        closed.removeEventListener("abort", gone);
        this.#queued -= 1;
        onQueued(flow, -1);
        onWaited(flow, elapsedMs(began, clock.monotonicMs()), isExecuted);
      };
      const waiter: Waiter = {
        grant: () => {
          finish(true);
          resolve();
        },
      };
      const gone = (): void => {
        finish(false);
        this.#forget(flow, waiter);
        reject(new Error("the client has gone", { cause: closed.reason }));
      };
      const cancel = timers.after(maxWaitMs, () => {
        finish(false);
        this.#forget(flow, waiter);
        onRejected(flow, "time-out");
        reject(new OverloadError(retryAfterSeconds));
      });
      closed.addEventListener("abort", gone, { once: true });
      this.#queues.set(flow, [...(this.#queues.get(flow) ?? []), waiter]);
      this.#queued += 1;
      onQueued(flow, 1);
    });
  }

  #forget(flow: string, waiter: Waiter): void {
    const waiters = this.#queues.get(flow)?.filter((other) => other !== waiter) ?? [];
    if (waiters.length > 0) this.#queues.set(flow, waiters);
    else this.#queues.delete(flow);
    this.#check();
  }

  #check(): void {
    const isCounted = () => {
      const lengths = [...this.#queues.values()].map(({ length }) => length);
      const queued = lengths.reduce((sum, length) => sum + length, 0);
      return !lengths.includes(0) && queued === this.#queued;
    };
    assertCostly(isCounted, "flows have requests that wait", this.#queues.size);
  }
}
