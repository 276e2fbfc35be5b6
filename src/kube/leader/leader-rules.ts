// The decisions of leader election, without clock or network: which times are safe, when a lock may
// be taken, and what the next record says.
import { toMicroTime, type WallMs } from "../../environment/clock.ts";
import type { LeaderRecord } from "./lease-record.ts";

export interface ElectionTimes {
  /** How long others leave an unchanged record alone; whole seconds, as the Lease stores it. */
  readonly leaseDurationMs: number;
  /** How long the leader goes on leading without a successful renewal. */
  readonly renewDeadlineMs: number;
  /** Time between two tries. */
  readonly retryPeriodMs: number;
}

/** The times Kubernetes' own components use. */
export const defaultElectionTimes: ElectionTimes = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** Candidates wait the retry period × 1–2.2, so that they do not move in step. */
export const retryJitterFactor = 1.2;

export class ElectionTimesError extends Error {
  override readonly name = "ElectionTimesError";
  readonly code = "ELECTION_TIMES";
}

/** Throws `ElectionTimesError` when two leaders, or none for ever, would be possible. */
export function checkElectionTimes(times: ElectionTimes): void {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = times;
  if (!(retryPeriodMs > 0)) {
    throw new ElectionTimesError(`the retry period must be positive, not ${retryPeriodMs} ms`);
  }
  if (!Number.isInteger(leaseDurationMs / 1000)) {
    throw new ElectionTimesError(
      `the lease duration must be whole seconds, not ${leaseDurationMs} ms: ` +
        "the Lease would store less, and others would take it too early",
    );
  }
  if (!(leaseDurationMs > renewDeadlineMs)) {
    throw new ElectionTimesError(
      `the lease duration (${leaseDurationMs} ms) must be longer than ` +
        `the renew deadline (${renewDeadlineMs} ms)`,
    );
  }
  if (!(renewDeadlineMs > retryPeriodMs * retryJitterFactor)) {
    throw new ElectionTimesError(
      `the renew deadline (${renewDeadlineMs} ms) must be longer than ` +
        `${retryJitterFactor} times the retry period (${retryPeriodMs} ms)`,
    );
  }
}

export interface TakeQuestion {
  readonly record: LeaderRecord;
  readonly identity: string;
  /** How long the record has been unchanged before our eyes. */
  readonly unchangedMs: number;
  /** The holder provably does not exist, and we are allowed to take its lock. */
  readonly mayDepose: boolean;
}

/** The record's own duration counts, not ours: the holder relies on what it wrote. */
export function mayTake({ record, identity, unchangedMs, mayDepose }: TakeQuestion): boolean {
  if (record.holder === "" || record.holder === identity || mayDepose) return true;
  return unchangedMs >= record.leaseDurationMs;
}

/**
 * The time to write into a record. Others notice a renewal only by its text having changed, so the
 * digits below a millisecond count the writes: a wall clock that stands still or steps back cannot
 * make a renewal look like none.
 */
export function renewStamp(wall: WallMs, writes: number): string {
  const counter = String(writes % 1000).padStart(3, "0");
  return toMicroTime(wall).replace(/000Z$/, `${counter}Z`);
}

/** The record that makes us the holder, or keeps us so. */
export function heldRecord(options: {
  readonly previous: LeaderRecord | undefined;
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly now: string;
}): LeaderRecord {
  const { previous, identity, leaseDurationMs, now } = options;
  const isOurs = previous?.holder === identity;
  const transitions = previous === undefined ? 0 : previous.transitions + (isOurs ? 0 : 1);
  return {
    holder: identity,
    leaseDurationMs,
    acquireTime: (isOurs ? previous.acquireTime : undefined) ?? now,
    renewTime: now,
    transitions,
  };
}

/** The record of a lock set free: no holder, and the shortest duration a Lease may have. */
export function freeRecord(previous: LeaderRecord, now: string): LeaderRecord {
  return {
    holder: "",
    leaseDurationMs: 1000,
    acquireTime: now,
    renewTime: now,
    transitions: previous.transitions,
  };
}
