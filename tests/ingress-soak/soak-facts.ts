// What the judge may look at, and the bounds it judges by. They are in virtual time and come from
// the constants of the parts they add up.
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
  /** What Lockstep knows and has decided; undefined while it does not run. */
  readonly loop: () => IngressLoop | undefined;
  /** The proxy can reach the pod, if it lives. */
  readonly isReachable: (record: PodRecord) => boolean;
  /** Since when nothing disturbs what Lockstep hears of a cluster; infinite while something does. */
  readonly quietSinceMs: (cluster: string) => number;
  /** Since when nothing but what it hears of pods may be disturbed; infinite while something is. */
  readonly slicesQuietSinceMs: (cluster: string) => number;
  /** When it last was that a fault began to keep all word of pods from it; infinite while none does. */
  readonly podsUnheardSinceMs: (cluster: string) => number;
  /** Since when the pod watch of a cluster has been fresh, by its own word; infinite while not. */
  readonly freshSinceMs: (cluster: string) => number;
  /** Since when its pod watch is stale, by its own word; infinite while not. */
  readonly podsStaleSinceMs: (cluster: string) => number;
  /** Since when the watch of its slices is fresh, by its own word; infinite while not. */
  readonly slicesFreshSinceMs: (cluster: string) => number;
}

/** What the judge reads of an endpoint in a truth table. */
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

/** Some messages of the network, a decision and a push: what a leave takes from API to proxy. */
export const heardMs = 50;

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
