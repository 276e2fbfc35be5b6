// Which constraint binds the publishing of endpoints: the client's rate limit, the API server, too few
// workers, or none. One rule for incidents and predictions, decided from measurements of an interval:
// how the workers spent their time, and how much of its write capacity the server used.

export type ConstraintName = "limiter" | "server" | "workers" | "none";

export interface Constraint {
  readonly name: ConstraintName;
  readonly evidence: ConstraintEvidence;
}

export interface ConstraintEvidence {
  /** Shares of the workers' time, 0 to 1. */
  readonly busyShare: number;
  readonly tokenShare: number;
  /** Of the write capacity of the server; undefined when it is not bounded. */
  readonly serverShare: number | undefined;
  readonly requestsPerSecond: number;
  /** Means: of the work on a key that was written, and of one answer. */
  readonly workMs: number;
  readonly answerMs: number;
}

export interface ConstraintFacts {
  readonly durationMs: number;
  /** Of all queues together. */
  readonly workers: number;
  /** Time that all workers together spent on keys. */
  readonly workMs: number;
  /** Requests of these workers, and the time until their answers. */
  readonly requests: number;
  readonly serverMs: number;
  /** Writes of all clients. */
  readonly writes: number;
  /** The capacity of the server; undefined when it is not bounded. */
  readonly writesPerSecond: number | undefined;
  /** The longest wait of a change. */
  readonly worstWaitMs: number;
}

/**
 * Above about this rate processor time decides, which virtual time does not have. An estimate from two
 * runs of the real 1.36 on a loaded machine: for each PUT that published a change, kube-apiserver used
 * 3.4 to 4.0 ms (with its half of the pod's status update) and kube-controller-manager 1.2 to 1.4 ms.
 * So 250 to 290 PUTs a second use one core of the API server.
 */
export const processorRequestsPerSecond = 250;

/** A shorter wait is no problem. */
const unnoticedMs = 1_000;

/** Workers that wait for tokens more than for anything else are held up by the limit. */
const tokenShareMin = 0.5;

/** Nearly used up: at the start and the end of an interval there is less to do. */
const usedUp = 0.8;

export function bindingConstraint(facts: ConstraintFacts): Constraint {
  const evidence = evidenceOf(facts);
  return { name: nameOf(evidence, facts.worstWaitMs), evidence };
}

function nameOf(evidence: ConstraintEvidence, worstWaitMs: number): ConstraintName {
  const { busyShare, tokenShare, serverShare = 0 } = evidence;
  if (worstWaitMs < unnoticedMs) return "none";
  if (tokenShare >= tokenShareMin) return "limiter";
  if (serverShare >= usedUp) return "server";
  if (busyShare >= usedUp) return "workers";
  return "none";
}

function evidenceOf(facts: ConstraintFacts): ConstraintEvidence {
  const { durationMs, workers, workMs, requests, serverMs, writes, writesPerSecond } = facts;
  const seconds = durationMs / 1000;
  return {
    busyShare: share(workMs, durationMs * workers),
    // A sync itself takes nearly no time, so the rest was waiting for tokens.
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
