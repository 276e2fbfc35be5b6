// Judges traffic by what was really true: how many requests were lost, and how many a proxy sent to
// an endpoint that was dead. Both are counted over the same requests, all that were sent. Pure: a
// tally and a result give the next tally.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { TrafficResult } from "./traffic-result.ts";

/** The real state of the pods' addresses: the lab's ledger. */
export interface AddressLives {
  at(
    address: string,
    instant: MonotonicMs,
  ):
    | { readonly state: "alive" }
    | { readonly state: "dead"; readonly since: MonotonicMs | undefined };
}

export interface Tally {
  /** The denominator of everything below. */
  readonly requests: number;
  /** Answered with a status below 500. */
  readonly served: number;
  /** Answered with 500 or more, or not at all. `requests` is `served` plus `lost`. */
  readonly lost: number;
  /** The lost ones by status (`504`) or by error (`DEADLINE`). */
  readonly lostBy: Readonly<Record<string, number>>;
  /** Requests for which at least one dead endpoint was tried, lost or not. */
  readonly sentToDead: number;
  /** Tries at dead endpoints: at least `sentToDead`. */
  readonly deadTries: number;
  /** The longest time that an endpoint had been dead when a request was sent to it. */
  readonly longestDeadMs: number;
}

export interface TallyOptions {
  readonly lives: AddressLives;
  /**
   * The addresses tried for a result, if an access log knows better than the answer's header; see
   * `access-log.ts`.
   */
  readonly upstreamsOf?: (result: TrafficResult) => readonly string[] | undefined;
}

export const emptyTally: Tally = {
  requests: 0,
  served: 0,
  lost: 0,
  lostBy: {},
  sentToDead: 0,
  deadTries: 0,
  longestDeadMs: 0,
};

export function tallyOf(results: Iterable<TrafficResult>, options: TallyOptions): Tally {
  let tally = emptyTally;
  for (const result of results) tally = addToTally(tally, result, options);
  return tally;
}

export function addToTally(tally: Tally, result: TrafficResult, options: TallyOptions): Tally {
  const loss = lossOf(result);
  const deadForMs = triedAddresses(result, options)
    .map((address) => deadForMsAt(address, result, options.lives))
    .filter((ms) => ms !== undefined);
  return {
    requests: tally.requests + 1,
    served: tally.served + (loss === undefined ? 1 : 0),
    lost: tally.lost + (loss === undefined ? 0 : 1),
    lostBy:
      loss === undefined
        ? tally.lostBy
        : { ...tally.lostBy, [loss]: (tally.lostBy[loss] ?? 0) + 1 },
    sentToDead: tally.sentToDead + (deadForMs.length > 0 ? 1 : 0),
    deadTries: tally.deadTries + deadForMs.length,
    longestDeadMs: Math.max(tally.longestDeadMs, ...deadForMs),
  };
}

/** Why a request counts as lost; undefined when it was served. */
export function lossOf({ outcome }: TrafficResult): string | undefined {
  if (outcome.kind === "failed") return outcome.code;
  return outcome.status >= 500 ? String(outcome.status) : undefined;
}

/** By the proxy's word; else at least the pod that answered was tried. */
function triedAddresses(result: TrafficResult, { upstreamsOf }: TallyOptions): readonly string[] {
  const tried = upstreamsOf?.(result) ?? result.upstreams;
  if (tried.length > 0 || result.pod === undefined) return tried;
  return [result.pod.address];
}

/**
 * Undefined unless the address was dead from the moment the request was sent until it was over: when
 * in between it was tried is not known, and a proxy must not be blamed for what it could not see.
 * The time since an address that no pod ever had is dead is unknown, and counts as 0.
 */
function deadForMsAt(
  address: string,
  { sentAt, doneAt }: TrafficResult,
  lives: AddressLives,
): number | undefined {
  const before = lives.at(address, sentAt);
  if (before.state === "alive" || lives.at(address, doneAt).state === "alive") return undefined;
  return before.since === undefined ? 0 : elapsedMs(before.since, sentAt);
}
