// A small chart without axes: its row has the figures. One lag is one change, so it has points and no line.
import type { Series } from "../../../src/server/api.ts";

const width = 120;
const height = 24;
/** Room for half a dot. */
const edge = 2;

export function Spark({ series, tone }: { readonly series: Series; readonly tone: string }) {
  const known = series.points.filter((point): point is [number, number] => point[1] !== null);
  const [first] = known;
  const last = known.at(-1);
  if (first === undefined || last === undefined) {
    return <span className="dim">–</span>;
  }
  const top = Math.max(...known.map(([, value]) => value), Number.EPSILON);
  const spanMs = Math.max(last[0] - first[0], 1);
  const place = ([time, value]: readonly [number, number]) =>
    `${((time - first[0]) / spanMs) * (width - 2 * edge) + edge},${height - 3 - (value / top) * (height - 6)}`;
  return (
    <svg
      className={`spark ${tone}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${series.title} over the last hour`}
    >
      <path d={known.map((point) => `M${place(point)}h0`).join("")} />
    </svg>
  );
}
