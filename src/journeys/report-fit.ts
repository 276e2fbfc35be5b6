// Which changes the reports of one witness can be of. It shows changes in order and may leave some
// out, so there is a soonest and a latest way to read what it says, and sometimes they differ. Pure.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { aheadMs } from "./journey-limits.ts";
import type { Direction, WitnessReport } from "./witness.ts";

/** A change that a report may be of. */
export interface Change {
  readonly direction: Direction;
  readonly originAt: MonotonicMs;
}

/** Which change each report is of. */
export type Fit<C extends Change> = readonly (readonly [C, WitnessReport])[];

/** Whether a witness that tells this may yet show the change. */
export type CanShow<C extends Change> = (change: C, report: WitnessReport) => boolean;

/** Which of the changes that are left a report is taken for. */
type Pick<C extends Change> = (left: readonly C[], report: WitnessReport) => C | undefined;

/** Each report with the first change that it can be of; undefined when there are too few. */
export function soonestFit<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  return fitInOrder(reports, changes, (left, report) => left.find(isOf(report, canShow)));
}

/** Each with the last one that had begun when it was shown; where that is none, with the first. */
export function latestFit<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  return begunFit(reports, changes, canShow) ?? soonestFit(reports, changes, canShow);
}

/** Each with the last one that had begun when it was shown, or that began in the same moment. */
export function begunFit<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  const isBegun: CanShow<C> = (change, report) =>
    change.originAt <= report.at && canShow(change, report);
  return (
    aheadFit(reports, changes, canShow) ??
    soonestFit(reports.toReversed(), changes.toReversed(), isBegun)?.toReversed()
  );
}

export function isSameFit<C extends Change>(a: Fit<C>, b: Fit<C> | undefined): boolean {
  return a.every(([change], index) => change === b?.[index]?.[0]);
}

/** As if the witness were never behind where it can be ahead: of what has yet to begin, the first. */
function aheadFit<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  canShow: CanShow<C>,
): Fit<C> | undefined {
  return fitInOrder(reports, changes, (left, report) => {
    const possible = left.filter(isOf(report, canShow));
    const change = possible.findLast(({ originAt }) => originAt <= report.at) ?? possible[0];
    if (change === undefined || elapsedMs(report.at, change.originAt) >= aheadMs) return undefined;
    return change;
  });
}

/** Undefined as soon as nothing is picked for a report. */
function fitInOrder<C extends Change>(
  reports: readonly WitnessReport[],
  changes: readonly C[],
  pick: Pick<C>,
): Fit<C> | undefined {
  const fit: (readonly [C, WitnessReport])[] = [];
  let left = changes;
  for (const report of reports) {
    const change = pick(left, report);
    if (change === undefined) return undefined;
    fit.push([change, report]);
    left = left.slice(left.indexOf(change) + 1);
  }
  return fit;
}

function isOf<C extends Change>(
  report: WitnessReport,
  canShow: CanShow<C>,
): (change: C) => boolean {
  return (change) => change.direction === report.direction && canShow(change, report);
}
