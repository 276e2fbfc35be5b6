// The contract between server and page, version 1: every answer, event and request body as a schema,
// from which its type is made. The server checks request bodies with these schemas, tests check every
// answer, and the page imports the types alone. Names are the words of the vocabulary.
//
// Times end in `At` and are wall time of the server in milliseconds; durations end in `Ms`. `null` is
// "not known" or "not measured", never zero.
import { type Static, type TSchema, Type } from "typebox";

export const apiVersion = 1;
export const apiRoot = "/api/v1";

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const oneOf = <const Word extends string>(...words: readonly Word[]) =>
  Type.Enum<Word[]>([...words]);

const Time = Type.Number({ description: "wall time of the server, milliseconds since 1970" });
const Ms = Type.Number({ description: "milliseconds" });

const Hop = oneOf("pod", "published", "synced", "routed", "traffic");
const Direction = oneOf("join", "leave");

// ── Journeys ────────────────────────────────────────────────────────────────────────────────────

/** The same form as in the JSON lines of `lockstep watch` and in the history. */
export const Journey = Type.Object({
  id: Type.String(),
  cluster: orNull(Type.String()),
  service: Type.String({ description: "namespace/name" }),
  address: Type.String(),
  port: Type.Integer(),
  podUid: orNull(Type.String()),
  podName: orNull(Type.String()),
  direction: Direction,
  /** The event of the pod: `terminating`, `ready`. */
  cause: orNull(Type.String()),
  originMs: Time,
  originNotBeforeMs: orNull(Time),
  originBeforeStart: Type.Optional(Type.Literal(true)),
  outcome: oneOf(
    "pending",
    "complete",
    "superseded",
    "withdrawn",
    "abandoned",
    "dropped",
    "unknown",
  ),
  hops: Type.Array(
    Type.Object({
      hop: Hop,
      /** The cluster, the access cluster, or the replica: `lockstep-1`. */
      witness: Type.String(),
      state: oneOf("shown", "pending", "stuck", "unchanged", "passed", "quiet"),
      lagMs: orNull(Ms),
      lagRangeMs: Type.Optional(Type.Object({ min: Ms, max: orNull(Ms) })),
    }),
  ),
  clusterTimeMs: Type.Optional(Time),
  clusterBeforeOriginMs: Type.Optional(Type.Object({ min: Ms, max: orNull(Ms) })),
  traffic: Type.Optional(
    Type.Object({
      requests: Type.Integer(),
      failed: Type.Integer(),
      lastFailedMs: orNull(Time),
    }),
  ),
});

/**
 * `GET /api/v1/journeys?id&service&cluster&hop&minLagMs&cause&outcome&before&limit`: newest first.
 * `id` asks for one journey: the link to it was shared.
 */
export const Journeys = Type.Object({
  journeys: Type.Array(Journey),
  /** For the next page: give it as `before`. */
  next: orNull(Type.String()),
});

// ── State: small, sent whole whenever it changes ────────────────────────────────────────────────

const Watch = Type.Object({
  resource: Type.String(),
  state: oneOf("fresh", "stale", "connecting", "refused"),
  /** Since the server was last known to be alive on it. */
  aliveAt: orNull(Time),
  objects: Type.Integer(),
  detail: orNull(Type.String()),
});

export const Cluster = Type.Object({
  name: Type.String(),
  roles: Type.Array(oneOf("business", "access")),
  state: oneOf("connecting", "listing", "watching", "unreachable", "refused"),
  since: orNull(Time),
  /** One sentence when the state is not `watching`. */
  detail: orNull(Type.String()),
  version: orNull(Type.String()),
  apiServers: Type.Array(
    Type.Object({
      address: Type.String(),
      state: oneOf("up", "down", "behind", "unknown"),
      detail: orNull(Type.String()),
    }),
  ),
  watches: Type.Array(Watch),
  /** Why times measured now are not reliable, and the effects of refused watches: sentences. */
  doubts: Type.Array(Type.String()),
});

export const Replica = Type.Object({
  name: Type.String(),
  /** `stock` is always a model. */
  kind: oneOf("lockstep", "stock", "ingress-nginx", "envoy", "traefik", "haproxy", "other"),
  state: oneOf("connected", "connecting", "down"),
  reportedAt: orNull(Time),
  problem: orNull(Type.String()),
});

export const LagRow = Type.Object({
  hop: Hop,
  /** `routed` has a row for each kind of replica; `""` for the other hops. */
  kind: Type.String(),
  direction: Direction,
  /** Of the last hour. */
  count: Type.Integer(),
  p50Ms: orNull(Ms),
  /** The median of the last 2 minutes, of the cluster where it is greatest. */
  recentMs: orNull(Ms),
  /** null below 100 samples. */
  p99Ms: orNull(Ms),
  maxMs: orNull(Ms),
  /** The age of the oldest change that the hop has yet to show. */
  oldestPendingMs: orNull(Ms),
  pending: Type.Integer(),
});

