// One change with its time at every hop. What is shown, measured and kept of it.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Direction, Hop, WitnessedEndpoint } from "./witness.ts";

export interface Journey {
  readonly id: number;
  readonly endpoint: WitnessedEndpoint;
  readonly podName: string | undefined;
  readonly direction: Direction;
  readonly cause: string | undefined;
  readonly origin: Origin;
  /** In the order of the hops, and of the witnesses' names at a hop. */
  readonly hops: readonly HopTime[];
  readonly outcome: Outcome;
}

/** The earliest witness. */
export interface Origin {
  readonly at: MonotonicMs;
  /** When the change was learnt from a list: it happened between this instant and `at`. */
  readonly notBefore: MonotonicMs | undefined;
}

export type Outcome =
  | "pending"
  /** Every witness that follows the service has shown it. */
  | "complete"
  /** The opposite change came before every witness had shown this one. */
  | "superseded"
  /** Some witness showed it, the pod watch never did, and the witness took it back. */
  | "withdrawn"
  /** It was pending for so long that it is no longer waited for. */
  | "abandoned"
  /** It had to go because too many were pending. */
  | "dropped";

export interface HopTime {
  readonly hop: Hop;
  /** The name of the witness at that hop. */
  readonly witness: string;
  readonly state: HopState;
}

export type HopState =
  | { readonly type: "shown"; readonly lagMs: number }
  | { readonly type: "pending" }
  /** Pending for longer than the hop's budget. */
  | { readonly type: "stuck" }
  /** The witness had it so all along: it never showed the change that this one undid. */
  | { readonly type: "unchanged" }
  /** The witness went on to a later change without showing this one. */
  | { readonly type: "passed" };

/** How long ago the change began. */
export function ageMs(journey: Journey, now: MonotonicMs): number {
  return elapsedMs(journey.origin.at, now);
}

/** The lag at each witness of the hop that has shown it. */
export function lagsAt(journey: Journey, hop: Hop): readonly number[] {
  return journey.hops.flatMap(({ hop: at, state }) =>
    at === hop && state.type === "shown" ? [state.lagMs] : [],
  );
}
