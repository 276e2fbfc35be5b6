// How far each witness has followed the changes of one endpoint. The changes are a list in which joins
// and leaves alternate; a witness goes through them in order, at its own pace, may leave some out, and
// never goes back. From that follows which change each of its steps shows. Pure, but for the marks that
// it puts on changes.
import { assert } from "../environment/assert.ts";
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Change, Sighting } from "./change.ts";
import { settleMs } from "./journey-limits.ts";
import type { Place } from "./place.ts";
import { type Direction, isSameWitness, type Witness, type WitnessedEndpoint } from "./witness.ts";

/** A witness showed the endpoint, or ceased to. */
export interface Step extends Sighting {
  readonly direction: Direction;
}

/** The steps of one witness for the endpoint. */
export interface Cursor {
  readonly witness: Witness;
  /** Whether the endpoint is there, as the witness shows it. */
  direction: Direction;
  /** Since when it is shown so. */
  at: MonotonicMs;
  /** `first`: the state at the witness's first report; `assumed`: it has not reported at all. */
  origin: "step" | "first" | "assumed";
  /** The id of the last change that the witness has shown or passed. */
  through: number;
  /** The last step, while it has shown no change: the witness is ahead of the reference, or wrong. */
  alone: Step | undefined;
  /** Steps of which it is not clear yet which changes they show, oldest first. */
  steps: readonly Step[];
}

/** The outcome of a change at a witness. */
export interface Settled {
  readonly change: Change;
  readonly witness: Witness;
}

const noSteps: readonly Step[] = [];
const nothing: readonly Settled[] = [];

/**
 * One watch of a cluster may deliver its part of a simultaneous change later than another by this
 * much.
 */
const overtakenMs = 100;

/** Beyond it the steps of a witness count as what they most likely are. */
const unclearMax = 16;

export class Line {
  /** Without a pod: any owner of the address. */
  endpoint: WitnessedEndpoint;
  /** Opened by the reference of this endpoint. Invariant: ids rise. */
  readonly own: Change[] = [];
  readonly cursors: Cursor[] = [];
  /** As a pod watch names it. */
  podName: string | undefined;
  /** Where it is. */
  readonly place: Place;

  constructor(endpoint: WitnessedEndpoint, place: Place) {
    this.endpoint = endpoint;
    this.place = place;
  }

  cursorOf(witness: Witness): Cursor | undefined {
    return this.cursors.find((cursor) => isSameWitness(cursor.witness, witness));
  }

  /** For a witness that begins to report, or is expected to. */
  begin(
    witness: Witness,
    state: Pick<Cursor, "direction" | "at" | "origin">,
    changes: readonly Change[],
  ): Cursor {
    const cursor: Cursor = { witness, ...state, through: 0, alone: undefined, steps: noSteps };
    this.cursors.push(cursor);
    const pending = changes.find(({ outcome }) => outcome === "pending");
    const isAwaited = state.origin === "assumed" && pending?.direction !== state.direction;
    // It has shown nothing yet, so it may show all that is in flight.
    if (isAwaited && pending !== undefined) cursor.through = pending.id - 1;
    else standBefore(cursor, changes.at(-1));
    return cursor;
  }

  forget(witness: Witness): void {
    const index = this.cursors.findIndex((cursor) => isSameWitness(cursor.witness, witness));
    if (index !== -1) this.cursors.splice(index, 1);
  }
}

/** It stands after the newest change where it shows the same, and before it otherwise. */
export function standBefore(cursor: Cursor, newest: Change | undefined): void {
  cursor.steps = noSteps;
  if (newest === undefined) return;
  const isAfter = newest.direction === cursor.direction;
  cursor.through = isAfter ? newest.id : newest.id - 1;
  if (!isAfter) newest.disagree(cursor.witness);
  else if (newest.outcome === "pending") newest.agree(cursor.witness);
}

/** The changes that the witness has neither shown nor passed. */
export function aheadOf(cursor: Cursor, changes: readonly Change[]): readonly Change[] {
  const last = changes.at(-1);
  if (last === undefined || last.id <= cursor.through) return [];
  return changes.filter(({ id }) => id > cursor.through);
}

/** Until when what is known can be relied on. */
export interface Known {
  readonly now: MonotonicMs;
  /** The watermark of the reference: all changes that had happened by then are there. */
  readonly currentAt: MonotonicMs;
}

/**
 * Moves the cursor as far as its steps are certain: where they show every change, one after the
 * other. If changes are skipped, later steps may show them, so it waits for quiet. If changes are
 * left over, the last step may belong to a change that the reference has not reported yet.
 */
