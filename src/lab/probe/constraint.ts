// What holds the publishing of endpoints up, decided from what was measured and not from the
// settings: the client's rate limit, the API server, too few workers, or nothing.
import type { Settings } from "../whatif/question.ts";
import type { Stretch } from "./interval-counters.ts";

export type ConstraintName = "limiter" | "server" | "workers" | "none";

export interface Constraint {
  readonly name: ConstraintName;
  readonly evidence: ConstraintEvidence;
}

export interface ConstraintEvidence {
  /** Shares of the workers' time, 0 to 1. */
  readonly busyShare: number;
  readonly tokenShare: number;
  /** Of the writes the server can do; undefined when that is not bounded. */
  readonly serverShare: number | undefined;
  readonly requestsPerSecond: number;
  /** Means: of the work on a key that had to be written, and of one answer. */
  readonly workMs: number;
  readonly answerMs: number;
}

export interface ConstraintOptions {
  readonly stretch: Stretch;
  readonly settings: Settings;
  /** Queues that are worked on, each by as many workers. */
  readonly queues: number;
  readonly writesPerSecond: number | undefined;
  /** How long a change had to wait at the most. */
  readonly worstWaitMs: number;
}

/** Nobody is held up who waits less. */
const unnoticedMs = 1_000;

/** Workers that wait for tokens more than anything else wait for the limit. */
const tokenShareMin = 0.5;

/** Used up, but for the moments at the beginning and the end. */
const usedUp = 0.8;

export function bindingConstraint(options: ConstraintOptions): Constraint {
  const evidence = evidenceOf(options);
  return { name: nameOf(evidence, options.worstWaitMs), evidence };
}

function nameOf(evidence: ConstraintEvidence, worstWaitMs: number): ConstraintName {
  const { busyShare, tokenShare, serverShare = 0 } = evidence;
  if (worstWaitMs < unnoticedMs) return "none";
  if (tokenShare >= tokenShareMin) return "limiter";
  if (serverShare >= usedUp) return "server";
  if (busyShare >= usedUp) return "workers";
  return "none";
}

function evidenceOf(options: ConstraintOptions): ConstraintEvidence {
  const { stretch, settings, queues, writesPerSecond } = options;
  const { durationMs, workMs, requests, serverMs, load } = stretch;
  const seconds = durationMs / 1000;
  const writes = load.POST + load.PUT + load.PATCH + load.DELETE;
  return {
    busyShare: share(workMs, durationMs * settings.workers * queues),
    // A sync itself takes no time to speak of: what the server did not take was waiting for tokens.
    tokenShare: share(Math.max(0, workMs - serverMs), workMs),
    serverShare:
      writesPerSecond === undefined ? undefined : share(writes, seconds * writesPerSecond),
    requestsPerSecond: share(requests, seconds),
    workMs: share(workMs, requests),
    answerMs: share(serverMs, requests),
  };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
