// The truth table of one service: a row for each endpoint, a column for each source, and the reason
// for the state that Lockstep chose. Without a Lockstep ingress the reason is how the sources differ.
// Pure.
import type { MonotonicMs } from "../environment/clock.ts";
import { type EndpointView, isDisputed, type WitnessView } from "../timeline/endpoint-view.ts";
import type { Journey } from "../timeline/journey.ts";
import { isSameWitness, type Witness, witnessId } from "../timeline/witness.ts";
import type { TruthTable } from "./api.ts";
import type { DecidedRow, PageDecision } from "./page-source.ts";

type Row = TruthTable["rows"][number];
type Cell = Row["cells"][number];
type Column = TruthTable["witnesses"][number];

export interface TruthTableOptions {
  readonly service: string;
  readonly atMs: number;
  readonly views: readonly EndpointView[];
  readonly decision: PageDecision | undefined;
  /** Sentences about a decision that could not be read. */
  readonly problems: readonly string[];
  /** Newest first, as the page gets them. */
  readonly journeys: TruthTable["journeys"];
  /** Changes of the service in flight and newest over, newest first, for requests. */
  readonly changes: readonly Journey[];
  readonly wallAt: (instant: MonotonicMs | undefined) => number | null;
  /** The source reports nothing at present, or late. */
  readonly isStale: (witness: Witness) => boolean;
  readonly isStock: (replica: string) => boolean;
  /** The form of the published endpoints in a cluster: `EndpointSlice`, `Endpoints`. */
  readonly formOf: (cluster: string) => string;
}

/** More is not readable; a service of this size is rare. */
const rowsMax = 2_000;

const probeColumn: Column = {
  id: "probe",
  kind: "probe",
  label: "probe by Lockstep",
  isStock: false,
};

const useColumn: Column = {
  id: "use",
  kind: "traffic",
  label: "requests by Lockstep",
  isStock: false,
};

export function truthTable(options: TruthTableOptions): TruthTable {
  const { service, atMs, views, decision, journeys } = options;
  const witnesses = witnessesOf(views);
  const extra = decision === undefined ? [] : [probeColumn, useColumn];
  const columns = [...witnesses.map((witness) => columnOf(witness, options)), ...extra];
  const decided = byPlace(decision?.endpoints ?? []);
  const decidedOf = (view: EndpointView) =>
    (decided.get(placeOf(view.endpoint)) ?? []).filter((one) => isSameRow(view, one));
  const seen = new Set(views.flatMap(decidedOf));
  const others = (decision?.endpoints ?? []).filter((one) => !seen.has(one));
  const disputed = views.filter(isDisputed);
  const rows = [
    ...[...disputed, ...views.filter((view) => !isDisputed(view))]
      .slice(0, rowsMax)
      .map((view) => rowOf(view, decidedOf(view)[0], witnesses, options)),
    ...others
      .slice(0, Math.max(0, rowsMax - views.length))
      .map((one) => decidedRow(one, witnesses)),
  ];
  const endpoints = views.length + others.length;
  const left = endpoints - rows.length;
  return {
    service,
    at: atMs,
    follows: decision?.follows ?? null,
    routes: [...(decision?.routes ?? [])],
    witnesses: columns,
    endpoints,
    disagreements: disputed.length,
    rows: rows.sort(inOrder),
    journeys,
    problems: [
      ...(decision?.problems ?? []),
      ...options.problems,
      ...(left === 0 ? [] : [`${left} more endpoints are not shown: the table has ${rowsMax}.`]),
    ],
  };
}

function placeOf({ address, port }: { readonly address: string; readonly port: number }): string {
  return `${address} ${port}`;
}

/** A pass over all decisions for each endpoint would take minutes in a service of 100,000. */
function byPlace(endpoints: readonly DecidedRow[]): ReadonlyMap<string, readonly DecidedRow[]> {
  const places = new Map<string, DecidedRow[]>();
  for (const one of endpoints) {
    const place = placeOf(one);
    places.set(place, [...(places.get(place) ?? []), one]);
  }
  return places;
}