/** Requests of one side; both sides get the same number. */
export const RequestCount = Type.Object({
  side: oneOf("stock", "lockstep"),
  requests: Type.Integer(),
  lost: Type.Integer(),
  /** null while it is not counted yet. */
  sentToDead: orNull(Type.Integer()),
});

export const Verdict = Type.Object({
  level: oneOf("ok", "late", "lost", "unknown"),
  /** The late hop, by how much, and the cause if it is known. */
  text: Type.String(),
  /** Its first sentence alone: the late hop, and by how much. */
  headline: Type.String(),
  /** The first late hop; null where none is late. */
  late: orNull(
    Type.Object({
      hop: Hop,
      kind: Type.String(),
      direction: Direction,
      /** The one with the latest changes; null where it is not known. */
      cluster: orNull(Type.String()),
    }),
  ),
  /** A sentence; null where it is not known. */
  cause: orNull(Type.String()),
  /** `certain: two sources`; null without a finding. */
  confidence: orNull(Type.String()),
  /** The finding that explains it. */
  rule: orNull(Type.String()),
});

/** Lab only: the demonstration that plays. */
export const Story = Type.Object({
  /** 1 to 4; 5 when it is over and everything keeps running. */
  act: Type.Integer(),
  title: Type.String(),
  /** The newest step, a sentence. */
  step: Type.String(),
  /** Seconds of the act; simulated time is marked. */
  seconds: orNull(Type.Number()),
  isSimulated: Type.Boolean(),
  checks: Type.Array(
    Type.Object({ text: Type.String(), goal: Type.String(), holds: Type.Boolean() }),
  ),
});

/** `GET /api/v1/state`, and the event `state`. */
export const State = Type.Object({
  api: Type.Literal(apiVersion),
  version: Type.String({ description: "of Lockstep" }),
  mode: oneOf("lab", "clusters", "recording"),
  /** Lags at or above this are late: `--slow`. */
  slowMs: Ms,
  startedAt: Time,
  /** When this state was made. */
  at: Time,
  verdict: Verdict,
  clusters: Type.Array(Cluster),
  replicas: Type.Array(Replica),
  lags: Type.Array(LagRow),
  inFlight: Type.Integer(),
  stuck: Type.Integer(),
  /** Counted since `since`; empty without traffic of our own or access logs. */
  requests: Type.Object({ since: Time, sides: Type.Array(RequestCount) }),
  /** Requests in access logs to endpoints that had left; null where no log is read. */
  toRemoved: orNull(Type.Object({ requests: Type.Integer(), failed: Type.Integer() })),
  /** Of the last hour, all hops. */
  changes: Type.Integer(),
  findings: Type.Integer(),
  story: orNull(Story),
  incident: orNull(Type.Object({ name: Type.String(), phase: Type.String() })),
  /** Problems of Lockstep itself, each a sentence: a history that cannot be written. */
  notes: Type.Array(Type.String()),
  /** Abilities of this server; the page hides the rest. */
  can: Type.Object({
    incidents: Type.Boolean(),
    whatif: Type.Boolean(),
    doctor: Type.Boolean(),
    recordings: Type.Boolean(),
  }),
});

// ── Services: the truth table ───────────────────────────────────────────────────────────────────

/** `GET /api/v1/services?search&limit`. */
export const Services = Type.Object({
  services: Type.Array(
    Type.Object({
      service: Type.String(),
      clusters: Type.Array(Type.String()),
      endpoints: Type.Integer(),
      disagreements: Type.Integer(),
      changes: Type.Integer(),
      inFlight: Type.Integer(),
    }),
  ),
  total: Type.Integer(),
});

const Mark = oneOf("in", "out", "draining", "held", "suspect", "unknown");

/** One cell: the state of one endpoint in one source. */
const Cell = Type.Object({
  mark: Mark,
  /** `ready`, `terminating`, `absent`, `refused`. */
  text: Type.String(),
  since: orNull(Time),
  /** The source is stale. */
  isStale: Type.Boolean(),
});

