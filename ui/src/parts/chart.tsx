// Series of one chart over time, drawn by uPlot. Charts with the same group share the cursor and the
// range of time, so that cause and effect line up vertically. The caption has the newest values, or those
// at the cursor.
import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "../../../src/server/api.ts";
import { clockTime, duration, figure } from "../format.ts";
import { useTheme } from "../theme.ts";

/** The width of the axis on the left, the same for all charts and for the strip of journeys. */
export const gutterPx = 64;
export const rightPx = 30;

/** Times of a simulated run begin at 0: no date is that early. */
const simulatedBefore = 1e11;

interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  /** Milliseconds; undefined fits the points. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly group: string;
  readonly height?: number;
}

/** Fixed meanings first; series without one get neutral colours. */
const neutral = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5"];

/** Lines without a fixed meaning also differ in form, for eyes that do not tell the colours apart. */
const dashes: readonly number[][] = [[], [6, 3], [2, 3], [9, 3, 2, 3], [4, 4]];

function colourName({ side, hop }: Series, index: number): string {
  if (side === "lockstep") return "--blue";
  if (side === "stock") return "--stock";
  // A hop has the same colour in every chart.
  const place = hop === null ? index : colouredHops.indexOf(hop);
  return neutral[place % neutral.length] ?? "--dim";
}

const colouredHops = ["published", "synced", "routed", "pod", "traffic"];

function dashOf({ side }: Series, index: number): number[] {
  return side === null ? (dashes[index % dashes.length] ?? []) : [];
}

/** All series on one list of times, as uPlot wants them; in seconds. */
function aligned(series: readonly Series[]): uPlot.AlignedData {
  const all = new Set(series.flatMap(({ points }) => points.map(([at]) => at)));
  const times = [...all].sort((a, b) => a - b);
  const index = new Map(times.map((at, place) => [at, place]));
  const columns = series.map(({ points }) => {
    // undefined joins the neighbours: another series has this time; null is a gap.
    const column: (number | null | undefined)[] = Array.from(times, () => undefined);
    for (const [at, value] of points) column[index.get(at) ?? 0] = value;
    return column;
  });
  return [times.map((at) => at / 1000), ...columns] as uPlot.AlignedData;
}

export function isOfLags(series: readonly Series[]): boolean {
  return series.length > 0 && series.every(({ hop, unit }) => hop !== null && unit === "ms");
}

function timeText(series: readonly Series[]): (ms: number) => string {
  const isSimulated = (series[0]?.points[0]?.[0] ?? 0) < simulatedBefore;
  return isSimulated ? duration : clockTime;
}

/** Steps of a clock, in seconds. */
const timeSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400,
];

function optionsOf(
  { series, group, height = 130 }: ChartProps,
  width: number,
  onCursor: (index: number | undefined) => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const unit = series[0]?.unit ?? "count";
  const font = `12px ${colour("--sans")}`;
  const timeOf = timeText(series);
  // One lag is one change: points, on the logarithmic scale of all lags.
  const isScatter = isOfLags(series);
  const decades = (_: uPlot, splits: number[]) =>
    splits.map((one) => (Number.isInteger(Math.log10(one)) ? one : null));
  const whole = (_: uPlot, splits: number[]) =>
    splits.map((one) => (Number.isInteger(one) ? one : null));
  const filter = isScatter ? decades : unit === "count" ? whole : undefined;
  const axis = {
    stroke: colour("--dim"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    padding: [6, rightPx, 0, 0],
    cursor: { sync: { key: group }, y: false, drag: { x: false, y: false } },
    legend: { show: false },
    scales: {
      x: { time: false },
      y: isScatter
        ? { distr: 3, range: (_, min, max) => logRange(min, max) }
        : { range: (_, __, max) => [0, niceTop(Math.max(max ?? 0, limitOf(series)))] },
    },
    axes: [
      {
        ...axis,
        size: 26,
        space: 80,
        incrs: timeSteps,
        values: (_, splits) => splits.map((one) => timeOf(one * 1000)),
      },
      {
        ...axis,
        size: gutterPx,
        space: 26,
        values: (_, splits) => splits.map((one) => axisText(one, unit)),
        ...(filter && { filter, grid: { ...axis.grid, filter } }),
      },
    ],
    series: [
      {},
      ...series.map((one, index) => {
        const stroke = colour(colourName(one, index));
        return {
          stroke,
          width: 1.75,
          dash: dashOf(one, index),
          ...(isScatter && { paths: () => null }),
          points: isScatter ? { show: true, size: 5, fill: stroke } : { show: false },
        };
      }),
    ],
    hooks: {
      draw: [(plot) => drawLimits(plot, series, colour("--red"), colour("--sans"))],
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? undefined)],
    },
  };
}