function rowOf(
  view: EndpointView,
  decided: DecidedRow | undefined,
  columns: readonly Witness[],
  options: TruthTableOptions,
): Row {
  const { endpoint, podName, witnesses } = view;
  const cells = columns.map((witness) => {
    const shown = witnesses.find((one) => isSameWitness(one.witness, witness));
    if (shown === undefined) return unknownCell;
    if (witness.hop === "traffic") return trafficCell(view, options);
    return cellOf(view, shown, decided, options);
  });
  return {
    cluster: endpoint.cluster ?? "",
    address: endpoint.address,
    port: endpoint.port,
    podName: podName ?? decided?.podName ?? null,
    state: decided?.state ?? null,
    reason: decided === undefined ? reasonOf(view, options) : decidedReason(decided, view, options),
    isDisputed: isDisputed(view),
    cells: options.decision === undefined ? cells : [...cells, ...decidedCells(decided)],
  };
}

/** An endpoint that only the Lockstep replica knows. */
function decidedRow(decided: DecidedRow, columns: readonly Witness[]): Row {
  const cells = columns.map(() => unknownCell);
  return {
    cluster: decided.cluster,
    address: decided.address,
    port: decided.port,
    podName: decided.podName ?? null,
    state: decided.state,
    reason: decided.reason,
    isDisputed: false,
    cells: [...cells, ...decidedCells(decided)],
  };
}

const unknownCell: Cell = { mark: "unknown", text: "not followed", since: null, isStale: false };

function cellOf(
  view: EndpointView,
  { witness, direction, at }: WitnessView,
  decided: DecidedRow | undefined,
  { wallAt, isStale }: TruthTableOptions,
): Cell {
  const isIn = direction === "join";
  const text =
    witness.hop === "pod"
      ? (said(decided?.pod) ?? (isIn ? "ready" : (view.cause ?? "gone")))
      : witness.hop === "published"
        ? (said(decided?.published) ?? (isIn ? "listed" : "absent"))
        : isIn
          ? "in use"
          : "absent";
  const isCopy = witness.hop === "synced";
  return {
    mark: isIn ? (text === "terminating" ? "draining" : "in") : "out",
    text: isCopy && isIn ? "copied" : text,
    since: wallAt(at),
    isStale: isStale(witness),
  };
}

/** The replica's word for it; undefined where it has none. */
function said(text: string | undefined): string | undefined {
  return text === "" || text === "unknown" ? undefined : text;
}

/** Requests to an address that left are the ones to look at. */
function trafficCell({ endpoint }: EndpointView, { changes, wallAt }: TruthTableOptions): Cell {
  const change = changes.find(
    (one) => one.endpoint.address === endpoint.address && one.endpoint.port === endpoint.port,
  );
  const traffic = change?.traffic;
  if (traffic === undefined || traffic.requests === 0) {
    return { mark: "unknown", text: "no requests", since: null, isStale: false };
  }
  const { requests, failed, lastFailedAt } = traffic;
  const text = `${requests} after it left, ${failed} failed`;
  return { mark: failed > 0 ? "suspect" : "in", text, since: wallAt(lastFailedAt), isStale: false };
}

/** The probe and the requests of the Lockstep replica that decided. */
function decidedCells({ probe, use }: Pick<DecidedRow, "probe" | "use"> = {}): readonly Cell[] {
  const quiet = { since: null, isStale: false };
  return [
    probe === undefined
      ? { mark: "unknown", text: "not probed", ...quiet }
      : { mark: probe === "answers" ? "in" : "suspect", text: probe, ...quiet },
    use === undefined
      ? { mark: "unknown", text: "no requests", ...quiet }
      : {
          mark: use.failures > 0 ? "suspect" : "in",
          text: `${use.requests} requests, ${use.failures} failed`,
          ...quiet,
        },
  ];
}

