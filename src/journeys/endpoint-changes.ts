// The changes of one endpoint, in order, and where each witness stands among them. Kept are those that
// some witness may yet show: the current one, those that are waited for, and for a while also some
// that are over, because a watch that was cut off tells of them when it is back. Its silence meant
// nothing as long as it was not heard.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { keptMax, keptMs, settleMs } from "./journey-limits.ts";
import type { OpenJourney } from "./open-journey.ts";
import { type Sight, Sights } from "./sights.ts";
import { hopsOfCluster, isOfCluster } from "./strangers.ts";
import type { Direction, Hop, Witness, WitnessReport } from "./witness.ts";

/** What a request at some instant falls after. */
export interface Holding {
  /** Whether the endpoint had its address then. */
  readonly has: boolean;
  /** The change that made it so, if that was observed. */
  readonly journey: OpenJourney | undefined;
}

/** Invariant: `#journeys` is in order of opening, and the last one is current. */
export class EndpointChanges {
  readonly #sights = new Sights();
  #journeys: OpenJourney[] = [];

  get current(): OpenJourney | undefined {
    return this.#journeys.at(-1);
  }

  /** Oldest first. */
  get all(): readonly OpenJourney[] {
    return this.#journeys;
  }

  /** Those that are not over, oldest first. */
  get pending(): readonly OpenJourney[] {
    return this.#journeys.filter(isPending);
  }

  /** Whether the endpoint is gone for every witness and nothing is waited for. */
  get isGone(): boolean {
    return !this.#journeys.some(isPending) && this.#sights.areOut;
  }

  get sights(): readonly Sight[] {
    return this.#sights.all();
  }

  sightOf(witness: Witness): Sight | undefined {
    return this.#sights.of(witness);
  }

  see(sight: Sight): void {
    this.#sights.put(sight);
  }

  /** The witness has yet to tell all that happens from now on. */
  expect(witness: Witness, at: MonotonicMs): void {
    this.see({
      witness,
      direction: "leave",
      at,
      notBefore: undefined,
      isBaseline: true,
      passed: 0,
      shown: 0,
      byAddress: false,
      isAssumed: false,
      unclear: undefined,
    });
  }

  /** What it has shown counts no more. */
  unsee(witness: Witness): void {
    this.#sights.delete(witness);
  }

  /** What the witness has said, and the newest change that it is past. */
  note(
    { witness, direction, at, notBefore, endpoint, baseline = false }: WitnessReport,
    passed: number,
    { shown = passed, unclear }: { readonly shown?: number; readonly unclear?: WitnessReport } = {},
  ): void {
    this.see({
      witness,
      direction,
      at,
      notBefore,
      isBaseline: baseline,
      passed,
      shown,
      byAddress: endpoint.podUid === undefined,
      isAssumed: false,
      unclear,
    });
  }

  /** The witness has it as the change made it, without having shown that. */
  agree(witness: Witness, journey: OpenJourney): void {
    const { direction, originAt } = journey;
    const known = this.sightOf(witness);
    const ahead = known !== undefined && originAt - known.at < settleMs ? known.unclear : undefined;
    if (ahead !== undefined) {
      // It makes the origin, then.
      journey.show(ahead);
    } else if (isPending(journey)) {
      // What it has shown of another change counts there, and not a second time here.
      const isElse = isOfChange(known) || known?.isBaseline === true;
      journey.agree(witness, isElse ? undefined : known?.at);
    }
    this.see({
      witness,
      direction: known?.direction ?? direction,
      at: known?.at ?? originAt,
      notBefore: known?.notBefore,
      passed: journey.id,
      shown: ahead === undefined ? (known?.shown ?? 0) : journey.id,
      byAddress: known?.byAddress ?? false,
      isBaseline: known?.isBaseline ?? false,
      isAssumed: false,
      unclear: undefined,
    });
  }

  shows(witness: Witness): Direction {
    return this.#sights.of(witness)?.direction ?? "leave";
  }

  /** From now on it is current. */
  add(journey: OpenJourney): void {
    this.#journeys = [...this.#journeys, journey];
    this.letGo(journey.originAt);
  }

  /** It never was. */
  remove(journey: OpenJourney): void {
    this.#journeys = this.#journeys.filter((one) => one !== journey);
  }

