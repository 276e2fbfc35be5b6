// Services: the list, and the truth table of one: a row for each endpoint, a column for each source,
// disagreement at a glance, and the reason for the state that Lockstep chose.
import { useState } from "react";
import { counted } from "../../../src/environment/counted.ts";
import type { Services, State, TruthTable } from "../../../src/server/api.ts";
import { useAnswer } from "../api.ts";
import { absolute, age, count } from "../format.ts";
import { hopNames, readingOf } from "../journey-path.ts";
import { useNow } from "../now.ts";
import { JourneyTable, journeyHref } from "../parts/journey-table.tsx";
import { Notice, Waiting } from "../parts/notice.tsx";
import { WideTable } from "../parts/wide-table.tsx";
import { go, type Route, routeHref, serviceHref } from "../route.ts";
import type { Known } from "../store.ts";

type TruthRow = TruthTable["rows"][number];
type Cell = TruthRow["cells"][number];
type Witness = TruthTable["witnesses"][number];

export function ServicesView({
  known,
  state,
  route,
}: {
  readonly known: Known;
  readonly state: State;
  readonly route: Route;
}) {
  const [, namespace, name] = route.path;
  if (namespace !== undefined && name !== undefined) {
    return <OneService service={`${namespace}/${name}`} known={known} state={state} />;
  }
  return <ServiceList route={route} revision={Math.floor(state.at / listEveryMs)} />;
}

/** A list of thousands is not read with every state. */
const listEveryMs = 5_000;
const listMax = 200;
const tableEveryMs = 2_000;
/** More rows at once would make a browser slow; a person asks for them. */
const rowsAtOnce = 200;

