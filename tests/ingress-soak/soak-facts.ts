// The facts for the judge, and its bounds. They are in virtual time and add up the constants of the
// parts.
import type { MonotonicMs } from "../../src/environment/clock.ts";
import type { IngressLoop } from "../../src/ingress/ingress-loop.ts";
import { backoffMaxMs } from "../../src/kube/reflector/backoff.ts";
import { defaultAliveWithinMs } from "../../src/kube/reflector/freshness.ts";
import type { Ledger } from "../../src/lab/kubelet/ledger.ts";
import { freshnessCheckMs } from "../../src/sources/cluster-source.ts";
import type { PodRecord } from "./pod-records.ts";

export interface SoakFacts {
  readonly now: () => number;
  readonly later: (ms: number, callback: () => void) => void;
  readonly ledger: Ledger;
  readonly recordOf: (uid: string) => PodRecord | undefined;
  readonly recordsOf: (service: string) => readonly PodRecord[];
  /** The running loop; undefined while Lockstep does not run. */
  readonly loop: () => IngressLoop | undefined;
  /** The proxy can reach the pod, if it lives. */
  readonly isReachable: (record: PodRecord) => boolean;
  /** Since when the events of a cluster are undisturbed; infinite while they are not. */
  readonly quietSinceMs: (cluster: string) => number;
  /** Since when at most the pod events are disturbed; infinite while more is. */
  readonly slicesQuietSinceMs: (cluster: string) => number;
  /** When a fault last began to block all pod events; infinite while none does. */
  readonly podsSilentSinceMs: (cluster: string) => number;
  /** Since when the pod watch of a cluster has been fresh, by its own word; infinite while not. */
  readonly freshSinceMs: (cluster: string) => number;
  /** Since when its pod watch is stale, by its own word; infinite while not. */
  readonly podsStaleSinceMs: (cluster: string) => number;
  /** Since when the watch of its slices is fresh, by its own word; infinite while not. */
  readonly slicesFreshSinceMs: (cluster: string) => number;
}

/** The part of an endpoint's row that the judge reads. */
export interface Row {
  readonly cluster: string;
  readonly podUid?: string;
  readonly podName?: string;
  readonly address: string;
  readonly state: string;
  readonly reason: string;
  readonly rule: string;
  readonly pod: string;
  readonly published: string;
}

/** Some messages of the network, a decision and a push: the time of a removal from API to proxy. */
export const reactionMs = 50;

/** After a disturbance: the longest pause of a watch that failed, a list, and the look at it. */
export const recoveredMs = backoffMaxMs + 10_000 + freshnessCheckMs;

/** A watch that is cut off for good: until that is noticed, and its services are looked at again. */
export const knownStaleMs = defaultAliveWithinMs + 2 * freshnessCheckMs;

export function keyOf(service: string): string {
  return `default/${service}:80`;
}

/** The truth table of a service as it stands. */
export function rowsOf({ loop }: Pick<SoakFacts, "loop">, service: string): readonly Row[] {
  return loop()?.decisions.truths.get(keyOf(service))?.truth.endpoints ?? [];
}

export function isRoutedRow({ state }: Pick<Row, "state">): boolean {
  return state === "active" || state === "held";
}

/** Whether the pod would answer a request of the proxy. */
export function lives({ ledger, recordOf, isReachable, now }: SoakFacts, uid: string): boolean {
  const record = recordOf(uid);
  if (record === undefined || !isReachable(record)) return false;
  return ledger.ownerAt(record.address, monotonic(now())) === uid;
}

/** Virtual time is one for all machines. */
export function monotonic(ms: number): MonotonicMs {
  return ms as MonotonicMs;
}
