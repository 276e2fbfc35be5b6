// A long computation as a generator that stops after each small step. It is driven at once, or in slices
// between which the event loop reads what has come in: then nothing that one object asks for holds up
// what happens to others.
import { type Clock, elapsedMs } from "./clock.ts";
import type { ProcessorMeter } from "./processor.ts";
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

/** How many elements of a list are one step: a stop after each would cost more than many elements. */
const perStep = 16;

/** Short enough to be sorted in one step. */
const runLength = 256;

export function* mapInSteps<From, To>(
  list: readonly From[],
  map: (one: From) => To,
): Steps<readonly To[]> {
  const mapped: To[] = [];
  for (const one of list) {
    mapped.push(map(one));
    if (mapped.length % perStep === 0) yield;
  }
  return mapped;
}

/** As `toSorted`: equal elements keep their order. */
export function* sortedInSteps<One>(
  list: readonly One[],
  compare: (one: One, other: One) => number,
): Steps<readonly One[]> {
  let runs: (readonly One[])[] = [];
  for (let from = 0; from < list.length; from += runLength) {
    runs.push(list.slice(from, from + runLength).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly One[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergedInSteps(runs[at] ?? [], runs[at + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedInSteps<One>(
  first: readonly One[],
  second: readonly One[],
  compare: (one: One, other: One) => number,
): Steps<readonly One[]> {
  // Lists are often in order already.
  const isEither = first.length === 0 || second.length === 0;
  if (isEither || compare(first.at(-1) as One, second[0] as One) <= 0) return first.concat(second);
  const merged: One[] = [];
  let [at, otherAt] = [0, 0];
  while (at < first.length && otherAt < second.length) {
    const [one, other] = [first[at] as One, second[otherAt] as One];
    if (compare(one, other) <= 0) {
      merged.push(one);
      at += 1;
    } else {
      merged.push(other);
      otherAt += 1;
    }
    if (merged.length % perStep === 0) yield;
  }
  return merged.concat(first.slice(at), second.slice(otherAt));
}

export interface SliceOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "breathe">;
  /** Measures the slices, without others in between. */
  readonly meter?: ProcessorMeter;
}

export async function inSlices<Result>(
  steps: Steps<Result>,
  { clock, timers, meter }: SliceOptions,
): Promise<Result> {
  for (;;) {
    const beganAt = clock.monotonicMs();
    let tookMs = 0;
    meter?.begin();
    for (let count = 0; count < sliceSteps && tookMs < sliceMs; count += 1) {
      const { done, value } = steps.next();
      if (done) {
        meter?.end();
        return value;
      }
      tookMs = elapsedMs(beganAt, clock.monotonicMs());
    }
    meter?.end();
    await timers.breathe();
  }
}
