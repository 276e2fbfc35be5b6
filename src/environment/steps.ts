// A long computation as a generator that stops after each small step. It is driven at once, or in slices
// between which the event loop reads what has come in: then nothing that one object asks for holds up
// what happens to others.
import { type Clock, elapsedMs } from "./clock.ts";
import type { Timers } from "./timers.ts";

/** Each step takes well below a millisecond. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/**
 * A pod that leaves is routed around within a few milliseconds, and meanwhile waits for two slices or
 * more: before its event is read, and before the proxy's answer is. The turn of the event loop in
 * between takes some microseconds.
 */
const sliceMs = 1;

/**
 * However fast the steps are. Simulated time stands still while something is computed, so without this
 * a simulation would know no slices.
 */
export const sliceSteps = 512;

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

export interface SliceOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "breathe">;
}

export async function inSlices<Result>(
  steps: Steps<Result>,
  { clock, timers }: SliceOptions,
): Promise<Result> {
  for (;;) {
    const beganAt = clock.monotonicMs();
    for (let count = 0; count < sliceSteps; count += 1) {
      const { done, value } = steps.next();
      if (done) return value;
      if (elapsedMs(beganAt, clock.monotonicMs()) >= sliceMs) break;
    }
    await timers.breathe();
  }
}
