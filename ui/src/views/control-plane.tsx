// Control plane: the charts that reveal causes, on one time axis with the changes above them. Queue
// depth, waits, requests and heartbeats line up vertically with the changes that they delay.
import { useState } from "react";
import { counted } from "../../../src/environment/counted.ts";
import type { Series, State } from "../../../src/server/api.ts";
import { clockTime } from "../format.ts";
import { journeyPath, type PathSegment, pathText, readingOf } from "../journey-path.ts";
import { useNow } from "../now.ts";
import { Chart, gutterPx, rightPx } from "../parts/chart.tsx";
import { journeyHref } from "../parts/journey-table.tsx";
import { Notice, Waiting } from "../parts/notice.tsx";
import { useSeries } from "../series.ts";
import type { Known } from "../store.ts";

const ranges: readonly (readonly [number, string])[] = [
  [5, "5 min"],
  [15, "15 min"],
  [60, "1 h"],
];
const minuteMs = 60_000;
/** A strip with more lanes hides the charts below it. */
const lanesMax = 24;
const laneHeight = 7;

export function ControlPlaneView({
  known,
  state,
}: {
  readonly known: Known;
  readonly state: State;
}) {
  const [minutes, setMinutes] = useState(5);
  const tick = useNow(1_000);
  const { answer, error } = useSeries();
  if (answer === undefined) return <Waiting what="the charts" error={error} />;
  // A point beyond the right edge would pull its line out of the chart.
  const now = Math.max(tick, ...answer.series.map(({ points }) => points.at(-1)?.[0] ?? 0));
  // Before the start there is nothing to show.
  const from = Math.max(now - minutes * minuteMs, Math.min(state.startedAt, now - minuteMs));
  const charts = chartsOf(answer.series.filter((series) => !isStartOnly(series)));
  const hasQueues = charts.some(({ id }) => id.startsWith("control-plane queue"));
  const missing = <Missing texts={answer.missing} />;
  return (
    <div className="stack">
      {!hasQueues && missing}
      <section className="panel" aria-label="Changes and charts">
        <h2>
          Changes <em>from the pod's change to its last hop, on the time axis of the charts</em>
          <span className="spring" />
          <fieldset className="choice">
            <legend className="hidden">range of time</legend>
            {ranges.map(([value, text]) => (
              <label key={value} className={value === minutes ? "on" : ""}>
                <input
                  type="radio"
                  name="range"
                  className="hidden"
                  checked={value === minutes}
                  onChange={() => setMinutes(value)}
                />
                {text}
              </label>
            ))}
          </fieldset>
        </h2>
        <div className="aligned-charts">
          <JourneyStrip known={known} state={state} from={from} to={now} />
          {ordered(charts).map(({ id, title, series }) => (
            <div key={id} data-chart={id}>
              <Chart title={title} series={series} from={from} to={now} group="control-plane" />
            </div>
          ))}
        </div>
      </section>
      {answer.series.length === 0 && (
        <Notice kind="empty" title="No chart yet">
          Points arrive every 2 s.
        </Notice>
      )}
      {hasQueues && missing}
    </div>
  );
}

/** Above the charts where the most telling ones are missing: a permission, an address. */
function Missing({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <section className="panel" aria-label="Charts that are missing">
      <h2>Not shown</h2>
      <ul className="evidence">
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </section>
  );
}

/** Changes begin with their pod event: a lag of zero has no place on a logarithmic axis. */
function isStartOnly({ hop, points }: Series): boolean {
  return hop === "pod" && points.every(([, value]) => (value ?? 0) === 0);
}

interface ChartOfSeries {
  readonly id: string;
  readonly title: string;
  readonly series: readonly Series[];
}

/** Below the changes first the effect, then the likeliest causes; the rest as it comes. */
const firstCharts = [
  /^in flight/,
  /queue/,
  /waits/,
  /throttl/,
  /requests of/,
  /writes of endpoints/,
  /^requests /,
  /^lag/,
];

function ordered(charts: readonly ChartOfSeries[]): readonly ChartOfSeries[] {
  const placeOf = ({ id }: ChartOfSeries) => {
    const place = firstCharts.findIndex((form) => form.test(id));
    return place === -1 ? firstCharts.length : place;
  };
  return [...charts].sort((a, b) => placeOf(a) - placeOf(b));
}

const directions = { leave: " of removals", join: " of additions" };

/** Series of one chart, unit and direction; the chart is named for what its series share. */
export function chartsOf(series: readonly Series[]): readonly ChartOfSeries[] {
  const charts = new Map<string, Series[]>();
  for (const one of series) {
    const id = `${one.chart} ${one.unit} ${one.direction ?? ""}`.trim();
    charts.set(id, [...(charts.get(id) ?? []), one]);
  }
  return [...charts].map(([id, own]) => {
    const [first] = own;
    const direction = first?.direction ?? undefined;
    const shared = `${first?.chart ?? id}${direction === undefined ? "" : directions[direction]}`;
    if (own.length === 1 && first !== undefined)
      return { id, title: heading(first.title), series: own };
    return { id, title: heading(titleOfClusters(own) ?? shared), series: withShortTitles(own) };
  });
}

