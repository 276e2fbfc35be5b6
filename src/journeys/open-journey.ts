// A journey while its hops are being filled in. Invariant: the origin is the earliest of all times
// that witnesses have shown it at, so that no lag is ever negative.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { HopState, HopTime, Journey, Outcome } from "./journey.ts";
import {
  type Direction,
  hops,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  witnessId,
} from "./witness.ts";

interface Mark {
  readonly witness: Witness;
  /** Undefined when the witness had it so all along. */
  readonly at: MonotonicMs | undefined;
}

export class OpenJourney {
  /** Rises from journey to journey, so of one endpoint's journeys the later has the higher. */
  readonly id: number;
  readonly direction: Direction;
  /** By witness. */
  readonly #marks = new Map<string, Mark>();
  /** Witnesses that are late beyond the budget and have been reported as such. */
  readonly #stuck = new Set<string>();
  #endpoint: WitnessedEndpoint;
  #podName: string | undefined;
  #cause: string | undefined;
  #originAt: MonotonicMs;
  #notBefore: MonotonicMs | undefined;
  /** `pending` until it is over. */
  outcome: Outcome = "pending";

  constructor(id: number, report: WitnessReport) {
    this.id = id;
    this.direction = report.direction;
    this.#endpoint = report.endpoint;
    this.#originAt = report.at;
    this.show(report);
  }

  get originAt(): MonotonicMs {
    return this.#originAt;
  }

  isMarkedBy(witness: Witness): boolean {
    return this.#marks.has(witnessId(witness));
  }

  show(report: WitnessReport): void {
    const { witness, at, notBefore, podName, cause, endpoint } = report;
    if (at <= this.#originAt) {
      this.#originAt = at;
      this.#notBefore = notBefore;
    }
    this.#marks.set(witnessId(witness), { witness, at });
    this.#podName ??= podName;
    if (witness.hop === "pod" || this.#cause === undefined) this.#cause = cause ?? this.#cause;
    this.#endpoint = {
      ...this.#endpoint,
      cluster: this.#endpoint.cluster ?? endpoint.cluster,
      podUid: this.#endpoint.podUid ?? endpoint.podUid,
    };
  }

  /** The witness agreed at that instant; before the origin it had it so all along. */
  agree(witness: Witness, at: MonotonicMs | undefined): void {
    const since = at !== undefined && at >= this.#originAt ? at : undefined;
    this.#marks.set(witnessId(witness), { witness, at: since });
  }

  /** True the first time the witness is found late beyond its budget. */
  becomesStuck(witness: Witness, now: MonotonicMs, budgetMs: number): boolean {
    const id = witnessId(witness);
    if (this.#stuck.has(id) || elapsedMs(this.#originAt, now) < budgetMs) return false;
    this.#stuck.add(id);
    return true;
  }

  /** `passedBy` are the witnesses that have gone on to a later change. */
  snapshot(expected: readonly Witness[], passedBy: (witness: Witness) => boolean): Journey {
    const witnesses = new Map(expected.map((witness) => [witnessId(witness), witness]));
    for (const [id, { witness }] of this.#marks) witnesses.set(id, witness);
    return {
      id: this.id,
      endpoint: this.#endpoint,
      podName: this.#podName,
      direction: this.direction,
      cause: this.#cause,
      origin: { at: this.#originAt, notBefore: this.#notBefore },
      hops: [...witnesses.values()].sort(inOrderOfHops).map((witness) => ({
        hop: witness.hop,
        witness: witness.name,
        state: this.#stateAt(witness, passedBy),
      })),
      outcome: this.outcome,
    };
  }

  hopTime(witness: Witness): HopTime {
    return { hop: witness.hop, witness: witness.name, state: this.#stateAt(witness, () => false) };
  }

  #stateAt(witness: Witness, passedBy: (witness: Witness) => boolean): HopState {
    const mark = this.#marks.get(witnessId(witness));
    if (mark?.at !== undefined) {
      return { type: "shown", lagMs: elapsedMs(this.#originAt, mark.at) };
    }
    if (mark !== undefined) return { type: "unchanged" };
    if (passedBy(witness)) return { type: "passed" };
    return { type: this.#stuck.has(witnessId(witness)) ? "stuck" : "pending" };
  }
}

function inOrderOfHops(a: Witness, b: Witness): number {
  const byHop = hops.indexOf(a.hop) - hops.indexOf(b.hop);
  return byHop === 0 ? a.name.localeCompare(b.name, "en") : byHop;
}