/** `GET /api/v1/services/NAMESPACE/NAME`. */
export const TruthTable = Type.Object({
  service: Type.String(),
  at: Time,
  /** Whether Lockstep follows pods or the slices (switch), and why; null without an ingress. */
  follows: orNull(Type.Object({ mode: oneOf("pods", "slices"), reason: Type.String() })),
  /** The objects that lead requests to the service, by kind and name; empty without an ingress. */
  routes: Type.Array(Type.String()),
  /** The columns, in order; a row has a cell for each. */
  witnesses: Type.Array(
    Type.Object({
      id: Type.String(),
      kind: oneOf("pod", "published", "synced", "replica", "probe", "traffic"),
      /** `EndpointSlice in alpha`, `lockstep-1`. */
      label: Type.String(),
      isStock: Type.Boolean(),
    }),
  ),
  /** Of all endpoints, those without a row too. */
  endpoints: Type.Integer(),
  disagreements: Type.Integer(),
  /** Those that disagree come first; at most 2,000. */
  rows: Type.Array(
    Type.Object({
      cluster: Type.String(),
      address: Type.String(),
      port: Type.Integer(),
      podName: orNull(Type.String()),
      /** The state that Lockstep chose; null without an ingress. */
      state: orNull(oneOf("active", "draining", "held", "suspect", "out")),
      /** A plain sentence. */
      reason: Type.String(),
      /** The sources do not agree. */
      isDisputed: Type.Boolean(),
      cells: Type.Array(Cell),
    }),
  ),
  journeys: Type.Array(Journey),
  problems: Type.Array(Type.String()),
});

// ── Charts ──────────────────────────────────────────────────────────────────────────────────────

export const Series = Type.Object({
  id: Type.String(),
  /** Series of one chart share it. */
  chart: Type.String(),
  title: Type.String(),
  unit: oneOf("ms", "count", "per second", "share"),
  cluster: orNull(Type.String()),
  side: orNull(oneOf("stock", "lockstep")),
  hop: orNull(Hop),
  direction: orNull(Direction),
  /** A limit to draw as a line: the grace period. */
  limit: orNull(Type.Number()),
  /** Oldest first; null is a gap. */
  points: Type.Array(Type.Tuple([Time, orNull(Type.Number())])),
});

/** `GET /api/v1/series`: lags, requests and the control plane on one time axis, the last hour. */
export const SeriesAnswer = Type.Object({
  series: Type.Array(Series),
  /** Why a chart is missing, a sentence each. */
  missing: Type.Array(Type.String()),
});

// ── Doctor ──────────────────────────────────────────────────────────────────────────────────────

const findingFields = {
  rule: Type.String(),
  severity: oneOf("info", "warning", "critical"),
  confidence: Type.String(),
  hop: orNull(Hop),
  cause: Type.String(),
  evidence: Type.Array(Type.Object({ text: Type.String(), source: Type.String() })),
  fix: Type.Object({
    component: Type.String(),
    change: Type.String(),
    reason: Type.String(),
    /** The effect that the simulation predicts; null where it cannot. */
    effect: orNull(Type.String()),
  }),
  /** One sentence: the versions that have this cause, and whether current ones do. */
  affected: Type.String(),
  /** Its section in the documents: `docs/causes/README.md#ghost-leader`. */
  page: Type.String(),
  missing: Type.Array(Type.String()),
};

export const Finding = Type.Object({
  ...findingFields,
  cluster: orNull(Type.String()),
  /** When it was first found. */
  since: Time,
  consequences: Type.Array(Type.Object(findingFields)),
});

/** `GET /api/v1/doctor`; `POST /api/v1/doctor` examines now. */
export const Doctor = Type.Object({
  state: oneOf("idle", "examining", "failed"),
  /** One sentence of progress or failure. */
  detail: orNull(Type.String()),
  examinedAt: orNull(Time),
  findings: Type.Array(Finding),
  /** Causes that were examined and not found. */
  ruledOut: Type.Array(Type.String()),
  notExamined: Type.Array(Type.String()),
  /** The whole report for an incident channel. */
  markdown: Type.String(),
});

// ── Incidents (lab only) ────────────────────────────────────────────────────────────────────────

/** `GET /api/v1/incidents`; `POST /api/v1/incidents` with `IncidentAction`. */
export const Incidents = Type.Object({
  incidents: Type.Array(
    Type.Object({
      name: Type.String(),
      summary: Type.String(),
      cause: Type.String(),
      fix: Type.String(),
      /** In simulated time; otherwise in the running clusters, in real time. */
      isSimulated: Type.Boolean(),
    }),
  ),
  running: orNull(
    Type.Object({
      name: Type.String(),
      phase: oneOf("starting", "fault", "examining", "fixing", "fixed", "ended", "failed"),
      startedAt: Time,
      isSimulated: Type.Boolean(),
      /** Newest last. */
      steps: Type.Array(Type.Object({ at: Time, text: Type.String() })),
      requests: Type.Array(RequestCount),
      finding: orNull(Finding),
      /** Seconds from the fault to the named cause; null until then. */
      namedAfterMs: orNull(Ms),
      charts: Type.Array(Series),
      /** Measurements, stock and Lockstep side by side. */
      measures: Type.Array(
        Type.Object({
          text: Type.String(),
          stock: orNull(Type.String()),
          lockstep: orNull(Type.String()),
          goal: orNull(Type.String()),
          held: Type.Boolean(),
        }),
      ),
    }),
  ),
});