  /** Of what is over and is not current only what somebody has missed is kept, and not for long. */
  letGo(now: MonotonicMs): void {
    if (this.#journeys.length === 1) return;
    const first = this.#journeys.findIndex((one) => this.#isOpen(one) || this.#isMissed(one, now));
    const oldest = this.#journeys[first];
    // With it what came before: that is current again when it is taken back.
    const isDoubtful = oldest !== undefined && isPending(oldest) && oldest.isOnlyRouted;
    const kept = this.#journeys.slice(isDoubtful ? Math.max(0, first - 1) : first);
    const tooMany = kept.length - keptMax;
    this.#journeys = kept.filter((one, index) => index >= tooMany || this.#isOpen(one));
  }

  /** Whether somebody who was cut off may yet tell of something that is over. */
  areMissed(now: MonotonicMs): boolean {
    return this.#journeys.some((one) => this.#isMissed(one, now));
  }

  /**
   * Since when a witness may have been cut off that is taken to have left changes out. Undefined when
   * it has shown all that others have, or is expected to.
   */
  missedSince({ witness, at }: WitnessReport): MonotonicMs | undefined {
    const sight = this.#sights.of(witness);
    // A cluster that has said nothing of an endpoint cannot have left out what is over for others.
    if (sight === undefined && !isOfCluster(witness)) return undefined;
    const isMissed = (one: OpenJourney): boolean =>
      sight === undefined ? !isPending(one) : one.id > sight.shown && one.id <= sight.passed;
    const missed = this.#journeys.find(
      (one) => isMissed(one) && elapsedMs(one.originAt, at) < keptMs,
    );
    if (sight === undefined || missed === undefined) return missed?.originAt;
    return elapsedMs(sight.at, missed.originAt) > 0 ? sight.at : missed.originAt;
  }

  /** The journey that this witness would show next in this direction. */
  awaited(witness: Witness, direction: Direction): OpenJourney | undefined {
    const passed = this.#sights.of(witness)?.passed ?? 0;
    return this.#journeys.find(
      (one) => one.id > passed && one.direction === direction && this.#isOpen(one),
    );
  }

  /**
   * Whether the witness may yet show it by this report: also what it is taken to have left out, if it
   * was not heard for long enough to know that.
   */
  canShow(journey: OpenJourney, { witness, at, notBefore }: WitnessReport): boolean {
    const { passed, shown } = this.#sights.of(witness) ?? { passed: 0, shown: 0 };
    if (journey.id > passed && this.#isOpen(journey)) return true;
    return journey.id > shown && !this.#isLongUndone(journey, notBefore ?? at);
  }

  /** Whether the witness must have left it out: it told this long after another change followed. */
  hasLeftOut(journey: OpenJourney, { witness, at }: WitnessReport): boolean {
    const { shown } = this.#sights.of(witness) ?? { shown: 0 };
    if (journey.id <= shown || journey === this.current) return false;
    return this.#isLongUndone(journey, at);
  }

  /** Whether the witness could be expected to show it when it told this. */
  isAwaited(journey: OpenJourney, report: WitnessReport): boolean {
    return this.canShow(journey, report) && !this.hasLeftOut(journey, report);
  }

  /** Whether there is a later change, and not one that only replicas show, who may take it back. */
  isSuperseded(journey: OpenJourney): boolean {
    return this.#journeys.some(
      (one) => one.id > journey.id && !(isPending(one) && one.isOnlyRouted),
    );
  }

  isPassedBy(witness: Witness, journey: OpenJourney): boolean {
    return (this.#sights.of(witness)?.passed ?? 0) > journey.id;
  }

  /** Who had the address at that instant is known as far as changes are still remembered. */
  holdingAt(at: MonotonicMs): Holding {
    const journey = this.#journeys.findLast(({ originAt }) => originAt <= at);
    if (journey !== undefined) return { has: journey.direction === "join", journey };
    const [first] = this.#journeys;
    const has = first === undefined ? !this.#sights.areOut : first.direction === "leave";
    return { has, journey: undefined };
  }

  /** Waited for, or what is so now. */
  #isOpen(journey: OpenJourney): boolean {
    return isPending(journey) || journey === this.current;
  }

  /** Who agrees with what came then, and is heard, has had its while to show it. */
  #isLongUndone(journey: OpenJourney, at: MonotonicMs): boolean {
    const next = this.#journeys[this.#journeys.indexOf(journey) + 1] ?? journey;
    return elapsedMs(next.originAt, at) >= settleMs;
  }

  /** Whether somebody has not shown it who may be cut off: the cluster, or who agrees without. */
  #isMissed({ id, originAt }: OpenJourney, now: MonotonicMs): boolean {
    if (elapsedMs(originAt, now) >= keptMs) return false;
    const sights = this.#sights.all();
    const isHeard = (hop: Hop): boolean => sights.some(({ witness }) => witness.hop === hop);
    return !hopsOfCluster.every(isHeard) || sights.some(({ shown }) => shown < id);
  }
}

export function isPending({ outcome }: OpenJourney): boolean {
  return outcome === "pending";
}

/** Whether it is known which change the witness showed; between two of them it is not. */
function isOfChange(sight: Sight | undefined): boolean {
  return sight !== undefined && sight.passed > 0 && Number.isInteger(sight.passed);
}
