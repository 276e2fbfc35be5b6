// Every path of the API: its query, body and answer as schemas, and the function that answers. The
// router checks requests by this table, and the document of the API is made from it.
import { type TObject, type TSchema, Type } from "typebox";
import type { HistoryReader } from "../history/history-reader.ts";
import { isDisputed } from "../timeline/endpoint-view.ts";
import type { Journey } from "../timeline/journey.ts";
import type { Witness } from "../timeline/witness.ts";
import {
  apiRoot,
  Doctor,
  IncidentAction,
  Incidents,
  Journeys,
  Recording,
  SeriesAnswer,
  Services,
  State,
  TruthTable,
  WhatIfAnswer,
  WhatIfInputs,
  WhatIfQuestion,
} from "./api.ts";
import { JourneyFilter, journeyPage } from "./journey-query.ts";
import type { PageModel } from "./page-model.ts";
import { type PageDoctor, type PageLab, PageProblem, type PageSource } from "./page-source.ts";
import { truthTable } from "./truth-table.ts";

export interface PageParts {
  readonly model: PageModel;
  readonly source: PageSource;
  readonly doctor?: PageDoctor | undefined;
  readonly lab?: PageLab | undefined;
  readonly history?: HistoryReader | undefined;
  /** Reads a recording; throws a `PageProblem` for one that cannot be read. */
  readonly readRecording?:
    | ((body: Uint8Array, signal: AbortSignal) => Promise<Recording>)
    | undefined;
}

/** A request that fits its schemas. */
export interface Asked {
  /** By the names in the path. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number>>;
  /** Decoded and checked; of a recording, the bytes. */
  readonly body: unknown;
  readonly signal: AbortSignal;
}

export interface Route {
  readonly method: "GET" | "POST";
  /** `/api/v1/services/{namespace}/{name}`. */
  readonly path: string;
  readonly summary: string;
  readonly query?: TObject;
  readonly body?: { readonly contentType: string; readonly maxBytes: number; schema?: TSchema };
  readonly answer: TSchema;
  /** The same answer serves all who ask within a second. */
  readonly isShared?: true;
  /** A value to encode, or the bytes of JSON. */
  readonly handle: (parts: PageParts, asked: Asked) => unknown;
}

const jsonBody = (schema: TSchema) => ({
  contentType: "application/json",
  maxBytes: 16 * 1024,
  schema,
});

/** About an hour of a busy cluster; more is for `lockstep watch --replay`. */
export const recordingBytesMax = 64 * 1024 * 1024;

/** Of one answer. */
const servicesMost = 500;
const servicesDefault = 100;

/** Of one service, below its table. */
const tableJourneysMax = 50;

const noLab = "This server has no lab. Start one with: lockstep up";
const noDoctor = "This server cannot examine a cluster: it shows a recording.";
const noRecordings = "This server does not read recordings.";

const ServiceFilter = Type.Object({
  search: Type.Optional(
    Type.String({ maxLength: 256, description: "part of namespace/name, any case" }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: servicesMost })),
});

export const routes: readonly Route[] = [
  {
    method: "GET",
    path: `${apiRoot}/state`,
    summary: "Clusters, replicas, lags, verdict: everything that fits on one screen",
    answer: State,
    handle: ({ model }) => model.encodedState.bytes,
  },
  {
    method: "GET",
    path: `${apiRoot}/journeys`,
    summary: "Changes with their time at every hop, newest first",
    query: JourneyFilter,
    answer: Journeys,
    isShared: true,
    handle: journeys,
  },
  {
    method: "GET",
    path: `${apiRoot}/services`,
    summary: "Services with endpoints; those whose sources disagree come first",
    query: ServiceFilter,
    answer: Services,
    isShared: true,
    handle: services,
  },
  {
    method: "GET",
    path: `${apiRoot}/services/{namespace}/{name}`,
    summary: "The truth table of one service: each endpoint as each source shows it",
    answer: TruthTable,
    isShared: true,
    handle: service,
  },
  {
    method: "GET",
    path: `${apiRoot}/series`,
    summary: "Charts of the last hour, a point every 2 s",
    answer: SeriesAnswer,
    isShared: true,
    handle: ({ model }) => model.series(),
  },
  {
    method: "GET",
    path: `${apiRoot}/doctor`,
    summary: "The last examination: findings, and causes that were ruled out",
    answer: Doctor,
    handle: (parts) => doctorOf(parts).answer(),
  },
  {
    method: "POST",
    path: `${apiRoot}/doctor`,
    summary: "Examine the clusters now, read-only; the answer is the state of the examination",
    body: jsonBody(Type.Object({})),
    answer: Doctor,
    handle: (parts) => {
      const doctor = doctorOf(parts);
      doctor.examine();
      return doctor.answer();
    },
  },
  {
    method: "POST",
    path: `${apiRoot}/recordings`,
    summary: "The changes in a recording of lockstep watch or lockstep record",
    body: { contentType: "application/octet-stream", maxBytes: recordingBytesMax },
    answer: Recording,
    handle: ({ readRecording }, { body, signal }) => {
      if (readRecording === undefined) throw new PageProblem(404, noRecordings);
      return readRecording(body instanceof Uint8Array ? body : new Uint8Array(), signal);
    },
  },
  {
    method: "GET",
    path: `${apiRoot}/incidents`,
    summary: "The incidents that the lab can play, and the one that runs",
    answer: Incidents,
    handle: (parts) => labOf(parts).incidents(),
  },
  {
    method: "POST",
    path: `${apiRoot}/incidents`,
    summary: "Start, fix or stop an incident",
    body: jsonBody(IncidentAction),
    answer: Incidents,
    handle: (parts, { body }) => {
      const lab = labOf(parts);
      lab.actOnIncident(body as IncidentAction);
      return lab.incidents();
    },
  },
  {
    method: "GET",
    path: `${apiRoot}/whatif`,
    summary: "The inputs of a prediction with their ranges",
    answer: WhatIfInputs,
    handle: (parts) => labOf(parts).whatIfInputs(),
  },
  {
    method: "POST",
    path: `${apiRoot}/whatif`,
    summary: "Predict how long changes wait in a cluster of this size",
    body: jsonBody(WhatIfQuestion),
    answer: WhatIfAnswer,
    handle: (parts, { body }) => labOf(parts).askWhatIf(body as WhatIfQuestion),
  },
];