/** The reason names what the decision looked at, and proxies are not among it. */
function decidedReason(
  { state, reason }: DecidedRow,
  { witnesses }: EndpointView,
  options: TruthTableOptions,
): string {
  const isUsed = state === "active" || state === "held";
  const wrong = isUsed ? "leave" : "join";
  const names = witnesses
    .filter(({ witness, direction }) => witness.hop === "routed" && direction === wrong)
    .map(({ witness }) => labelOf(witness, options));
  if (names.length === 0 || state === "draining") return reason;
  const verb = isUsed ? ["does not use", "do not use"] : ["still uses", "still use"];
  return `${reason}; ${names.join(", ")} ${names.length === 1 ? verb[0] : verb[1]} it`;
}

/** How the sources differ, in a sentence. */
function reasonOf(view: EndpointView, options: TruthTableOptions): string {
  const { cause, direction, isPending } = view;
  const shown = view.witnesses.filter(({ witness }) => witness.hop !== "traffic");
  const stale = shown.filter(({ witness }) => options.isStale(witness));
  const behind = shown.filter((one) => one.direction !== direction);
  if (behind.length === 0) {
    const [first] = stale;
    const all = direction === "join" ? "Every source has it." : "No source has it any more.";
    return first === undefined ? all : `${all} ${labelOf(first.witness, options)} is stale.`;
  }
  const names = behind.map(({ witness }) => labelOf(witness, options)).join(", ");
  const pod =
    direction === "join" ? "The pod is ready" : `The pod left${cause ? ` (${cause})` : ""}`;
  const effect = direction === "join" ? "does not have it yet" : "still has it";
  const plural = behind.length > 1 ? effect.replace("does", "do").replace("has", "have") : effect;
  const known = isPending ? "" : " No change in flight explains it.";
  return `${pod}, but ${names} ${plural}.${known}`;
}

/** Every witness of any endpoint, in the order in which endpoints have them. */
function witnessesOf(views: readonly EndpointView[]): readonly Witness[] {
  const all = new Map<string, Witness>();
  for (const { witnesses } of views) {
    for (const { witness } of witnesses) all.set(witnessId(witness), witness);
  }
  const order = ["pod", "published", "synced", "routed", "traffic"];
  return [...all.values()].sort(
    (a, b) => order.indexOf(a.hop) - order.indexOf(b.hop) || a.name.localeCompare(b.name, "en"),
  );
}

function columnOf(witness: Witness, options: TruthTableOptions): Column {
  const { hop, name } = witness;
  return {
    id: witnessId(witness),
    kind: hop === "routed" ? "replica" : hop,
    label: labelOf(witness, options),
    isStock: hop === "routed" && options.isStock(name),
  };
}

function labelOf({ hop, name }: Witness, { formOf }: Pick<TruthTableOptions, "formOf">): string {
  switch (hop) {
    case "pod":
      return `pod in ${name}`;
    case "published":
      return `${formOf(name)} in ${name}`;
    case "synced":
      return `copy in ${name}`;
    case "routed":
      return name;
    case "traffic":
      return `requests in ${name}`;
  }
}

function isSameRow({ endpoint }: EndpointView, decided: DecidedRow): boolean {
  const { cluster, address, port, podUid } = endpoint;
  return (
    address === decided.address &&
    port === decided.port &&
    (cluster === undefined || cluster === decided.cluster) &&
    (podUid === undefined || decided.podUid === undefined || podUid === decided.podUid)
  );
}

/** Rows to look at first, then by address. */
function inOrder(a: Row, b: Row): number {
  return (
    Number(b.isDisputed) - Number(a.isDisputed) ||
    a.cluster.localeCompare(b.cluster, "en") ||
    a.address.localeCompare(b.address, "en", { numeric: true }) ||
    a.port - b.port
  );
}
