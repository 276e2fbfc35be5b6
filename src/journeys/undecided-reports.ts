// Reports that fit more than one change of an endpoint. Of a pod that left, came back and left again
// a witness that shows one leave may be behind, at the first, or may have left the flap out, as
// whoever writes down only how things stand does. What it shows next tells, or that it shows nothing.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { aheadMs } from "./journey-limits.ts";
import { type Direction, type Witness, type WitnessReport, witnessId } from "./witness.ts";

/** A change that a report may be of. */
export interface Change {
  readonly direction: Direction;
  readonly originAt: MonotonicMs;
}

/** Which change each report is of. */
export type Fit<C extends Change> = readonly (readonly [C, WitnessReport])[];

export class UndecidedReports {
  /** Oldest first; hardly ever any. */
  #reports: readonly WitnessReport[] = [];

  get size(): number {
    return this.#reports.length;
  }

  of(witness: Witness): readonly WitnessReport[] {
    if (this.#reports.length === 0) return this.#reports;
    return this.#reports.filter((report) => witnessId(report.witness) === witnessId(witness));
  }

  /** These witnesses, and those of which something is undecided. */
  withWitnesses(witnesses: readonly Witness[]): readonly Witness[] {
    if (this.#reports.length === 0) return witnesses;
    const all = [...witnesses, ...this.#reports.map(({ witness }) => witness)];
    return [...new Map(all.map((witness) => [witnessId(witness), witness])).values()];
  }

  add(report: WitnessReport): void {
    this.#reports = [...this.#reports, report];
  }

  remove(report: WitnessReport): void {
    this.#reports = this.#reports.filter((one) => one !== report);
  }

  /** They are decided, or do not matter any more. */
  clear(witness: Witness): void {
    if (this.#reports.length === 0) return;
    const id = witnessId(witness);
    this.#reports = this.#reports.filter((report) => witnessId(report.witness) !== id);
  }
}

/** Whether a witness that tells this may yet show the change. */
export type CanShow<C extends Change> = (change: C, report: WitnessReport) => boolean;

/** Each report with the first change that it can be of; undefined when there are too few. */
export function soonestFit<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  return fitInOrder(reports, changes, canShow);
}

/** Each with the last one that had begun when it was shown; where that is none, with the first. */
export function latestFit<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  const isBegun: CanShow<C> = (change, report) =>
    change.originAt <= report.at && canShow(change, report);
  return (
    aheadFit(reports, changes, canShow) ??
    fitInOrder(reports.toReversed(), changes.toReversed(), isBegun)?.toReversed() ??
    soonestFit(reports, changes, canShow)
  );
}

export function isSameFit<C extends Change>(a: Fit<C>, b: Fit<C> | undefined): boolean {
  return a.every(([change], index) => change === b?.[index]?.[0]);
}

function fitInOrder<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  const fit: (readonly [C, WitnessReport])[] = [];
  let from = 0;
  for (const report of reports) {
    const { direction } = report;
    const index = changes.findIndex(
      (one, at) => at >= from && one.direction === direction && canShow(one, report),
    );
    const change = changes[index];
    if (change === undefined) return undefined;
    fit.push([change, report]);
    from = index + 1;
  }
  return fit;
}

/** As if the witness were never behind where it can be ahead: of what has yet to begin, the first. */
function aheadFit<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  const fit: (readonly [C, WitnessReport])[] = [];
  let from = 0;
  for (const report of reports) {
    const { direction, at } = report;
    const isNext = (one: C, index: number): boolean =>
      index >= from && one.direction === direction && canShow(one, report);
    const begun = changes.findLastIndex((one, index) => isNext(one, index) && one.originAt <= at);
    const next = changes.findIndex(isNext);
    const change = changes[begun === -1 ? next : begun];
    if (change === undefined || elapsedMs(at, change.originAt) >= aheadMs) return undefined;
    fit.push([change, report]);
    from = changes.indexOf(change) + 1;
  }
  return fit;
}
