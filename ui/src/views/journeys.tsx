// Journeys: the live list with filters, and the waterfall of one change. Filters and the chosen change are
// in the address, so a link shares them. A recording dropped onto the page opens here.
import { useState } from "react";
import { counted } from "../../../src/environment/counted.ts";
import type { Journey, Journeys, State } from "../../../src/server/api.ts";
import { type ApiError, get, useAnswer } from "../api.ts";
import { duration } from "../format.ts";
import {
  type FilterName,
  filterOf,
  type JourneyFilter,
  matches,
  queryOf,
} from "../journey-filter.ts";
import { hopNames, readingOf } from "../journey-path.ts";
import { useNow } from "../now.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { JourneyDetail } from "../parts/journey-detail.tsx";
import { JourneyTable, journeyHref } from "../parts/journey-table.tsx";
import { Notice, Waiting } from "../parts/notice.tsx";
import { go, type Route, routeHref } from "../route.ts";
import { type Known, newestFirst } from "../store.ts";

const pageSize = 100;

export function JourneysView({
  known,
  state,
  route,
  onFile,
}: {
  readonly known: Known;
  readonly state: State;
  readonly route: Route;
  readonly onFile: (file: File) => void;
}) {
  const now = useNow();
  const filter = filterOf(route.query);
  const query = queryOf(filter);
  const [, id] = route.path;
  const reading = readingOf(state);
  const { journeys, hasMore, error, isLoading, reload, more } = useList(known, filter, now);
  return (
    <div className="stack">
      <FilterBar filter={filter} state={state} journeys={known.journeys} onFile={onFile} id={id} />
      {id !== undefined && <Chosen id={id} known={known} state={state} now={now} query={query} />}
      <section className="panel" aria-label="List of changes">
        <h2>
          Changes <em>newest first; distance to the right is time since the pod changed</em>
          <span className="spring" />
          <span className="dim">{counted(journeys.length, "change")} shown</span>
        </h2>
        {error !== undefined && (
          <Waiting what="the list of changes" error={error} onRetry={reload} />
        )}
        {journeys.length === 0 && error === undefined && (
          <EmptyList isFiltered={query.size > 0} isLoading={isLoading} />
        )}
        {journeys.length > 0 && (
          <JourneyTable
            journeys={journeys}
            reading={reading}
            hasStock={state.replicas.some(({ kind }) => kind === "stock")}
            now={now}
            caption="Changes, newest first"
            selected={id}
            hrefOf={(journey) => journeyHref(journey, query)}
          />
        )}
        {hasMore && (
          <button type="button" className="small-button" onClick={more}>
            Show older changes
          </button>
        )}
      </section>
    </div>
  );
}

function EmptyList({
  isFiltered,
  isLoading,
}: {
  readonly isFiltered: boolean;
  readonly isLoading: boolean;
}) {
  if (isLoading) return <Notice kind="loading" title="Reading the list of changes" />;
  if (isFiltered) {
    return (
      <Notice kind="empty" title="No change matches the filters">
        <a href={routeHref(["journeys"])}>Remove the filters</a> to see all changes.
      </Notice>
    );
  }
  return (
    <Notice kind="empty" title="No change yet">
      A row appears when a pod of a service becomes ready or leaves.
    </Notice>
  );
}

/** Pages behind the first, for one set of filters. */
interface Older {
  readonly asked: string;
  readonly pages: readonly Journeys[];
  /** As many as a person asked for: the page knows up to a thousand, which are too many to draw at once. */
  readonly rowsMax: number;
  readonly error?: ApiError;
}

/** The server's pages and the live journeys that match, merged; the live state of one wins. */
function useList(known: Known, filter: JourneyFilter, now: number) {
  const query = queryOf(filter);
  const asked = query.toString();
  const [chosen, setOlder] = useState<Older>({ asked, pages: [], rowsMax: pageSize });
  const older = chosen.asked === asked ? chosen : { asked, pages: [], rowsMax: pageSize };
  query.set("limit", String(pageSize));
  const { revisions } = known;
  const first = useAnswer<Journeys>(`journeys?${query}`, `${revisions.journeys} ${revisions.all}`);
  const { pages, rowsMax } = older;
  const merged = new Map<string, Journey>();
  for (const page of [...(first.value ? [first.value] : []), ...pages]) {
    for (const journey of page.journeys) merged.set(journey.id, journey);
  }
  for (const journey of known.journeys) {
    if (merged.has(journey.id) || matches(journey, filter, now)) merged.set(journey.id, journey);
  }
  const next = pages.at(-1)?.next ?? (pages.length > 0 ? null : (first.value?.next ?? null));
  const more = () => {
    const asMany = { asked, pages, rowsMax: rowsMax + pageSize };
    setOlder(asMany);
    if (next === null || merged.size >= asMany.rowsMax) return;
    query.set("before", next);
    get<Journeys>(`journeys?${query}`).then(
      (page) => setOlder({ ...asMany, pages: [...pages, page] }),
      (problem: ApiError) => setOlder({ ...asMany, error: problem }),
    );
  };
  return {
    journeys: [...merged.values()].sort(newestFirst).slice(0, rowsMax),
    hasMore: next !== null || merged.size > rowsMax,
    more,
    error: first.error ?? older.error,
    isLoading: first.value === undefined,
    reload: first.reload,
  };
}

