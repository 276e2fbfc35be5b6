// A watch that was cut off tells its past when it is back: that a pod left and came back, or came and
// left, long after others have told of it; and a list tells object by object what happened at
// once, so that an endpoint that moved from one slice to another leaves first and then joins. Taken
// for news that would make journeys of nothing. So such a word is held back until the watch has told
// all; then only how it ended counts, and nothing where it ended as it had begun.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { JourneyEvent } from "../journeys/journey-event.ts";
import {
  endpointKey,
  type ServiceRef,
  type Witness,
  type WitnessReport,
  type WitnessSink,
  witnessId,
} from "../journeys/witness.ts";

export interface HeldReportsOptions {
  readonly clock: Clock;
  readonly sink: WitnessSink;
}

/** What one witness tells late of one endpoint. */
interface Held {
  readonly since: MonotonicMs;
  /** Oldest first. */
  readonly reports: readonly WitnessReport[];
}

/** When changes of an endpoint were last shown, and by whom. */
interface LastShown {
  readonly by: string;
  readonly at: MonotonicMs;
  /** By anybody else. */
  readonly otherAt: MonotonicMs | undefined;
}

/** A backlog comes at once; what has not been taken back by then is so. */
const heldMs = 500;

/** A watch is listed anew after a few minutes, and lists tell no past. */
const rememberedMs = 600_000;

/** At some 200 bytes each 10 MB. */
const rememberedMax = 50_000;

/** Invariant: both maps are in the order of their times. */
export class HeldReports implements WitnessSink {
  readonly #options: HeldReportsOptions;
  /** By endpoint of a pod. */
  readonly #shown = new Map<string, LastShown>();
  /** By witness and endpoint. */
  readonly #held = new Map<string, Held>();

  constructor(options: HeldReportsOptions) {
    this.#options = options;
  }

  onEvent(event: JourneyEvent): void {
    const { endpoint } = event.journey;
    if (event.type !== "shown" || event.hop.hop === "traffic") return;
    if (endpoint.podUid === undefined) return;
    const key = endpointKey(endpoint);
    const at = this.#options.clock.monotonicMs();
    const by = witnessId({ hop: event.hop.hop, name: event.hop.witness });
    const before = this.#shown.get(key);
    const otherAt = before?.by === by ? before.otherAt : before?.at;
    this.#shown.delete(key);
    this.#shown.set(key, { by, at, otherAt });
    this.#forgetOld(at);
  }

  report(report: WitnessReport): void {
    const key = endpointKey(report.endpoint);
    const by = `${witnessId(report.witness)} ${key}`;
    this.#releaseIfDue(by);
    const held = this.#held.get(by);
    const isDoubtful = mayBePast(report, this.#shown.get(key));
    if (held === undefined && !isDoubtful) {
      this.#options.sink.report(report);
      return;
    }
    const since = held?.since ?? this.#options.clock.monotonicMs();
    this.#held.set(by, { since, reports: [...(held?.reports ?? []), report] });
    if (!isDoubtful) this.#release(by);
  }

  follow(witness: Witness, service: ServiceRef): void {
    this.#options.sink.follow(witness, service);
  }

  unfollow(witness: Witness, service: ServiceRef): void {
    this.#options.sink.unfollow(witness, service);
  }

  /** Time passes without anybody telling: to be called every second or so. */
  look(): void {
    for (const by of this.#held.keys()) if (!this.#releaseIfDue(by)) return;
  }

  #releaseIfDue(by: string): boolean {
    const held = this.#held.get(by);
    const now = this.#options.clock.monotonicMs();
    if (held === undefined || elapsedMs(held.since, now) < heldMs) return false;
    this.#release(by);
    return true;
  }

  /** Joins and leaves alternate: of an even number nothing is left. */
  #release(by: string): void {
    const { reports = [] } = this.#held.get(by) ?? {};
    this.#held.delete(by);
    const last = reports.at(-1);
    if (last !== undefined && reports.length % 2 === 1) this.#options.sink.report(last);
  }

  #forgetOld(now: MonotonicMs): void {
    for (const [key, { at }] of this.#shown) {
      if (elapsedMs(at, now) <= rememberedMs && this.#shown.size <= rememberedMax) return;
      this.#shown.delete(key);
    }
  }
}

/** Whether it may be of what others have told since, or half of what happened at once. */
function mayBePast(
  { witness, notBefore, baseline }: WitnessReport,
  shown: LastShown | undefined,
): boolean {
  if (baseline === true || notBefore === undefined) return false;
  if (witness.hop === "published" || witness.hop === "synced") return true;
  const othersAt = shown?.by === witnessId(witness) ? shown.otherAt : shown?.at;
  return othersAt !== undefined && notBefore < othersAt;
}