function labOf({ lab }: PageParts): PageLab {
  if (lab === undefined) throw new PageProblem(404, noLab);
  return lab;
}

function doctorOf({ doctor }: PageParts): PageDoctor {
  if (doctor === undefined) throw new PageProblem(404, noDoctor);
  return doctor;
}

function journeys({ model, source, history }: PageParts, { query }: Asked): Journeys {
  const all = model.answers([...model.journeys.over, ...model.journeys.pending]);
  const asked = { journeys: all, history, nowMs: source.clock.wallMs() };
  const page = journeyPage(query, asked);
  if (page !== undefined) return page;
  throw new PageProblem(400, "before must be the next of an earlier answer.");
}

function services({ model, source }: PageParts, { query }: Asked): Services {
  const { search = "", limit = servicesDefault } = query;
  const wanted = String(search).toLowerCase();
  const observed = source.observer()?.journeys;
  const changes = countBy(model.journeys.over);
  const inFlight = countBy(model.journeys.pending);
  const found = [...(observed?.services ?? [])]
    .filter((name) => name.toLowerCase().includes(wanted))
    .map((name) => {
      const views = observed?.endpointsOf(name) ?? [];
      const clusters = views.flatMap(({ endpoint }) => endpoint.cluster ?? []);
      return {
        service: name,
        clusters: [...new Set(clusters)].sort(),
        endpoints: views.filter(({ direction }) => direction === "join").length,
        disagreements: views.filter(isDisputed).length,
        changes: (changes.get(name) ?? 0) + (inFlight.get(name) ?? 0),
        inFlight: inFlight.get(name) ?? 0,
      };
    })
    .sort(
      (a, b) =>
        b.disagreements - a.disagreements ||
        b.inFlight - a.inFlight ||
        a.service.localeCompare(b.service, "en"),
    );
  return { services: found.slice(0, Number(limit)), total: found.length };
}

function countBy(all: Iterable<Journey>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { endpoint } of all) {
    counts.set(endpoint.service, (counts.get(endpoint.service) ?? 0) + 1);
  }
  return counts;
}

async function service(parts: PageParts, { path, signal }: Asked): Promise<TruthTable> {
  const { model, source } = parts;
  const name = `${path["namespace"]}/${path["name"]}`;
  const observer = source.observer();
  const views = observer?.journeys.endpointsOf(name) ?? [];
  const changes = [...model.journeys.over, ...model.journeys.pending]
    .filter(({ endpoint }) => endpoint.service === name)
    .reverse();
  const { decision, problem } = await decisionOf(source, name, signal);
  if (views.length === 0 && changes.length === 0 && decision === undefined) {
    throw new PageProblem(404, `No source has a service ${name}. /api/v1/services lists them.`);
  }
  const clusters = observer?.clusters() ?? [];
  const replicas = new Map(source.replicas().map((one) => [one.name, one]));
  const isStale = ({ hop, name: witness }: Witness): boolean => {
    if (hop === "routed") return replicas.get(witness)?.state !== "connected";
    const watches = clusters.find(({ cluster }) => cluster === witness)?.watches ?? [];
    return watches.some(
      ({ purposes, state }) => purposes.some((one) => one === hop) && state !== "fresh",
    );
  };
  return truthTable({
    service: name,
    atMs: source.clock.wallMs(),
    views,
    decision,
    problems: problem === undefined ? [] : [problem],
    journeys: model.answers(changes.slice(0, tableJourneysMax)),
    changes,
    wallAt: (instant) => model.wallAt(instant),
    isStale,
    isStock: (replica) => replicas.get(replica)?.kind === "stock",
    formOf: (cluster) => {
      const watches = clusters.find((one) => one.cluster === cluster)?.watches ?? [];
      return watches.some(({ resource }) => resource === "endpointslices")
        ? "EndpointSlice"
        : "Endpoints";
    },
  });
}

/** A replica that cannot be asked is a problem of the table, and the rest of it is shown. */
async function decisionOf(source: PageSource, name: string, signal: AbortSignal) {
  try {
    return { decision: await source.decision?.(name, signal), problem: undefined };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    return { decision: undefined, problem: `Lockstep's decision cannot be read: ${why}` };
  }
}
