// A watch that was cut off tells its past when it is back: that a pod joined, and that it left, long
// after all is over. Taken for news that would make a second journey of each. So a late word that an
// endpoint has joined which has left since is held back until it is clear which of its lives it is
// about: the same witness says that it left, another one that it has joined again, or neither.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { JourneyEvent } from "../journeys/journeys.ts";
import {
  endpointKey,
  type ServiceRef,
  type Witness,
  type WitnessReport,
  type WitnessSink,
  witnessId,
} from "../journeys/witness.ts";

export interface HeldJoinsOptions {
  readonly clock: Clock;
  readonly sink: WitnessSink;
}

interface Left {
  readonly at: MonotonicMs;
  /** By witness. */
  readonly held: Map<string, { readonly report: WitnessReport; readonly since: MonotonicMs }>;
}

/** A backlog comes at once; what has not been taken back by then is so. */
const heldMs = 5_000;

/** A watch is listed anew after a few minutes, and lists tell no past. */
const rememberedMs = 600_000;

/** At some 200 bytes each 10 MB. */
const rememberedMax = 50_000;

/** Invariant: `#left` is in the order of leaving and holds no endpoint that is known to be there. */
export class HeldJoins implements WitnessSink {
  readonly #options: HeldJoinsOptions;
  /** Endpoints of pods whose leave is over. */
  readonly #left = new Map<string, Left>();
  /** Those of them with something held. */
  readonly #holding = new Set<string>();

  constructor(options: HeldJoinsOptions) {
    this.#options = options;
  }

  onEvent({ type, journey }: JourneyEvent): void {
    const { endpoint, direction } = journey;
    if (type !== "over" || direction !== "leave" || endpoint.podUid === undefined) return;
    const key = endpointKey(endpoint);
    this.#left.delete(key);
    this.#left.set(key, { at: this.#options.clock.monotonicMs(), held: new Map() });
    this.#forgetOld();
  }

  report(report: WitnessReport): void {
    const key = endpointKey(report.endpoint);
    const left = this.#left.get(key);
    if (left === undefined) {
      this.#options.sink.report(report);
    } else if (report.direction === "leave") {
      if (!left.held.delete(witnessId(report.witness))) this.#options.sink.report(report);
    } else if (isPast(report, left.at)) {
      const since = this.#options.clock.monotonicMs();
      left.held.set(witnessId(report.witness), { report, since });
      this.#holding.add(key);
    } else {
      this.#release(key, left, report);
    }
  }

  follow(witness: Witness, service: ServiceRef): void {
    this.#options.sink.follow(witness, service);
  }

  unfollow(witness: Witness, service: ServiceRef): void {
    this.#options.sink.unfollow(witness, service);
  }

  /** Time passes without anybody telling: to be called every second or so. */
  look(): void {
    const now = this.#options.clock.monotonicMs();
    for (const key of this.#holding) {
      const left = this.#left.get(key);
      const oldest = left?.held.values().next().value;
      if (left === undefined || oldest === undefined) this.#holding.delete(key);
      else if (elapsedMs(oldest.since, now) >= heldMs) this.#release(key, left);
    }
  }

  /** It is there again, or still. */
  #release(key: string, { held }: Left, news?: WitnessReport): void {
    this.#left.delete(key);
    this.#holding.delete(key);
    if (news !== undefined) this.#options.sink.report(news);
    for (const { report } of held.values()) this.#options.sink.report(report);
  }

  #forgetOld(): void {
    const now = this.#options.clock.monotonicMs();
    for (const [key, left] of this.#left) {
      const isOld = elapsedMs(left.at, now) > rememberedMs;
      if (!isOld && this.#left.size <= rememberedMax) return;
      this.#release(key, left);
    }
  }
}

/** Whether the join that it tells of may have been before the endpoint left. */
function isPast({ notBefore, baseline }: WitnessReport, leftAt: MonotonicMs): boolean {
  return baseline !== true && notBefore !== undefined && notBefore < leftAt;
}
