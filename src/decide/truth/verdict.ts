// What a rule of truth gets to see, and what it says. A rule decides or passes; the first one that
// decides counts.
import type { Service } from "../../kube/kinds/service.ts";
import type { PublishedEndpoint } from "../../model/published-endpoint.ts";
import type { PodFact } from "../../model/service-snapshot.ts";
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
  /** What the pod watch says of its pod; undefined when it does not know it. */
  readonly pod: PodFact | undefined;
  /** The pod that was published is known to be gone. */
  readonly podGone: boolean;
  /** The address and port are what the pod has now; false when only the published object says so. */
  readonly isPodAddress: boolean;
  readonly podWatch: WatchStatus;
  /** How it is published; undefined when it is not. */
  readonly published: PublishedEndpoint | undefined;
  /** What a probe showed: `unknown` before the first answer, undefined where nobody probes. */
  readonly probed: StandingDoubt["answer"] | undefined;
  /** Requests did not reach it, a moment ago or before, and no probe was answered since. */
  readonly unreached: boolean;
}

export interface Verdict {
  readonly state: EndpointState;
  /** One plain sentence without a full stop. */
  readonly reason: string;
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
