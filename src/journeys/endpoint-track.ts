// The history of one endpoint as its witnesses tell it. Joins and leaves alternate; each witness
// goes through them in order, at its own pace, and may leave some out but never goes back. From that
// follows which change a report belongs to, and when it must be a new one.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { OpenJourney } from "./open-journey.ts";
import {
  type Direction,
  placeKey,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  witnessId,
} from "./witness.ts";

/** What a report turned out to be. */
export type Taken =
  | { readonly type: "opened"; readonly journey: OpenJourney }
  | { readonly type: "matched"; readonly journey: OpenJourney }
  | { readonly type: "withdrawn"; readonly journey: OpenJourney }
  /** A state, not a change. */
  | { readonly type: "baseline" }
  /** The end of a change that began before the observation. */
  | { readonly type: "earlier" }
  /** The witness had already shown this change. */
  | { readonly type: "repeated" };

/** What one witness has shown of the endpoint. */
interface Sight {
  readonly witness: Witness;
  readonly direction: Direction;
  readonly at: MonotonicMs;
  /** The newest journey it has shown; 0 when none. */
  readonly journey: number;
  /** The witness knows addresses and not whose they are. */
  readonly byAddress: boolean;
}

/** Invariant: `#journeys` is in order of opening, directions alternate, the last one is current. */
export class EndpointTrack {
  readonly place: string;
  readonly #nextId: () => number;
  readonly #sights = new Map<string, Sight>();
  /** The current one, also when it is over, and before it those that some witness may yet show. */
  #journeys: OpenJourney[] = [];
  #endpoint: WitnessedEndpoint;

  constructor(endpoint: WitnessedEndpoint, nextId: () => number) {
    this.#endpoint = endpoint;
    this.place = placeKey(endpoint);
    this.#nextId = nextId;
  }

  get endpoint(): WitnessedEndpoint {
    return this.#endpoint;
  }

  get current(): OpenJourney | undefined {
    return this.#journeys.at(-1);
  }

  /** Those that are not over, oldest first. */
  get pending(): readonly OpenJourney[] {
    return this.#journeys.filter(({ outcome }) => outcome === "pending");
  }

  /** Whether the endpoint is gone for every witness and nothing is waited for. */
  get isGone(): boolean {
    return this.pending.length === 0 && [...this.#sights.values()].every(isOut);
  }

  /** A report that knows more than we did about whose endpoint it is. */
  identify({ cluster, podUid }: WitnessedEndpoint): void {
    this.#endpoint = {
      ...this.#endpoint,
      cluster: this.#endpoint.cluster ?? cluster,
      podUid: this.#endpoint.podUid ?? podUid,
    };
  }

  /** The journey that this witness would show next in this direction. */
  awaited(witness: Witness, direction: Direction): OpenJourney | undefined {
    const seen = this.#sights.get(witnessId(witness))?.journey ?? 0;
    return this.#journeys.find((one) => one.id > seen && one.direction === direction);
  }

  shows(witness: Witness): Direction {
    return this.#sights.get(witnessId(witness))?.direction ?? "leave";
  }

  take(report: WitnessReport, followers: readonly Witness[]): Taken {
    const { witness, direction } = report;
    if (report.baseline === true) return this.#takeBaseline(report);
    const awaited = this.awaited(witness, direction);
    if (awaited !== undefined) {
      awaited.show(report);
      this.#see(report, awaited.id);
      return { type: "matched", journey: awaited };
    }
    const { current } = this;
    const pod = followers.find(({ hop }) => hop === "pod");
    const known = current?.direction ?? (pod && this.shows(pod));
    if (known === direction) {
      this.#see(report, current?.id ?? 0);
      return { type: current === undefined ? "earlier" : "repeated" };
    }
    if (current?.outcome === "pending" && pod !== undefined && !current.isMarkedBy(pod)) {
      return this.#withdraw(current, report);
    }
    return { type: "opened", journey: this.#open(report, followers) };
  }

  /**
   * Witnesses that agree with the current change and have left out what came before it are taken to
   * be done, after a while in which they might still show it.
   */
  settle(now: MonotonicMs, followers: readonly Witness[], settleMs: number): void {
    const { current } = this;
    if (current?.outcome !== "pending" || elapsedMs(current.originAt, now) < settleMs) return;
    for (const witness of followers) {
      const sight = this.#sights.get(witnessId(witness));
      if (current.isMarkedBy(witness) || this.shows(witness) !== current.direction) continue;
      if (sight !== undefined && elapsedMs(sight.at, now) < settleMs) continue;
      this.#agree(witness, current);
    }
  }

  isPassedBy(witness: Witness, journey: OpenJourney): boolean {
    const seen = this.#sights.get(witnessId(witness))?.journey ?? 0;
    return seen > journey.id;
  }

  /** Whether no witness is waited for any more. */
  isDone(journey: OpenJourney, followers: readonly Witness[]): boolean {
    return followers.every(
      (witness) => journey.isMarkedBy(witness) || this.isPassedBy(witness, journey),
    );
  }

  /** Lets go of a journey that is over; the current one stays, to know what comes next. */
  release(journey: OpenJourney): void {
    this.#journeys = this.#journeys.filter((one) => one !== journey || one === this.current);
  }

  /**
   * Another pod has the address now. Whoever knows only addresses goes on showing this one: it cannot
   * show that one pod left and the other joined.
   */
  handOver(successor: EndpointTrack): void {
    const { current } = this;
    const next = successor.current;
    if (current?.direction !== "leave" || next === undefined) return;
    for (const [id, sight] of this.#sights) {
      if (!sight.byAddress || isOut(sight) || successor.#sights.has(id)) continue;
      successor.#sights.set(id, sight);
      successor.#agree(sight.witness, next);
      this.#sights.set(id, { ...sight, direction: "leave" });
      this.#agree(sight.witness, current);
    }
  }

  #takeBaseline(report: WitnessReport): Taken {
    const { current } = this;
    this.#see(report, current?.id ?? 0);
    if (current?.direction === report.direction) current.agree(report.witness, undefined);
    return { type: "baseline" };
  }

  #open(report: WitnessReport, followers: readonly Witness[]): OpenJourney {
    const isBehind = (witness: Witness) =>
      this.#journeys.some((one) => one.outcome === "pending" && !one.isMarkedBy(witness));
    const behind = followers.filter(isBehind);
    const journey = new OpenJourney(this.#nextId(), report);
    this.#journeys.push(journey);
    this.#see(report, journey.id);
    for (const witness of followers) {
      if (journey.isMarkedBy(witness) || behind.includes(witness)) continue;
      if (this.shows(witness) === journey.direction) this.#agree(witness, journey);
    }
    return journey;
  }

  #withdraw(journey: OpenJourney, report: WitnessReport): Taken {
    this.#journeys = this.#journeys.filter((one) => one !== journey);
    this.#see(report, this.current?.id ?? 0);
    return { type: "withdrawn", journey };
  }

  #agree(witness: Witness, journey: OpenJourney): void {
    const id = witnessId(witness);
    const known = this.#sights.get(id);
    journey.agree(witness, known?.at);
    const { direction, originAt: at } = journey;
    const sight = known ?? { witness, direction, at, byAddress: false };
    this.#sights.set(id, { ...sight, journey: journey.id });
  }

  #see({ witness, direction, at, endpoint }: WitnessReport, journey: number): void {
    const byAddress = endpoint.podUid === undefined;
    this.#sights.set(witnessId(witness), { witness, direction, at, journey, byAddress });
  }
}

function isOut({ direction }: Sight): boolean {
  return direction === "leave";
}
