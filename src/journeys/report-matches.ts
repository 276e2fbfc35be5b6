// Which changes of one endpoint the reports of its witnesses are of. Of a pod that left, came back and
// left again a witness that shows one leave may be behind, at the first, or may have left the flap
// out, as whoever writes down only how things stand does. What it shows next tells, or that it shows
// nothing: until then what it said is undecided.
import { type EndpointChanges, isPending } from "./endpoint-changes.ts";
import { undecidedMax } from "./journey-limits.ts";
import { OpenJourney } from "./open-journey.ts";
import {
  begunFit,
  type CanShow,
  type Change,
  type Fit,
  isSameFit,
  latestFit,
  soonestFit,
} from "./report-fit.ts";
import { type Direction, type Witness, type WitnessReport, witnessId } from "./witness.ts";

export class ReportMatches {
  readonly #changes: EndpointChanges;
  /** Oldest first; hardly ever any. */
  #undecided: readonly WitnessReport[] = [];

  constructor(changes: EndpointChanges) {
    this.#changes = changes;
  }

  /** Whether some report may be of one change or another. */
  get isUndecided(): boolean {
    return this.#undecided.length > 0;
  }

  /** The last that the witness has said, if it is not decided what it is of. */
  undecided(witness: Witness): WitnessReport | undefined {
    return this.#undecidedOf(witness).at(-1);
  }

  /** These witnesses, and those of which something is undecided. */
  withWitnesses(witnesses: readonly Witness[]): readonly Witness[] {
    if (this.#undecided.length === 0) return witnesses;
    const all = [...witnesses, ...this.#undecided.map(({ witness }) => witness)];
    return [...new Map(all.map((witness) => [witnessId(witness), witness])).values()];
  }

  /** Whether the reports, of one witness, are of changes that it has yet to show. */
  awaits(reports: readonly WitnessReport[]): boolean {
    const last = reports.at(-1);
    if (last === undefined) return true;
    const all = [...this.#undecidedOf(last.witness), ...reports];
    const begun = this.#changes.all.filter(({ originAt }) => originAt <= last.at);
    return soonestFit(all, begun, this.#canShow) !== undefined;
  }

  /**
   * The changes that the witness shows by this, none while it is not clear which. Undefined when it
   * is not of a change that the witness has yet to show.
   */
  match(report: WitnessReport): readonly OpenJourney[] | undefined {
    const { witness } = report;
    const reports = [...this.#undecidedOf(witness), report];
    const { all } = this.#changes;
    const soonest = soonestFit(reports, all, this.#canShow);
    if (soonest === undefined) {
      return this.decide(witness).length === 0 ? undefined : this.match(report);
    }
    const latest = latestFit<Change>(reports, [...all, ...this.#toCome(soonest)], (one, word) =>
      one instanceof OpenJourney ? this.#canShow(one, word) : true,
    );
    if (!isSameFit(soonest, latest) && reports.length < undecidedMax) {
      const { passed, shown } = this.#changes.sightOf(witness) ?? { passed: 0, shown: 0 };
      this.#undecided = [...this.#undecided, report];
      this.#changes.note(report, passed, { shown });
      return [];
    }
    this.clear(witness);
    this.#show(soonest);
    return soonest.map(([journey]) => journey);
  }

  /** Nothing more is to be heard of it soon: what it showed last was of the latest changes. */
  decide(witness: Witness): Fit<OpenJourney> {
    const reports = this.#undecidedOf(witness);
    if (reports.length === 0) return [];
    const { all } = this.#changes;
    const isAwaited: CanShow<OpenJourney> = (one, report) => this.#changes.isAwaited(one, report);
    // All others follow the pods, and only these can be ahead of what is known for long.
    const isFirst = witness.hop === "pod";
    const fit =
      begunFit(reports, all, isAwaited) ??
      (isFirst ? soonestFit(reports, all, isAwaited) : undefined) ??
      begunFit(reports, all, this.#canShow) ??
      soonestFit(reports, all, this.#canShow) ??
      [];
    const [soonest] = soonestFit(reports, all, this.#canShow)?.at(-1) ?? [];
    this.clear(witness);
    this.#show(fit);
    const sight = this.#changes.sightOf(witness);
    const isLate = reports.some(({ notBefore }) => notBefore !== undefined);
    if (isLate && sight !== undefined && soonest !== undefined) {
      // Who was cut off may have more to tell, and then that was of the first changes.
      this.#changes.see({ ...sight, shown: soonest.id });
    }
    return fit;
  }

  /**
   * The last that it has said, if that ends otherwise than all that is known: then nobody else has
   * told of it. It counts no more as something that may be of what is known.
   */
  takeNews(witness: Witness, knownDirection: Direction): WitnessReport | undefined {
    const last = this.undecided(witness);
    if (last === undefined || last.direction === knownDirection) return undefined;
    const isSince = (one: OpenJourney): boolean =>
      one.direction === last.direction && this.#changes.isAwaited(one, last);
    if (this.#changes.all.some(isSince)) return undefined;
    this.#undecided = this.#undecided.filter((one) => one !== last);
    return last;
  }

  /** What it said is decided, or does not matter any more. */
  clear(witness: Witness): void {
    if (this.#undecided.length === 0) return;
    const id = witnessId(witness);
    this.#undecided = this.#undecided.filter((report) => witnessId(report.witness) !== id);
  }

  /**
   * Where it is open which changes it has left out, or whether it has left out any, it may also be
   * ahead of all, with the next.
   */
  #toCome(fit: Fit<OpenJourney>): readonly Change[] {
    const { current } = this.#changes;
    const isOfPast = fit.some(([journey, report]) => this.#changes.hasLeftOut(journey, report));
    if (current === undefined || (fit.length === 1 && !isOfPast)) return [];
    const direction = current.direction === "join" ? "leave" : "join";
    return [{ direction, originAt: current.originAt }];
  }

  #show(fit: Fit<OpenJourney>): void {
    for (const [journey, report] of fit) {
      if (isPending(journey)) journey.show(report);
      this.#changes.note(report, journey.id);
    }
  }

  #undecidedOf(witness: Witness): readonly WitnessReport[] {
    if (this.#undecided.length === 0) return this.#undecided;
    return this.#undecided.filter((report) => witnessId(report.witness) === witnessId(witness));
  }

  get #canShow(): CanShow<OpenJourney> {
    return (change, report) => this.#changes.canShow(change, report);
  }
}