function Chosen({
  id,
  known,
  state,
  now,
  query,
}: {
  readonly id: string;
  readonly known: Known;
  readonly state: State;
  readonly now: number;
  readonly query: URLSearchParams;
}) {
  const live = known.journeys.find((journey) => journey.id === id);
  const asked =
    live === undefined ? `journeys?${new URLSearchParams({ id, limit: "1" })}` : undefined;
  const { value, error, reload } = useAnswer<Journeys>(asked);
  const journey = live ?? value?.journeys.find((one) => one.id === id);
  if (journey !== undefined) {
    return <JourneyDetail journey={journey} reading={readingOf(state)} now={now} />;
  }
  if (value === undefined) return <Waiting what="this change" error={error} onRetry={reload} />;
  return (
    <Notice kind="empty" title="This change is no longer kept">
      Lockstep keeps the newest changes in memory. Start it with --history FILE to keep them longer.{" "}
      <a href={routeHref(["journeys"], query)}>Close</a>
    </Notice>
  );
}

const outcomes = ["pending", "complete", "superseded", "withdrawn", "abandoned", "dropped"];
const hops = Object.entries(hopNames);
const lagsMs: readonly number[] = [100, 2_000, 30_000];

/** The lag of `--slow` is one of them. */
function lagChoices({ slowMs }: State): readonly (readonly [string, string])[] {
  return [...new Set([...lagsMs, slowMs])]
    .sort((a, b) => a - b)
    .map((ms) => [String(ms), `at least ${duration(ms)}${ms === slowMs ? " (slow)" : ""}`]);
}

function FilterBar({
  filter,
  state,
  journeys,
  onFile,
  id,
}: {
  readonly filter: JourneyFilter;
  readonly state: State;
  readonly journeys: readonly Journey[];
  readonly onFile: (file: File) => void;
  readonly id: string | undefined;
}) {
  const set = (name: FilterName, value: string) => {
    const path = id === undefined ? ["journeys"] : ["journeys", id];
    go(routeHref(path, queryOf({ ...filter, [name]: value })), { replace: true });
  };
  const services = [...new Set(journeys.map(({ service }) => service))].sort();
  const causes = [...new Set(journeys.flatMap(({ cause }) => cause ?? []))].sort();
  const clusters = state.clusters.map(({ name }) => name);
  // A link with a filter shows it. On a wide screen, all are always shown.
  const [isUnfolded, setUnfolded] = useState(() => queryOf(filter).size > 0);
  return (
    <search className={`panel filters ${isUnfolded ? "" : "folded"}`}>
      <label className="always">
        service
        <input
          type="search"
          list="services"
          placeholder="namespace/name"
          value={filter.service ?? ""}
          onChange={({ target }) => set("service", target.value)}
          data-search
        />
        <datalist id="services">
          {services.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <button
        type="button"
        className="small-button fold"
        aria-expanded={isUnfolded}
        onClick={() => setUnfolded(!isUnfolded)}
      >
        {isUnfolded ? "fewer filters" : "more filters"}
      </button>
      <Choice name="cluster" filter={filter} values={clusters} set={set} />
      <Choice name="hop" filter={filter} values={hops} set={set} />
      <Choice name="minLagMs" label="lag" filter={filter} values={lagChoices(state)} set={set} />
      <Choice name="cause" label="pod event" filter={filter} values={causes} set={set} />
      <Choice name="outcome" filter={filter} values={outcomes} set={set} />
      <span className="spring" />
      <CopyButton text={window.location.href} label="copy link" />
      {state.can.recordings && <RecordingButton onFile={onFile} />}
    </search>
  );
}

function Choice({
  name,
  label = name,
  filter,
  values,
  set,
}: {
  readonly name: FilterName;
  readonly label?: string;
  readonly filter: JourneyFilter;
  readonly values: readonly (string | readonly [string, string])[];
  readonly set: (name: FilterName, value: string) => void;
}) {
  const chosen = filter[name] ?? "";
  const options = values.map((one) => (typeof one === "string" ? ([one, one] as const) : one));
  const isKnown = chosen === "" || options.some(([value]) => value === chosen);
  return (
    <label>
      {label}
      <select value={chosen} onChange={({ target }) => set(name, target.value)}>
        <option value="">any</option>
        {!isKnown && <option value={chosen}>{chosen}</option>}
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function RecordingButton({ onFile }: { readonly onFile: (file: File) => void }) {
  return (
    <label className="small-button file-button">
      open a recording
      <input
        type="file"
        className="hidden"
        onChange={({ target }) => {
          const file = target.files?.[0];
          if (file !== undefined) onFile(file);
          target.value = "";
        }}
      />
    </label>
  );
}
