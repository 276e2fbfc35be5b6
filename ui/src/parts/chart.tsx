// Series of one chart over time, drawn by uPlot. Charts with the same group share the cursor and the
// range of time, so that cause and effect line up vertically. The values at the cursor are in the legend.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "../../../src/server/api.ts";
import { clockTime, duration, figure } from "../format.ts";
import { useTheme } from "../theme.ts";

/** The width of the axis on the left, the same for all charts and for the strip of journeys. */
export const gutterPx = 72;
export const rightPx = 14;

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

function colourOf(series: Series, index: number, style: CSSStyleDeclaration): string {
  const name =
    series.side === "lockstep"
      ? "--blue"
      : series.side === "stock"
        ? "--stock"
        : (neutral[index % neutral.length] ?? "--dim");
  return style.getPropertyValue(name).trim();
}

/** All series on one list of times, as uPlot wants them; in seconds. */
export function aligned(series: readonly Series[]): uPlot.AlignedData {
  const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort(
    (a, b) => a - b,
  );
  const index = new Map(times.map((at, place) => [at, place]));
  const columns = series.map(({ points }) => {
    // undefined joins the neighbours: another series has this time; null is a gap.
    const column: (number | null | undefined)[] = Array.from(times, () => undefined);
    for (const [at, value] of points) column[index.get(at) ?? 0] = value;
    return column;
  });
  return [times.map((at) => at / 1000), ...columns] as uPlot.AlignedData;
}

function optionsOf(props: ChartProps, style: CSSStyleDeclaration, width: number): uPlot.Options {
  const { series, group, height = 150 } = props;
  const unit = series[0]?.unit ?? "count";
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `12px ${colour("--sans")}`;
  const isSimulated = (series[0]?.points[0]?.[0] ?? 0) < simulatedBefore;
  const timeText = (seconds: number) =>
    isSimulated ? duration(seconds * 1000) : clockTime(seconds * 1000);
  const axis = {
    stroke: colour("--dim"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    padding: [8, rightPx, 0, 0],
    cursor: { sync: { key: group }, y: false, drag: { x: false, y: false } },
    legend: { live: true },
    scales: {
      x: { time: false },
      y: { range: (_, __, max) => [0, niceTop(Math.max(max ?? 0, limitOf(series)))] },
    },
    axes: [
      { ...axis, size: 28, space: 90, values: (_, splits) => splits.map(timeText) },
      {
        ...axis,
        size: gutterPx,
        space: 30,
        values: (_, splits) => splits.map((one) => figure(one, unit)),
      },
    ],
    series: [
      { label: "time", value: (_, value) => (value === null ? "–" : timeText(value)) },
      ...series.map((one, index) => ({
        label: one.title,
        stroke: colourOf(one, index, style),
        width: 1.75,
        ...(one.side === null && index > 0 && { dash: dashes[index % dashes.length] ?? [] }),
        points: { show: false },
        value: (_: uPlot, value: number | null) => figure(value, one.unit),
      })),
    ],
    hooks: { draw: [(plot) => drawLimits(plot, series, colour("--red"), font)] },
  };
}

/** Lines without a fixed meaning also differ in form, for eyes that do not tell the colours apart. */
const dashes: readonly number[][] = [[], [6, 3], [2, 3], [9, 3, 2, 3], [4, 4]];

function niceTop(top: number): number {
  return top > 0 ? top * 1.08 : 1;
}

function limitOf(series: readonly Series[]): number {
  return Math.max(0, ...series.flatMap(({ limit }) => limit ?? []));
}

function drawLimits(plot: uPlot, series: readonly Series[], colour: string, font: string): void {
  const limits = new Set(series.flatMap(({ limit }) => limit ?? []));
  const { ctx, bbox } = plot;
  for (const limit of limits) {
    const y = plot.valToPos(limit, "y", true);
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.fillStyle = colour;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.font = font.replace("12px", `${12 * devicePixelRatio}px`);
    const unit = series[0]?.unit ?? "count";
    ctx.fillText(
      `limit ${figure(limit, unit)}`,
      bbox.left + 8 * devicePixelRatio,
      y - 5 * devicePixelRatio,
    );
    ctx.restore();
  }
}

export function Chart(props: ChartProps) {
  const { title, series, from, to } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const theme = useTheme();
  const shape = `${theme} ${series.map(({ id, limit }) => `${id} ${limit}`).join(" ")}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn again for another shape, not for points.
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const style = getComputedStyle(document.documentElement);
    const made = new uPlot(optionsOf(props, style, parent.clientWidth), aligned(series), parent);
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
  useEffect(() => {
    const data = aligned(series);
    plot.current?.setData(data, false);
    const min = (from ?? firstOf(data) * 1000) / 1000;
    const max = (to ?? lastOf(data) * 1000) / 1000;
    plot.current?.setScale("x", { min, max: max > min ? max : min + 1 });
  }, [series, from, to]);
  return (
    <figure className="chart" aria-label={`${title}: ${latestText(series)}`}>
      <figcaption>
        {title} <span className="dim">{latestText(series)}</span>
      </figcaption>
      <div ref={place} className="chart-place" />
    </figure>
  );
}

function firstOf(data: uPlot.AlignedData): number {
  return data[0][0] ?? 0;
}

function lastOf(data: uPlot.AlignedData): number {
  return data[0].at(-1) ?? 1;
}

/** The newest value of each series in words; a picture alone is no figure. */
function latestText(series: readonly Series[]): string {
  return series
    .map(({ title, points, unit }) => {
      const value = points.findLast(([, one]) => one !== null)?.[1];
      return series.length === 1 ? figure(value, unit) : `${title} ${figure(value, unit)}`;
    })
    .join(" · ");
}