export function follow(
  cursor: Cursor,
  changes: readonly Change[],
  known: Known,
): readonly Settled[] {
  const ahead = aheadOf(cursor, changes);
  const newest = ahead.at(-1);
  if (newest === undefined) return nothing;
  const { steps, witness } = cursor;
  const fit = fitSteps(steps, ahead);
  const last = fit.findLast((change) => change !== undefined);
  const agrees = cursor.direction === newest.direction;
  // Steps from before the first of them have nothing to do with it.
  const from = steps.findIndex(({ at }, index) => fit[index] !== undefined || at >= firstAt(ahead));
  const isPlain = from !== -1 && fit.slice(from).every((change, index) => change === ahead[index]);
  if (isPlain && (agrees || cursor.at < known.currentAt)) {
    return settle(cursor, fit, last?.id ?? cursor.through);
  }
  const quietSince = Math.max(cursor.at, newest.begunAt) as MonotonicMs;
  const isQuiet = elapsedMs(quietSince, known.now) >= settleMs || steps.length > unclearMax;
  // Nothing that it could still show: it had it so before the only change that it has not shown.
  const isOnly = ahead.filter(({ isDisagreement }) => !isDisagreement).length <= 1;
  const isUnchanged = agrees && isOnly && last === undefined;
  if (!isQuiet && !isUnchanged) return nothing;
  if (!agrees && last === undefined) return nothing;
  const { alone } = cursor;
  const settled = settle(cursor, fit, agrees ? newest.id : (last?.id ?? cursor.through));
  if (!agrees || newest.isMarkedBy(witness)) return settled;
  const wasAhead = isUnchanged && !newest.isDisagreement && newest.direction === "leave";
  if (alone === undefined || !wasAhead) {
    newest.agree(witness);
    return settled;
  }
  // It found out by itself that the endpoint is dead, perhaps long before the reference.
  newest.show(alone);
  cursor.alone = undefined;
  return [...settled, { change: newest, witness }];
}

function firstAt([first]: readonly Change[]): number {
  return first?.begunAt ?? -Infinity;
}

/** When `follow` has to be asked again if nothing happens; undefined when that changes nothing. */
export function settlesAt(
  cursor: Cursor,
  changes: readonly Change[],
  now: MonotonicMs,
): number | undefined {
  const ahead = aheadOf(cursor, changes);
  const newest = ahead.at(-1);
  if (newest === undefined) return undefined;
  const isBehind = cursor.direction !== newest.direction;
  // The watermark moves with every look.
  if (isBehind) return cursor.steps.length === 0 ? undefined : now + 1;
  return Math.max(cursor.at, newest.begunAt) + settleMs;
}

function settle(
  cursor: Cursor,
  fit: readonly (Change | undefined)[],
  through: number,
): readonly Settled[] {
  const { witness, steps } = cursor;
  assert(cursor.through <= through, "a witness never goes back to an earlier change");
  cursor.through = through;
  cursor.steps = noSteps;
  if (fit.at(-1) !== undefined) cursor.alone = undefined;
  return fit.flatMap((change, index) => {
    const step = steps[index];
    if (change === undefined || step === undefined) return [];
    change.show(step);
    return [{ change, witness }];
  });
}

/**
 * Finds the change that each step shows: from the newest step back, the newest change of its
 * direction that had begun, because controllers and proxies act on the current state. The reference
 * may report later than a witness that reacts to it. Then an earlier step shows the change, unless
 * it was reverted by then.
 */
function fitSteps(
  steps: readonly Step[],
  changes: readonly Change[],
): readonly (Change | undefined)[] {
  const fit: (Change | undefined)[] = [];
  let end = changes.length;
  for (let index = steps.length - 1; index >= 0; index -= 1) {
    const step = steps[index];
    if (step === undefined) continue;
    // One that showed nothing took this one back.
    const takenBackAt = fit[index + 1] === undefined ? steps[index + 1]?.at : undefined;
    const before = changes.slice(0, end);
    const found = before.findLastIndex((change, place) =>
      change.isDisagreement || change.begunAt <= step.at
        ? change.direction === step.direction
        : isAhead(step, change, takenBackAt ?? Infinity) &&
          isNearer(step, before.slice(0, place + 1)),
    );
    fit[index] = changes[found];
    if (found !== -1) end = found;
  }
  return fit;
}

/** Whether the step may show a change that the reference reported only later. */
function isAhead(step: Step, change: Change, takenBackAt: number): boolean {
  if (change.direction !== step.direction) return false;
  return step.at > change.aheadFrom && change.begunAt < takenBackAt;
}

/**
 * Whether the step shows the last change rather than an older one of its direction, which the
 * witness would show late. This holds if the reference reported hardly later than the step.
 */
function isNearer(step: Step, changes: readonly Change[]): boolean {
  const [older, , last] = changes.slice(-3);
  if (older === undefined || last === undefined) return true;
  return elapsedMs(step.at, last.begunAt) < overtakenMs;
}