function ServiceList({ route, revision }: { readonly route: Route; readonly revision: number }) {
  const search = route.query.get("search") ?? "";
  const query = new URLSearchParams({ limit: String(listMax), ...(search !== "" && { search }) });
  const { value, error, reload } = useAnswer<Services>(`services?${query}`, revision);
  return (
    <div className="stack">
      <search className="panel filters">
        <label>
          search
          <input
            type="search"
            value={search}
            placeholder="part of namespace/name"
            data-search
            onChange={({ target }) => {
              const asked = new URLSearchParams(
                target.value === "" ? [] : [["search", target.value]],
              );
              go(routeHref(["services"], asked), { replace: true });
            }}
          />
        </label>
      </search>
      <section className="panel" aria-label="Services">
        <h2>Services {value !== undefined && <em>{counted(value.total, "service")}</em>}</h2>
        {value === undefined ? (
          <Waiting what="the services" error={error} onRetry={reload} />
        ) : value.services.length === 0 ? (
          <Notice
            kind="empty"
            title={search === "" ? "No service yet" : "No service has this name"}
          >
            {search === ""
              ? "Services appear when a cluster is watched. See the clusters in Now."
              : "Search for a part of namespace/name."}
          </Notice>
        ) : (
          <WideTable label="Table: services">
            <table className="figures roomy">
              <caption className="hidden">Services with endpoints and disagreements</caption>
              <thead>
                <tr>
                  <th scope="col">service</th>
                  <th scope="col">clusters</th>
                  <th scope="col">endpoints</th>
                  <th scope="col">disagreements</th>
                  <th scope="col">in flight</th>
                  <th scope="col">changes, last hour</th>
                </tr>
              </thead>
              <tbody>
                {value.services.map((one) => (
                  <tr key={one.service}>
                    <th scope="row">
                      <a href={serviceHref(one.service)} data-row>
                        {one.service}
                      </a>
                    </th>
                    <td className="dim">{one.clusters.join(", ")}</td>
                    <td>{count(one.endpoints)}</td>
                    <td className={one.disagreements > 0 ? "late" : ""}>
                      {one.disagreements > 0 && "▲ "}
                      {count(one.disagreements)}
                    </td>
                    <td>{count(one.inFlight)}</td>
                    <td>{count(one.changes)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {value.total > value.services.length && (
              <p className="dim">
                {count(value.services.length)} of {count(value.total)} are shown; search for others.
              </p>
            )}
          </WideTable>
        )}
      </section>
    </div>
  );
}

function OneService({
  service,
  known,
  state,
}: {
  readonly service: string;
  readonly known: Known;
  readonly state: State;
}) {
  const now = useNow(1_000);
  const path = `services/${service.split("/").map(encodeURIComponent).join("/")}`;
  const { value, error, reload } = useAnswer<TruthTable>(path, Math.floor(state.at / tableEveryMs));
  if (value === undefined) {
    return error?.status === 404 ? (
      <Notice kind="empty" title={`No service ${service}`}>
        {error.message} <a href={routeHref(["services"])}>All services</a>
      </Notice>
    ) : (
      <Waiting what={`the service ${service}`} error={error} onRetry={reload} />
    );
  }
  const fromTable = new Map(value.journeys.map((journey) => [journey.id, journey]));
  const journeys = [
    ...known.journeys.filter((journey) => journey.service === service),
    ...value.journeys.filter(({ id }) => !known.journeys.some((one) => one.id === id)),
  ].slice(0, Math.max(20, fromTable.size));
  return (
    <div className="stack">
      {value.problems.map((problem) => (
        <p key={problem} className="panel doubt">
          {problem}
        </p>
      ))}
      <TruthPanel table={value} now={now} />
      <section className="panel" aria-label="Changes of this service">
        <h2>
          Changes of {service}
          <span className="spring" />
          <a href={routeHref(["journeys"], new URLSearchParams({ service }))}>all →</a>
        </h2>
        {journeys.length === 0 ? (
          <Notice kind="empty" title="No change in the last hour" />
        ) : (
          <JourneyTable
            journeys={journeys}
            reading={readingOf(state)}
            hasStock={state.replicas.some(({ kind }) => kind === "stock")}
            now={now}
            caption={`Changes of ${service}`}
            hrefOf={(journey) => journeyHref(journey, new URLSearchParams({ service }))}
          />
        )}
      </section>
    </div>
  );
}

const glyphs: Readonly<Record<Cell["mark"], string>> = {
  in: "●",
  out: "○",
  draining: "◐",
  held: "◇",
  suspect: "!",
  unknown: "?",
};

const stateMarks: Readonly<Record<NonNullable<TruthRow["state"]>, Cell["mark"]>> = {
  active: "in",
  draining: "draining",
  held: "held",
  suspect: "suspect",
  out: "out",
};

/**
 * Replicas of one kind share a column, as three marks. Pod watches of several clusters share one, and so
 * do their slices: an endpoint is in one cluster.
 */
interface Column {
  readonly label: string;
  readonly kind: Witness["kind"];
  readonly places: readonly number[];
  readonly names: readonly string[];
}

function columnsOf(witnesses: readonly Witness[]): readonly Column[] {
  const columns: Column[] = [];
  for (const [place, { kind, label, isStock }] of witnesses.entries()) {
    const group = groupOf({ kind, label, isStock });
    const last = columns.findIndex((one) => one.kind === kind && one.label === group);
    const before = columns[last];
    if (before === undefined) columns.push({ label: group, kind, places: [place], names: [label] });
    else {
      columns[last] = {
        ...before,
        places: [...before.places, place],
        names: [...before.names, label],
      };
    }
  }
  return columns;
}

function groupOf({ kind, label, isStock }: Pick<Witness, "kind" | "label" | "isStock">): string {
  if (kind === "pod" || kind === "published") return hopNames[kind];
  if (kind !== "replica") return label;
  return isStock ? "stock (model)" : label.replace(/-?\d+$/, "");
}

/** Of a column of several clusters, the cell of the endpoint's own. */
function cellsOf({ kind, places }: Column, { cells }: TruthRow): readonly Cell[] {
  const own = places.flatMap((place) => cells[place] ?? []);
  if (kind === "replica" || own.length <= 1) return own;
  return [own.find(({ mark }) => mark !== "unknown") ?? own[0]].flatMap((cell) => cell ?? []);
}

function TruthPanel({ table, now }: { readonly table: TruthTable; readonly now: number }) {
  const { service, follows, routes, witnesses, rows, endpoints, disagreements } = table;
  const columns = columnsOf(witnesses);
  // Only a replica of Lockstep has a decision.
  const hasState = rows.some(({ state }) => state !== null);
  const served = rows.filter(({ state }) => state === "active" || state === "held").length;
  const [onlyDisputed, setOnlyDisputed] = useState(false);
  const [rowsMax, setRowsMax] = useState(rowsAtOnce);
  const wanted = onlyDisputed ? rows.filter(({ isDisputed }) => isDisputed) : rows;
  const shown = wanted.slice(0, rowsMax);
  return (
    <section className="panel" aria-label="Endpoints by source">
      <h2>
        {service}{" "}
        <em>
          {hasState && rows.length === endpoints
            ? `${count(served)} of ${counted(endpoints, "endpoint")} get requests`
            : counted(endpoints, "endpoint")}
          {follows !== null && (
            <span title={follows.reason}>
              ; Lockstep follows {follows.mode}
              {follows.mode === "slices" && `: ${follows.reason}`}
            </span>
          )}
        </em>
        <span className="spring" />
        {disagreements > 0 && (
          <label className="check">
            <input
              type="checkbox"
              checked={onlyDisputed}
              onChange={({ target }) => setOnlyDisputed(target.checked)}
            />
            only disagreements ({count(disagreements)})
          </label>
        )}
      </h2>
      {routes.length > 0 && <p className="dim">Routed by {routes.join(", ")}</p>}
      {rows.length === 0 ? (
        <Notice kind="empty" title="No endpoint">
          No source lists an endpoint for this service. Check its selector and its pods.
        </Notice>
      ) : (
        <WideTable label="Table: endpoints by source">
          <table className="truth">
            <caption className="hidden">
              Endpoints of {service}: a row for each, a column for each source
            </caption>
            <thead>
              <tr>
                <th scope="col">endpoint</th>
                {hasState && <th scope="col">state</th>}
                {columns.map(({ label, names, kind }) => (
                  <th key={`${kind} ${label}`} scope="col" title={names.join(", ")}>
                    {label}
                    {kind === "replica" && names.length > 1 && ` ×${names.length}`}
                  </th>
                ))}
                <th scope="col">why</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <TruthRowView
                  key={`${row.cluster} ${row.address} ${row.port} ${row.podName}`}
                  row={row}
                  columns={columns}
                  hasState={hasState}
                  now={now}
                />
              ))}
            </tbody>
          </table>
        </WideTable>
      )}
      {shown.length < wanted.length && (
        <p className="dim">
          {count(shown.length)} of {count(wanted.length)} rows are shown.{" "}
          <button type="button" className="button" onClick={() => setRowsMax(rowsMax + rowsAtOnce)}>
            Show {count(Math.min(rowsAtOnce, wanted.length - shown.length))} more
          </button>
        </p>
      )}
      <p className="dim legend-text">
        ● in · ○ out · ◐ draining · ◇ held · ! suspect · ? unknown · ▲ highlighted row: the sources
        disagree
      </p>
    </section>
  );
}

function TruthRowView({
  row,
  columns,
  hasState,
  now,
}: {
  readonly row: TruthRow;
  readonly columns: readonly Column[];
  readonly hasState: boolean;
  readonly now: number;
}) {
  const { address, port, cluster, podName, state, reason, isDisputed } = row;
  return (
    <tr className={isDisputed ? "disputed" : ""} data-endpoint={`${address}:${port}`}>
      <th scope="row">
        <span className="mono" title={podName ?? "no pod"}>
          {isDisputed && <span className="late">▲ </span>}
          {address}:{port}
        </span>
        <span className="dim"> {cluster}</span>
      </th>
      {hasState && (
        <td className="chosen" data-label="state">
          {state === null ? (
            <span className="dim">–</span>
          ) : (
            `${glyphs[stateMarks[state]]} ${state}`
          )}
        </td>
      )}
      {columns.map((column) => (
        <td key={`${column.kind} ${column.label}`} data-label={column.label}>
          <Cells
            cells={cellsOf(column, row)}
            column={column}
            row={row}
            hasState={hasState}
            now={now}
          />
        </td>
      ))}
      <td className="why" data-label="why">
        {sentence(reason)}
      </td>
    </tr>
  );
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function Cells({
  cells,
  column,
  row,
  hasState,
  now,
}: {
  readonly cells: readonly Cell[];
  readonly column: Column;
  readonly row: TruthRow;
  readonly hasState: boolean;
  readonly now: number;
}) {
  const [first] = cells;
  if (first === undefined) return <span className="dim">–</span>;
  const isSame = cells.every(({ mark, text }) => mark === first.mark && text === first.text);
  const differs = (cell: Cell) => row.isDisputed && hasState && isAgainst(cell.mark, row.state);
  const title = cells
    .map((cell, place) => {
      const since = cell.since === null ? "" : ` since ${absolute(cell.since)}`;
      const name = cells.length === 1 ? column.label : (column.names[place] ?? "");
      return `${name}: ${cell.text}${since}`;
    })
    .join("\n");
  return (
    <span title={title}>
      {cells.map((cell, place) => (
        <span
          key={column.names[place]}
          className={`mark ${cell.mark} ${differs(cell) ? "late" : ""}`}
        >
          {glyphs[cell.mark]}
          {cells.length > 1 ? " " : ""}
        </span>
      ))}{" "}
      <span className={differs(first) ? "late" : "cell-text"}>
        {isSame ? first.text : cells.map(({ text }) => text).join(", ")}
        {isSame &&
          cells.length === 1 &&
          first.since !== null &&
          ` ${age(Math.max(0, now - first.since))}`}
      </span>
      {cells.some(({ isStale }) => isStale) && <span className="late"> stale</span>}
    </span>
  );
}

/** The source wants the opposite of the chosen state; an endpoint without one gets no requests. */
function isAgainst(mark: Cell["mark"], state: TruthRow["state"]): boolean {
  if (mark === "unknown") return false;
  const gets = state === "active" || state === "held";
  return gets ? mark === "out" || mark === "draining" : mark === "in";
}