export const IncidentAction = Type.Object({
  action: oneOf("start", "fix", "stop"),
  name: Type.String({ maxLength: 64 }),
});

// ── What-if ─────────────────────────────────────────────────────────────────────────────────────

/** `GET /api/v1/whatif`: the inputs with their ranges; `POST` computes in a worker. */
export const WhatIfInputs = Type.Object({
  inputs: Type.Array(
    Type.Object({
      key: Type.String(),
      text: Type.String(),
      unit: Type.String(),
      min: Type.Number(),
      max: Type.Number(),
      value: Type.Number(),
      isLogarithmic: Type.Boolean(),
    }),
  ),
  /** The first one goes with the values of the inputs. */
  versions: Type.Array(Type.String()),
});

export const WhatIfQuestion = Type.Object({
  /** Any text that is the same for all questions of a page: its newest question replaces the others. */
  page: Type.Optional(Type.String({ maxLength: 64 })),
  version: Type.String({ maxLength: 16 }),
  values: Type.Record(Type.String({ maxLength: 32 }), Type.Number(), { maxProperties: 32 }),
});

export const WhatIfAnswer = Type.Object({
  /** null while it is computed; ask again with the same question. */
  figures: orNull(
    Type.Array(
      Type.Object({
        id: Type.String(),
        text: Type.String(),
        value: Type.String(),
        unit: Type.String(),
      }),
    ),
  ),
  progress: orNull(Type.String()),
  charts: Type.Array(Series),
  /** Sentences: saturated, or where the prediction ends. */
  notes: Type.Array(Type.String()),
  /** To copy. */
  flags: Type.String(),
});

// ── Recordings ──────────────────────────────────────────────────────────────────────────────────

/** `POST /api/v1/recordings` with the file as body: its journeys, to scrub through in the page. */
export const Recording = Type.Object({
  from: Time,
  to: Time,
  clusters: Type.Array(Type.String()),
  journeys: Type.Array(Journey),
  /** More are in the file than are answered. */
  leftOut: Type.Integer(),
  notes: Type.Array(Type.String()),
});

// ── The event stream ────────────────────────────────────────────────────────────────────────────

/**
 * `GET /api/v1/events` (server-sent events). `id` counts up; a browser that reconnects sends the last
 * one and gets what it missed, or `reset` and everything again. The same bytes go to all pages.
 *
 * - `reset`: `Reset`, first and whenever events were lost
 * - `state`: `State`, at most once a second
 * - `journeys`: `JourneyBatch`, at most four times a second
 * - `points`: `PointsBatch`, new points of series, every 2 s
 * - `doctor`, `incident`: the page should read that answer again
 */
export const JourneyBatch = Type.Object({
  /** New or changed; the newest state of each. */
  journeys: Type.Array(Journey),
  /** Left out because there were too many: the list is to be read again. */
  leftOut: Type.Integer(),
});

export const PointsBatch = Type.Object({
  at: Time,
  /** By the id of the series. */
  values: Type.Record(Type.String(), orNull(Type.Number())),
});

export const Reset = Type.Object({
  state: State,
  /** Those in flight, and the newest that are over. */
  journeys: Type.Array(Journey),
});

/** Of every answer with a status of 400 or more. */
export const Problem = Type.Object({
  error: Type.String({ description: "what, where and how to mend it: a sentence" }),
});

export type Journey = Static<typeof Journey>;
export type Journeys = Static<typeof Journeys>;
export type Cluster = Static<typeof Cluster>;
export type Replica = Static<typeof Replica>;
export type LagRow = Static<typeof LagRow>;
export type RequestCount = Static<typeof RequestCount>;
export type Verdict = Static<typeof Verdict>;
export type Story = Static<typeof Story>;
export type State = Static<typeof State>;
export type Services = Static<typeof Services>;
export type TruthTable = Static<typeof TruthTable>;
export type Series = Static<typeof Series>;
export type SeriesAnswer = Static<typeof SeriesAnswer>;
export type Finding = Static<typeof Finding>;
export type Doctor = Static<typeof Doctor>;
export type Incidents = Static<typeof Incidents>;
export type IncidentAction = Static<typeof IncidentAction>;
export type WhatIfInputs = Static<typeof WhatIfInputs>;
export type WhatIfQuestion = Static<typeof WhatIfQuestion>;
export type WhatIfAnswer = Static<typeof WhatIfAnswer>;
export type Recording = Static<typeof Recording>;
export type JourneyBatch = Static<typeof JourneyBatch>;
export type PointsBatch = Static<typeof PointsBatch>;
export type Reset = Static<typeof Reset>;
export type Problem = Static<typeof Problem>;
