// Lag by hop of the last hour, for removals or additions: figures, and a small chart of each.
import type { LagRow, Series, State } from "../../../src/server/api.ts";
import { age, count, duration } from "../format.ts";
import { isStart } from "../journey-path.ts";
import { Spark } from "./spark.tsx";
import { WideTable } from "./wide-table.tsx";

const kindText: Readonly<Record<string, string>> = { stock: "stock (model)", lockstep: "Lockstep" };

const hopText: Readonly<Record<Exclude<LagRow["hop"], "routed">, string>> = {
  pod: "pod watch",
  published: "EndpointSlices",
  synced: "copies",
  traffic: "requests",
};

function rowText({ hop, kind }: LagRow): string {
  return hop === "routed" ? (kindText[kind] ?? (kind || "proxies")) : hopText[hop];
}

const hopTitles: Readonly<Record<LagRow["hop"], string>> = {
  pod: "the pod watch reports the change",
  published: "the change is in EndpointSlices or Endpoints",
  synced: "the copy in the access cluster has the change",
  routed: "the proxies route by the change",
  traffic: "first request to an added endpoint, last one to a removed endpoint",
};

/** The median if there are several of a row. */
function seriesOf(row: LagRow, series: readonly Series[]): Series | undefined {
  const own = series.filter(
    ({ hop, direction, side, unit }) =>
      unit === "ms" &&
      hop === row.hop &&
      direction === row.direction &&
      (row.hop !== "routed" || side === null || side === row.kind),
  );
  return own.find(({ title, id }) => /p50|median/i.test(`${title} ${id}`)) ?? own[0];
}

export function LagTable({
  state: { lags, slowMs },
  direction,
  series,
}: {
  readonly state: State;
  readonly direction: LagRow["direction"];
  readonly series: readonly Series[];
}) {
  const rows = lags.filter((row) => row.direction === direction && !isStart(row));
  const name = direction === "leave" ? "Lag of removals" : "Lag of additions";
  return (
    <section className="panel" aria-label={name}>
      <h2>
        {name} <em>last hour</em>
      </h2>
      {rows.length === 0 ? (
        <p className="dim">No {direction === "leave" ? "removal" : "addition"} in the last hour.</p>
      ) : (
        <WideTable label={`Table: ${name}`}>
          <table className="figures lag-figures">
            <caption className="hidden">{name} by hop, of the last hour</caption>
            <thead>
              <tr>
                <th scope="col">hop</th>
                <th scope="col">p50</th>
                <th scope="col">p99</th>
                <th scope="col">max</th>
                <th scope="col" title="the oldest change that the hop has yet to show">
                  oldest waiting
                </th>
                <th scope="col">changes</th>
                <th scope="col" className="trend">
                  trend
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Row
                  key={`${row.hop} ${row.kind}`}
                  row={row}
                  series={seriesOf(row, series)}
                  slowMs={slowMs}
                />
              ))}
            </tbody>
          </table>
        </WideTable>
      )}
    </section>
  );
}

function Row({
  row,
  series,
  slowMs,
}: {
  readonly row: LagRow;
  readonly series: Series | undefined;
  readonly slowMs: number;
}) {
  const isLate = (ms: number | null) => ms !== null && row.hop !== "traffic" && ms >= slowMs;
  const tone = (ms: number | null) => (isLate(ms) ? "late" : "");
  const lineTone = row.kind === "lockstep" ? "lockstep" : isLate(row.p50Ms) ? "late" : "stock";
  return (
    <tr data-hop={row.hop} data-kind={row.kind} data-direction={row.direction}>
      <th scope="row" title={hopTitles[row.hop]}>
        {rowText(row)}
      </th>
      <td className={tone(row.p50Ms)}>{duration(row.p50Ms)}</td>
      <td className={tone(row.p99Ms)} title={row.p99Ms === null ? "needs 100 changes" : ""}>
        {duration(row.p99Ms)}
      </td>
      <td className={tone(row.maxMs)}>{duration(row.maxMs)}</td>
      <td className={tone(row.oldestPendingMs)}>
        {row.oldestPendingMs === null ? "–" : `${age(row.oldestPendingMs)} (${count(row.pending)})`}
      </td>
      <td>{count(row.count)}</td>
      <td>{series === undefined ? "–" : <Spark series={series} tone={lineTone} />}</td>
    </tr>
  );
}
