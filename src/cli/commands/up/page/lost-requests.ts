// The lost requests of each side, as a chart of the page has them.
import type { RequestCount } from "../../../../server/api.ts";
import type { SeriesValue } from "../../../../server/page-source.ts";

export function lostRequests(counts: readonly RequestCount[]): readonly SeriesValue[] {
  return counts.map(({ side, lost }) => ({
    id: `lost ${side}`,
    chart: "requests lost",
    title: `requests lost: ${side === "stock" ? "stock (model)" : "Lockstep"}`,
    unit: "count",
    cluster: null,
    side,
    hop: "traffic",
    direction: null,
    limit: null,
    value: lost,
  }));
}