/** The title of a chart that has the same series of each cluster; undefined for others. */
function titleOfClusters(series: readonly Series[]): string | undefined {
  const titles = new Set(series.map(({ title, cluster }) => title.replace(` in ${cluster}`, "")));
  const clusters = new Set(series.map(({ cluster }) => cluster));
  return titles.size === 1 && clusters.size === series.length ? [...titles][0] : undefined;
}

/** Words that all titles begin or end with are those of the chart. */
function withShortTitles(series: readonly Series[]): readonly Series[] {
  const words = series.map(({ title }) => title.split(" "));
  const [shortest = 0] = words.map(({ length }) => length).sort((a, b) => a - b);
  const isShared = (place: number) => new Set(words.map((one) => one.at(place))).size === 1;
  let last = 0;
  while (last < shortest - 1 && isShared(-1 - last)) last += 1;
  let first = 0;
  while (first < shortest - 1 - last && isShared(first)) first += 1;
  return series.map((one, place) => {
    const own = words[place]?.slice(first, (words[place]?.length ?? 0) - last) ?? [];
    return { ...one, title: own.join(" ").replace(/,$/, "") };
  });
}

/** The charts of the control plane are named for it; here that is known. */
function heading(text: string): string {
  const short = text.replace(/^control-plane\s+/, "");
  return `${short.slice(0, 1).toUpperCase()}${short.slice(1)}`;
}

function JourneyStrip({
  known,
  state,
  from,
  to,
}: {
  readonly known: Known;
  readonly state: State;
  readonly from: number;
  readonly to: number;
}) {
  const reading = readingOf(state);
  const percent = (at: number) => Math.max(0, Math.min(100, ((at - from) / (to - from)) * 100));
  const visible = known.journeys
    .map((journey) => {
      const { segments } = journeyPath(journey, reading, to);
      return { journey, segments, endAt: journey.originMs + (segments.at(-1)?.toMs ?? 0) };
    })
    .filter(({ journey, endAt }) => endAt >= from && journey.originMs <= to);
  const { rows, hidden } = packed(visible, (to - from) / 200);
  if (visible.length === 0) {
    return (
      <Notice kind="empty" title={`No change since ${clockTime(from)}`}>
        A bar appears when a pod of a service becomes ready or leaves.
      </Notice>
    );
  }
  const height = (Math.max(0, ...rows.map(({ lane }) => lane)) + 1) * laneHeight + 4;
  return (
    <>
      <div className="strip" style={{ paddingLeft: gutterPx, paddingRight: rightPx }}>
        <svg width="100%" height={height}>
          <title>{`${counted(visible.length, "change")} over time`}</title>
          {rows.map(({ item: { journey, segments }, lane }) => (
            <a
              key={journey.id}
              href={journeyHref(journey)}
              aria-label={`${journey.service} ${journey.address}`}
            >
              <title>{`${journey.service} ${journey.address}: ${pathText(journey, reading, to)}`}</title>
              {segments.map((segment) => (
                <Bar
                  key={`${segment.part} ${segment.isWaiting}`}
                  segment={segment}
                  x1={percent(journey.originMs + segment.fromMs)}
                  x2={percent(journey.originMs + segment.toMs)}
                  y={lane * laneHeight + 5}
                />
              ))}
              <circle
                className="point pod"
                cx={`${percent(journey.originMs)}%`}
                cy={lane * laneHeight + 5}
                r={journey.originMs >= from ? 2.5 : 0}
              />
            </a>
          ))}
        </svg>
      </div>
      {hidden > 0 && (
        <p className="dim">{counted(hidden, "more change")} did not fit; see Journeys.</p>
      )}
    </>
  );
}

function Bar({
  segment,
  x1,
  x2,
  y,
}: {
  readonly segment: PathSegment;
  readonly x1: number;
  readonly x2: number;
  readonly y: number;
}) {
  const { part, level, isWaiting } = segment;
  return (
    <line
      className={`segment bar ${part} ${level} ${isWaiting ? "waiting" : ""}`}
      x1={`${x1}%`}
      x2={`${Math.max(x2, x1 + 0.15)}%`}
      y1={y}
      y2={y}
    />
  );
}

interface Timed {
  readonly journey: { readonly originMs: number };
  readonly endAt: number;
}

/** Each in the first lane that is free at its start, oldest first; the newest are never left out. */
function packed<Item extends Timed>(
  items: readonly Item[],
  gapMs: number,
): {
  readonly rows: readonly { readonly item: Item; readonly lane: number }[];
  readonly hidden: number;
} {
  const freeAt: number[] = [];
  const rows: { item: Item; lane: number }[] = [];
  let hidden = 0;
  for (const item of [...items].sort((a, b) => a.journey.originMs - b.journey.originMs)) {
    const found = freeAt.findIndex((at) => at <= item.journey.originMs);
    const lane = found === -1 ? freeAt.length : found;
    if (lane >= lanesMax) {
      hidden += 1;
      continue;
    }
    freeAt[lane] = item.endAt + gapMs;
    rows.push({ item, lane });
  }
  return { rows, hidden };
}
