// An observation: one witness saw one endpoint appear or vanish. All observations carry times of
// one monotonic clock, the observer's.
import type { MonotonicMs } from "../environment/clock.ts";
import type {
  ClusterStamp,
  Direction,
  FollowedService,
  UnfollowedService,
  Witness,
  WitnessedEndpoint,
} from "./witness.ts";

export interface Observation {
  readonly witness: Witness;
  readonly endpoint: WitnessedEndpoint;
  readonly direction: Direction;
  readonly at: MonotonicMs;
  /** Seen late, in a list or by a watch that was cut off: it happened after this, and until `at`. */
  readonly notBefore?: MonotonicMs;
  /** It was so when the witness began to look, so this is a state and not a change. */
  readonly baseline?: boolean;
  /** The cause, in one or two words: `ready`, `terminating`. Only pod watches know it. */
  readonly cause?: string;
  readonly podName?: string;
  readonly clusterStamp?: ClusterStamp;
}

/** Where witnesses report to. */
export interface ObservationSink {
  report(observation: Observation): void;
  /** From now on this witness is expected to show every change of the service's endpoints. */
  follow(witness: Witness, service: FollowedService): void;
  unfollow(witness: Witness, service: UnfollowedService): void;
}
