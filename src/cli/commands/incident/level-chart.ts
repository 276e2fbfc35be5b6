// A quantity over time, as bars of eighths of a character: queue depth, request rate, requests lost.
// A point's value holds until the next; a column shows the highest of its time, so that no peak is
// lost. Series that are compared have one scale. Pure.
import type { Series } from "../../../lab/incidents/incident.ts";
import type { TimeAxis } from "./time-axis.ts";

/** Empty, then an eighth more each. */
const eighths = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;

/** The rows of one series, from the top. */
export function levelRows(
  series: Series,
  options: { readonly axis: TimeAxis; readonly rows: number; readonly top: number },
): readonly string[] {
  const { axis, rows, top } = options;
  const heights = columnValues(series, axis).map((value) => heightOf(value, rows, top));
  return Array.from({ length: rows }, (_, row) => {
    const below = (rows - 1 - row) * 8;
    return heights.map((height) => eighths[Math.min(8, Math.max(0, height - below))]).join("");
  });
}

/** The highest value of all, which is where the scale ends. */
export function topOf(all: readonly Series[]): number {
  return Math.max(0, ...all.flatMap(({ points }) => points.map(([, value]) => value)));
}

/** In eighths; what is there at all is seen. */
function heightOf(value: number, rows: number, top: number): number {
  if (value <= 0 || top <= 0) return 0;
  return Math.max(1, Math.round((value / top) * rows * 8));
}

function columnValues({ points }: Series, axis: TimeAxis): readonly number[] {
  const highest: (number | undefined)[] = Array.from({ length: axis.columns });
  const last: (number | undefined)[] = Array.from({ length: axis.columns });
  for (const [atMs, value] of points) {
    const column = axis.columnOf(atMs);
    if (column === undefined) continue;
    highest[column] = Math.max(highest[column] ?? value, value);
    last[column] = value;
  }
  const values: number[] = [];
  let held = 0;
  for (let column = 0; column < axis.columns; column += 1) {
    values.push(highest[column] ?? held);
    held = last[column] ?? held;
  }
  return values;
}
