// The figures of the ingress: percentiles of the lags of each side at each rate, and what the
// replica's process costs.
import { hasP99 } from "../src/timeline/percentile.ts";
import {
  atMost,
  CannotMeasureError,
  type Figure,
  type Figures,
  percentile,
  plain,
} from "./benchmark.ts";
import type { Series } from "./ingress-flips.ts";
import type { ChangeMeter } from "./ingress-meter.ts";
import type { ClusterSize } from "./ingress-objects.ts";

export interface ReplicaCost {
  /** Of one core. */
  readonly processorShare: number;
  readonly residentMb: number;
}

export interface SeriesCost extends ReplicaCost {
  /** Of changes; less than was asked for where the API server cannot take so many. */
  readonly reachedPerSecond: number;
}

const directions = ["leave", "join"] as const;

const fromTo = "from accepted by the API server to the proxy's acknowledgement";

const goalMs = 25;
const goalSeries = "100";

/** A column of the table: a side in a cluster. */
export interface Column {
  readonly side: "lockstep" | "stock";
  readonly title: string;
  /** At the end of each figure's name. */
  readonly after: string;
  readonly costs?: ReadonlyMap<string, SeriesCost>;
}

/** Leaves and joins together; leaves alone too, for they are what loses requests. */
export function columnFigures(
  meter: ChangeMeter,
  list: readonly Series[],
  { side, title, after, costs }: Column,
): Figures {
  const figures: Record<string, Figure> = {};
  for (const { name } of list) {
    const of = (direction: (typeof directions)[number]) => meter.lags(name, side, direction);
    const lagsMs = directions.flatMap((direction) => of(direction).lagsMs);
    const unseen = directions.reduce((sum, direction) => sum + of(direction).unseen, 0);
    const add = (figure: string, words: string, value: number, unit: string, note: string) => {
      const place = { row: `${words}, ${name}/s`, column: title };
      figures[`${side}${figure}${after}At${name}`] = { ...plain(value, unit, note), place };
    };
    add("P50Ms", "p50", percentile(lagsMs, 0.5), "ms", fromTo);
    add("Changes", "changes", lagsMs.length, "", "that the percentiles are of");
    const leavesMs = of("leave").lagsMs;
    if (hasP99(lagsMs.length)) add("P99Ms", "p99", percentile(lagsMs, 0.99), "ms", fromTo);
    if (hasP99(leavesMs.length)) {
      add("LeaveP99Ms", "p99 of leaves", percentile(leavesMs, 0.99), "ms", fromTo);
    }
    add("Unseen", "taken back unseen", unseen, "changes", "gone before it showed");
    const cost = costs?.get(name);
    if (cost === undefined) continue;
    const whose = "the replica's process, without nginx";
    add("ProcessorShare", "processor", cost.processorShare, "cores", whose);
    const taken = "what the API server took";
    add("ReachedPerSecond", "reached", cost.reachedPerSecond, "1/s", taken);
  }
  return figures;
}

/** The goals. */
export function goalFigures(meter: ChangeMeter, after: string): Figures {
  const lagsMs = directions.flatMap((one) => meter.lags(goalSeries, "lockstep", one).lagsMs);
  const note = `${fromTo}, at ${goalSeries} changes/s`;
  return { [`lagP99Ms${after}`]: atMost(percentile(lagsMs, 0.99), goalMs, "ms", note) };
}

/** The figures of the slices, which both sides can read. */
export function publishedFigures(meter: ChangeMeter, list: readonly Series[]): Figures {
  const note = "the lab's endpointslice controller with limits that are never reached";
  return Object.fromEntries(
    list.flatMap(({ name }) => {
      const { lagsMs } = meter.lags(name, "published", "leave");
      if (!hasP99(lagsMs.length)) return [];
      const place = { row: `p99 of leaves, ${name}/s`, column: "published" };
      const figure = { ...plain(percentile(lagsMs, 0.99), "ms", note), place };
      return [[`publishedLeaveP99MsAt${name}`, figure]];
    }),
  );
}

/** The unwritten changes of the endpoint controller at the end of a run, and its write rate. */
export interface Backlog {
  readonly missing: number;
  readonly publishedPerSecond: number;
}

/** Until it would have caught up, at its pace. */
function secondsBehind({ missing, publishedPerSecond }: Backlog): number {
  if (missing <= 0 || publishedPerSecond <= 0) {
    throw new CannotMeasureError(
      `The endpoint controller was not behind all the time (${missing} endpoints missing at the ` +
        `end, ${publishedPerSecond.toFixed(1)} published a second): no figure with it behind.`,
    );
  }
  return missing / publishedPerSecond;
}

export function scaleFigures(options: {
  readonly size: ClusterSize;
  readonly readyMs: number;
  readonly idle: ReplicaCost;
  readonly backlog: Backlog;
}): Figures {
  const { size, readyMs, idle, backlog } = options;
  const scale = `${size.services} services and ${size.pods} pods`;
  const behind = "at the end of the run: endpoints in no slice ÷ those published a second in it";
  return {
    publishedBehindSeconds: plain(secondsBehind(backlog), "s", behind),
    publishedMissing: plain(backlog.missing, "endpoints", "ready and in no slice at that time"),
    controllerReadyMs: plain(readyMs, "ms", `from its start until nginx serves by ${scale}`),
    controllerResidentMb: plain(idle.residentMb, "MB", `RSS with ${scale}, without nginx`),
    controllerIdleShare: plain(idle.processorShare, "cores", `with ${scale}, nothing changes`),
  };
}
