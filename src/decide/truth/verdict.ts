// The input and the result of a truth rule. A rule decides or passes; the first decision counts.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Pod } from "../../kube/kinds/pod.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { PublishedEndpoint } from "../../model/published-endpoint.ts";
import type { PodFact } from "../../model/service-snapshot.ts";
import type { Departure } from "../../sources/departed-pods.ts";
import type { DoubtCause, StandingDoubt } from "../../sources/probes.ts";
import type { WatchStatus } from "../../sources/watch-status.ts";
import type { EndpointState } from "../decision.ts";

/** An address and port that some source names for the service, with all that is known of it. */
export interface Candidate {
  readonly cluster: string;
  readonly address: string;
  readonly port: number;
  readonly service: Service;
  readonly podUid: string | undefined;
  readonly podName: string | undefined;
  /** The pod watch's view of its pod; undefined if the watch does not know it. */
  readonly pod: PodFact | undefined;
  /** How it is known that the pod that was published is gone; undefined when it is not. */
  readonly gone: Departure | undefined;
  /** All pods that have its address, where that is more or other than its own. */
  readonly addressClaimants: readonly Pod[] | undefined;
  /** The address and port are what the pod has now; false when only the published object says so. */
  readonly isPodAddress: boolean;
  readonly podWatch: WatchStatus;
  readonly publishedWatch: WatchStatus;
  /** How it is published; undefined when it is not. */
  readonly published: PublishedEndpoint | undefined;
  /** The probe's result: `unknown` before the first answer, undefined without probes. */
  readonly probed: StandingDoubt["answer"] | undefined;
  /** Why it has been probed until now; undefined when it has not. */
  readonly doubted: StandingDoubt | undefined;
  /** Requests did not reach it, a moment ago or before, and no probe was answered since. */
  readonly unreached: boolean;
}

export interface Verdict {
  readonly state: EndpointState;
  /** One plain sentence without a full stop. */
  readonly reason: string;
  /** Only the pod watch reports that it left, since then, and no sign of intent is known. */
  readonly soleWitnessAtMs?: MonotonicMs;
}

export interface TruthRule {
  readonly name: string;
  /** Why it wants the endpoint probed, whether it decides or passes; undefined when it does not. */
  readonly doubt?: (candidate: Candidate) => DoubtCause | undefined;
  decide(candidate: Candidate): Verdict | undefined;
}

export function isPublishedReady({ published }: Candidate): boolean {
  return published?.ready ?? false;
}
