// Lags over time, one sign for each change at each hop, on a logarithmic scale: they span six orders
// of magnitude, and a linear scale would hide all but the largest. Pure.
import { durationText } from "../../../environment/duration-text.ts";
import type { Series } from "../../../lab/incidents/incident.ts";
import type { TimeAxis } from "./time-axis.ts";

/** The rows, from the bottom; a lag stands in the row whose mark is nearest on the scale. */
const marksMs = [1, 10, 100, 1_000, 10_000, 60_000, 600_000] as const;

/** Where several series have a sign in one cell. */
export const together = "◆";

export interface LagRow {
  readonly label: string;
  /** One cell a column, each with the index of its series; `together` belongs to none. */
  readonly cells: readonly LagCell[];
}

export interface LagCell {
  readonly sign: string;
  readonly series: number | undefined;
}

const empty: LagCell = { sign: " ", series: undefined };

/** From the top, as few rows as hold everything; none when there is nothing to show. */
export function lagRows(
  all: readonly Series[],
  signs: readonly string[],
  axis: TimeAxis,
): readonly LagRow[] {
  const grid = marksMs.map(() => Array.from({ length: axis.columns }, () => empty));
  const used = new Set<number>();
  for (const [index, { points }] of all.entries()) {
    for (const [atMs, lagMs] of points) {
      const column = axis.columnOf(atMs);
      if (column === undefined) continue;
      const row = rowOf(lagMs);
      used.add(row);
      const cells = grid[row] ?? [];
      cells[column] = merged(cells[column] ?? empty, { sign: signs[index] ?? "·", series: index });
    }
  }
  if (used.size === 0) return [];
  const lowest = Math.min(...used);
  const highest = Math.max(...used);
  return grid
    .map((cells, row) => ({ label: durationText(marksMs[row] ?? 0), cells }))
    .slice(lowest, highest + 1)
    .reverse();
}

function rowOf(lagMs: number): number {
  const distances = marksMs.map((mark) => Math.abs(Math.log(Math.max(lagMs, 1) / mark)));
  return distances.indexOf(Math.min(...distances));
}

function merged(before: LagCell, added: LagCell): LagCell {
  if (before.sign === " " || before.series === added.series) return added;
  return { sign: together, series: undefined };
}
