// The loop of a simulated run: take the earliest event, set the clock to its time, run it, let all
// promises settle, take the next. Nothing else moves virtual time. Promises settle because every event
// is an immediate of its own in the real event loop, which costs about a microsecond.
import { EventQueue, type ScheduledEvent } from "./event-queue.ts";
import type { Trace } from "./trace.ts";

export interface Progress {
  readonly nowMs: number;
  readonly events: number;
}

export interface VirtualTimeOptions {
  readonly trace: Trace;
  /** The run fails when virtual time would pass this. */
  readonly maxVirtualMs: number;
  /** The run fails after so many events. */
  readonly maxEvents: number;
  /** Said when nothing is left to happen. */
  readonly describeWaiting: () => string;
  readonly progress?: {
    readonly everyEvents: number;
    /** Awaited; virtual time stands still meanwhile. */
    readonly report: (progress: Progress) => void | Promise<void>;
  };
}

/** Nothing is left to happen, and the run still waits for something. */
export class SimulationDeadlockError extends Error {
  override readonly name = "SimulationDeadlockError";
  readonly code = "DEADLOCK";
}

/** The run went past a bound on virtual time or events. */
export class SimulationLimitError extends Error {
  override readonly name = "SimulationLimitError";
  readonly code = "LIMIT";
}

/** So many events in one instant mean a loop that never waits, not a busy instant. */
const maxEventsPerInstant = 2_000_000;

/**
 * Promises settle between any two of these, as between two turns of the real event loop, which would
 * also look for input each time; that costs as much as an event.
 */
const stepsPerTurn = 32;

/** Captured before any guard replaces it: the loop itself runs on the real one. */
const realSetImmediate = setImmediate;

export class VirtualTime {
  readonly #options: VirtualTimeOptions;
  readonly #queue = new EventQueue();
  #nowMs = 0;
  #events = 0;
  #eventsThisInstant = 0;
  #finished = false;
  #fail: ((error: unknown) => void) | undefined;

  constructor(options: VirtualTimeOptions) {
    this.#options = options;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get events(): number {
    return this.#events;
  }

  get pending(): number {
    return this.#queue.size;
  }

  /** True once the run is over: nothing scheduled from then on happens. */
  get finished(): boolean {
    return this.#finished;
  }

  at(atMs: number, owner: object | undefined, callback: () => void): ScheduledEvent {
    const timeMs = Math.max(atMs, this.#nowMs);
    if (this.#finished)
      return { dueAt: timeMs, place: -1, sequence: 0, owner, callback: undefined };
    return this.#queue.schedule(timeMs, owner, callback);
  }

  after(delayMs: number, owner: object | undefined, callback: () => void): ScheduledEvent {
    return this.at(this.#nowMs + delayMs, owner, callback);
  }

  cancel(event: ScheduledEvent): void {
    this.#queue.cancel(event);
  }

  cancelOwnedBy(owner: object): void {
    this.#queue.cancelOwnedBy(owner);
  }

  /** Ends the run with this error, whatever it waits for. */
  fail(error: unknown): void {
    this.#fail?.(error);
  }

  /** Runs `main` until it settles; what is still scheduled then is dropped. Once only. */
  async run<Result>(main: () => Promise<Result>): Promise<Result> {
    const result = new Promise<Result>((resolve, reject) => {
      this.#fail = reject;
      this.#queue.schedule(0, undefined, () => {
        main().then(resolve, reject);
      });
    });
    const turning = this.#turn();
    try {
      return await result.finally(() => {
        this.#finished = true;
      });
    } finally {
      await turning;
      this.#queue.clear();
    }
  }

  /** Turns until the run is over. While a report goes on nothing happens. */
  #turn(): Promise<void> {
    return new Promise((done) => {
      /** Steps of this turn of the real loop that are still to come. */
      let stepsLeft = 0;
      let isReporting = false;
      const nextTurn = (): void => {
        if (stepsLeft > 0 || isReporting) return;
        if (this.#finished) {
          done();
          return;
        }
        stepsLeft = stepsPerTurn;
        for (let step = 0; step < stepsPerTurn; step += 1) realSetImmediate(takeStep);
      };
      const takeStep = (): void => {
        stepsLeft -= 1;
        if (!this.#finished && !isReporting) {
          this.#step();
          isReporting = this.#isReportDue();
          if (isReporting) {
            void this.#report().then(() => {
              isReporting = false;
              nextTurn();
            });
          }
        }
        nextTurn();
      };
      nextTurn();
    });
  }

  #isReportDue(): boolean {
    const { progress } = this.#options;
    return progress !== undefined && this.#events % progress.everyEvents === 0;
  }

  /** Never rejects: a report that fails ends the run. */
  async #report(): Promise<void> {
    try {
      await this.#options.progress?.report({ nowMs: this.#nowMs, events: this.#events });
    } catch (error) {
      this.fail(error);
    }
  }

  #step(): void {
    const event = this.#queue.pop();
    const callback = event?.callback;
    if (event === undefined || callback === undefined) {
      this.fail(new SimulationDeadlockError(this.#options.describeWaiting()));
      return;
    }
    event.callback = undefined;
    if (!this.#advanceTo(event.dueAt)) return;
    this.#options.trace.add("event", event.dueAt, event.sequence, 0);
    try {
      callback();
    } catch (error) {
      this.fail(error);
    }
  }

  #advanceTo(atMs: number): boolean {
    const { maxVirtualMs, maxEvents } = this.#options;
    this.#events += 1;
    this.#eventsThisInstant = atMs === this.#nowMs ? this.#eventsThisInstant + 1 : 0;
    if (atMs > maxVirtualMs) {
      this.fail(new SimulationLimitError(`the run went past ${maxVirtualMs} ms of virtual time`));
      return false;
    }
    this.#nowMs = atMs;
    if (this.#events > maxEvents) {
      const message = `the run took more than ${maxEvents} events; now ${atMs} ms`;
      this.fail(new SimulationLimitError(message));
      return false;
    }
    if (this.#eventsThisInstant > maxEventsPerInstant) {
      const message = `virtual time stands still at ${atMs} ms: a loop goes round without waiting`;
      this.fail(new SimulationLimitError(message));
      return false;
    }
    return true;
  }
}
