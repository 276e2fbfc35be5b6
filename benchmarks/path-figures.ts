// The figures of one series: percentiles of the lags for each side and direction, the ratio of the
// two sides, and how many changes a side never showed because they were taken back before.
import { type Figure, type Figures, plain } from "./benchmark.ts";
import type { Series } from "./path-flips.ts";
import type { ChangeMeter, Direction, MeteredHop } from "./path-meter.ts";

const sides = ["lockstep", "stock"] as const;
const directions = ["leave", "join"] as const;
const percentiles = { P50: 0.5, P99: 0.99 } as const;

const fromTo = "from accepted by the API server to the proxy's acknowledgement";

export function seriesFigures(meter: ChangeMeter, series: Series, processorShare: number): Figures {
  const { name, changes } = series;
  const figures: Record<string, Figure> = {};
  for (const direction of directions) {
    for (const [label, share] of Object.entries(percentiles)) {
      const key = `${capital(direction)}${label}`;
      const lagMs = (hop: MeteredHop) => percentile(meter, name, hop, direction, share);
      figures[`lockstep${key}Ms${name}`] = plain(lagMs("lockstep"), "ms", fromTo);
      figures[`stock${key}Ms${name}`] = plain(lagMs("stock"), "ms", fromTo);
      const ratio = lagMs("stock") / lagMs("lockstep");
      figures[`${direction}${label}Ratio${name}`] = plain(ratio, "× stock", "stock ÷ Lockstep");
    }
  }
  for (const side of sides) {
    const lags = directions.map((direction) => meter.lags(name, side, direction));
    const seen = lags.reduce((sum, { lagsMs }) => sum + lagsMs.length, 0);
    const unseen = lags.reduce((sum, one) => sum + one.unseen, 0);
    figures[`${side}Measured${name}`] = plain(seen, "changes", `of ${changes} written`);
    figures[`${side}Unseen${name}`] = plain(unseen, "changes", "superseded before they showed");
  }
  const publishedMs = percentile(meter, name, "published", "leave", percentiles.P99);
  const byWhom = "the lab's endpointslice controller with limits that are never reached";
  figures[`publishedLeaveP99Ms${name}`] = plain(publishedMs, "ms", byWhom);
  const what = "of one core: the API server, its controllers and both replicas without nginx";
  figures[`processorShare${name}`] = plain(processorShare, "cores", what);
  return figures;
}

/** The smallest lag that at least this share of the changes does not exceed. */
function percentile(
  meter: ChangeMeter,
  series: string,
  hop: MeteredHop,
  direction: Direction,
  share: number,
): number {
  const { lagsMs } = meter.lags(series, hop, direction);
  const sorted = [...lagsMs].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
