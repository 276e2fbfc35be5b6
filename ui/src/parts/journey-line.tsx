// One change as a line on the logarithmic time axis. Positions are percents, so the drawing follows the
// width of its cell. The same picture is in the list, in the detail and in a recording.
import type { Journey } from "../../../src/server/api.ts";
import { journeyPath, type Part, type PathPoint, pathText, type Reading } from "../journey-path.ts";
import { lagPercent, originPercent, ticks } from "../log-axis.ts";

const height = 26;
const middle = height / 2;
/** Replicas of one kind are apart, so that a late one stands out. */
const laneGap = 5;

export function JourneyLine({
  journey,
  reading,
  now,
}: {
  readonly journey: Journey;
  readonly reading: Reading;
  readonly now: number;
}) {
  const { points, segments } = journeyPath(journey, reading, now);
  const text = pathText(journey, reading, now);
  return (
    <svg className="line" height={height} role="img" aria-label={text}>
      <title>{text}</title>
      <Grid />
      {segments.map(({ part, fromMs, toMs, level, isWaiting }) => (
        <line
          key={`${part} ${isWaiting}`}
          className={`segment ${part} ${level} ${isWaiting ? "waiting" : ""}`}
          x1={`${lagPercent(fromMs)}%`}
          x2={`${lagPercent(toMs)}%`}
          y1={middle}
          y2={middle}
        />
      ))}
      <circle className="point pod" cx={`${originPercent}%`} cy={middle} r={4} />
      {points.map((point) => (
        <Point key={`${point.part} ${point.witness}`} point={point} lane={laneOf(point, points)} />
      ))}
    </svg>
  );
}

/** −1, 0, 1 … around the line for the replicas of one kind; 0 for the others. */
function laneOf(point: PathPoint, points: readonly PathPoint[]): number {
  if (point.part !== "lockstep" && point.part !== "proxy") return 0;
  const same = points.filter(({ part }) => part === point.part);
  const lane = same.indexOf(point) - (same.length - 1) / 2;
  return Math.max(-1.4, Math.min(1.4, lane));
}

function Point({ point, lane }: { readonly point: PathPoint; readonly lane: number }) {
  const { part, lagMs, level } = point;
  const x = `${lagPercent(lagMs)}%`;
  const y = middle + lane * laneGap;
  if (part === "pod") return null;
  if (part === "published" || part === "synced") {
    const half = part === "published" ? 4 : 3;
    return (
      <svg x={x} y={y} overflow="visible" aria-hidden="true">
        <rect
          className={`point ${part} ${level}`}
          x={-half}
          y={-half}
          width={2 * half}
          height={2 * half}
          transform={part === "synced" ? "rotate(45)" : undefined}
        />
      </svg>
    );
  }
  if (part === "traffic") {
    return <line className="point traffic" x1={x} x2={x} y1={y - 6} y2={y + 6} />;
  }
  return <circle className={`point ${part}`} cx={x} cy={y} r={3} />;
}

export function Grid() {
  return (
    <g className="grid">
      {ticks.map(({ ms, percent }) => (
        <line key={ms} x1={`${percent}%`} x2={`${percent}%`} y1={0} y2="100%" />
      ))}
    </g>
  );
}

/** The head of the column: the marks of the axis. */
export function AxisHead() {
  return (
    <svg
      className="axis"
      height={16}
      role="img"
      aria-label="time since the pod changed, logarithmic"
    >
      <title>Time since the pod changed; the scale is logarithmic</title>
      {ticks.map(({ ms, text, percent, isMajor }) => (
        <text
          key={ms}
          className={isMajor ? "" : "minor"}
          x={`${percent}%`}
          y={12}
          textAnchor={percent > 90 ? "end" : "middle"}
          dx={percent > 90 ? 14 : 0}
        >
          {text}
        </text>
      ))}
    </svg>
  );
}

const legend: readonly (readonly [Part | "waiting", string])[] = [
  ["pod", "pod changed"],
  ["lockstep", "Lockstep replicas"],
  ["published", "EndpointSlices"],
  ["synced", "copies in the access cluster"],
  ["proxy", "stock replicas (model of ingress-nginx)"],
  ["traffic", "requests"],
  ["waiting", "still waiting"],
];

/** Only what is drawn is explained. */
export function Legend({
  parts,
  hasStock,
}: {
  readonly parts: ReadonlySet<string>;
  readonly hasStock: boolean;
}) {
  return (
    <ul className="legend">
      {legend
        .filter(([part]) => parts.has(part))
        .map(([part, text]) => (
          <li key={part}>
            <svg width={16} height={12} aria-hidden="true">
              <LegendMark part={part} />
            </svg>
            {part === "proxy" && !hasStock ? "other proxies" : text}
          </li>
        ))}
    </ul>
  );
}

function LegendMark({ part }: { readonly part: Part | "waiting" }) {
  switch (part) {
    case "waiting":
      return <line className="segment late waiting" x1={0} x2={16} y1={6} y2={6} />;
    case "traffic":
      return <line className="point traffic" x1={8} x2={8} y1={1} y2={11} />;
    case "published":
      return <rect className="point published" x={4} y={2} width={8} height={8} />;
    case "synced":
      return (
        <rect
          className="point synced"
          x={-3}
          y={-3}
          width={6}
          height={6}
          transform="translate(8 6) rotate(45)"
        />
      );
    case "pod":
    case "lockstep":
    case "proxy":
      return <circle className={`point ${part}`} cx={8} cy={6} r={4} />;
  }
}

/** The parts that these journeys have. */
export function partsOf(
  journeys: readonly Journey[],
  reading: Reading,
  now: number,
): ReadonlySet<string> {
  const parts = new Set<string>(["pod"]);
  for (const journey of journeys) {
    const { points, segments } = journeyPath(journey, reading, now);
    for (const { part } of points) parts.add(part);
    if (segments.some(({ isWaiting }) => isWaiting)) parts.add("waiting");
  }
  return parts;
}