/** Short enough for the gutter: 100 s rather than 1 min 40 s, but 10 min. */
function axisText(value: number | null, unit: Series["unit"]): string {
  if (value === null) return "";
  const isInSeconds = unit === "ms" && value >= 1_000 && value % 60_000 !== 0;
  return isInSeconds ? `${(value / 1_000).toLocaleString("en-US")} s` : figure(value, unit);
}

/** Whole decades around the points, three at least. */
function logRange(min: number | null, max: number | null): [number, number] {
  const low = 10 ** Math.floor(Math.log10(Math.max(min ?? 1, 0.1)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(max ?? 1_000, low * 10)));
  return [low, Math.max(high, low * 1_000)];
}

function niceTop(top: number): number {
  return top > 0 ? top * 1.12 : 1;
}

function limitOf(series: readonly Series[]): number {
  return Math.max(0, ...series.flatMap(({ limit }) => limit ?? []));
}

function drawLimits(plot: uPlot, series: readonly Series[], colour: string, fonts: string): void {
  const limits = new Set(series.flatMap(({ limit }) => limit ?? []));
  const unit = series[0]?.unit ?? "count";
  const { ctx, bbox } = plot;
  const px = devicePixelRatio;
  for (const limit of limits) {
    const y = plot.valToPos(limit, "y", true);
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.fillStyle = colour;
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    ctx.font = `${12 * px}px ${fonts}`;
    ctx.setLineDash([6 * px, 4 * px]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(`limit ${figure(limit, unit)}`, bbox.left + 8 * px, y + 3 * px);
    ctx.restore();
  }
}

export function Chart(props: ChartProps) {
  const { title, series, from, to } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [cursorMs, setCursorMs] = useState<number>();
  const theme = useTheme();
  const shape = `${theme} ${series.map(({ id, limit }) => `${id} ${limit}`).join(" ")}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: made again for another shape, not for points.
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const onCursor = (index: number | undefined) => {
      const seconds = index === undefined ? undefined : plot.current?.data[0][index];
      setCursorMs(seconds === undefined ? undefined : seconds * 1000);
    };
    const made = new uPlot(optionsOf(props, parent.clientWidth, onCursor), aligned(series), parent);
    plot.current = made;
    const watcher = new ResizeObserver(() => {
      made.setSize({ width: parent.clientWidth, height: made.height });
    });
    watcher.observe(parent);
    return () => {
      watcher.disconnect();
      made.destroy();
    };
  }, [shape]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot that was made again needs its range.
  useEffect(() => {
    const data = aligned(series);
    plot.current?.setData(data, false);
    const min = from === undefined ? (data[0][0] ?? 0) : from / 1000;
    const max = to === undefined ? (data[0].at(-1) ?? 1) : to / 1000;
    plot.current?.setScale("x", { min, max: max > min ? max : min + 1 });
  }, [series, from, to, shape]);
  const values = series.map((one) => figure(valueAt(one, cursorMs), one.unit));
  const isEmpty = series.every(({ points }) => points.every(([, value]) => value === null));
  const label = series.map((one, index) => `${one.title} ${values[index]}`).join(", ");
  return (
    <figure className="chart" aria-label={`${title}: ${label}`}>
      <figcaption>
        {title}
        <span className="chart-keys">
          {series.map((one, index) => (
            <span key={one.id}>
              <Key series={one} index={index} isPoint={isOfLags(series)} />
              {series.length > 1 && <span className="dim">{one.title} </span>}
              {values[index]}
            </span>
          ))}
          {cursorMs !== undefined && <span className="dim">at {timeText(series)(cursorMs)}</span>}
        </span>
      </figcaption>
      <div ref={place} className="chart-place">
        {isEmpty && <span className="chart-empty dim">no value yet</span>}
      </div>
    </figure>
  );
}

/** At the cursor, or the newest that is known. */
function valueAt({ points }: Series, at: number | undefined): number | null | undefined {
  if (at === undefined) return points.findLast(([, value]) => value !== null)?.[1];
  return points.find(([pointAt]) => pointAt >= at)?.[1];
}

function Key({
  series,
  index,
  isPoint,
}: {
  readonly series: Series;
  readonly index: number;
  readonly isPoint: boolean;
}) {
  const stroke = `var(${colourName(series, index)})`;
  return (
    <svg width={18} height={6} aria-hidden="true">
      {isPoint ? (
        <circle cx={9} cy={3} r={3} fill={stroke} />
      ) : (
        <line
          x1={0}
          x2={18}
          y1={3}
          y2={3}
          stroke={stroke}
          strokeWidth={2}
          strokeDasharray={dashOf(series, index).join(" ")}
        />
      )}
    </svg>
  );
}
