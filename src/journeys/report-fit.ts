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
