// The real state of a lost request, by the ledger: whether each address that was tried for it was
// alive. No operator has this; it judges verdicts from logs and recordings.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { AddressTruth } from "../kubelet/ledger.ts";
import { lossOf } from "./tally.ts";
import type { TrafficResult } from "./traffic-result.ts";

export interface LostRequest {
  readonly entry: string;
  readonly target: string;
  /** The status, or the error where there was no answer. */
  readonly loss: string;
  readonly tookMs: number;
  readonly tries: readonly LostTry[];
}

export interface LostTry {
  readonly address: string;
  /** When the request was sent, and when it was over; in between it may have changed. */
  readonly wasAlive: boolean;
  readonly isAliveAfter: boolean;
  /** Of the pod that listened there, or was the last to do so. */
  readonly podUid: string | null;
  /** How long it had been dead when the request was sent. */
  readonly deadForMs: number | null;
}

export interface LostRequestOptions {
  readonly lives: { at(address: string, instant: MonotonicMs): AddressTruth };
  readonly upstreamsOf: (result: TrafficResult) => readonly string[];
}

/** Undefined for a request that was served. */
export function lostRequest(
  result: TrafficResult,
  { lives, upstreamsOf }: LostRequestOptions,
): LostRequest | undefined {
  const loss = lossOf(result);
  if (loss === undefined) return undefined;
  const { entry, target, sentAt, doneAt } = result;
  const tries = upstreamsOf(result).map((address): LostTry => {
    const before = lives.at(address, sentAt);
    const isDead = before.state === "dead";
    return {
      address,
      wasAlive: !isDead,
      isAliveAfter: lives.at(address, doneAt).state === "alive",
      podUid: (isDead ? before.lastPodUid : before.podUid) ?? null,
      deadForMs: isDead && before.since !== undefined ? elapsedMs(before.since, sentAt) : null,
    };
  });
  return { entry, target, loss, tookMs: elapsedMs(sentAt, doneAt), tries };
}
