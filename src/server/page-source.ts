// Where the page gets its facts: an observer of clusters or a replayed run, the proxy replicas beside
// it, and in a demonstration the lab. The server only reads them, whenever a state is computed.
import type { Clock } from "../environment/clock.ts";
import type { Timers } from "../environment/timers.ts";
import type { ClusterStatus } from "../observe/cluster-status.ts";
import type { ObserverCore } from "../observe/observer-core.ts";
import type { ObserverRun } from "../timeline/journey-record.ts";
import type {
  Doctor,
  IncidentAction,
  Incidents,
  Replica,
  Series,
  State,
  TruthTable,
  WhatIfAnswer,
  WhatIfInputs,
  WhatIfQuestion,
} from "./api.ts";

/** An observer, or a replayed run. */
export interface PageObserver {
  readonly run: ObserverRun;
  readonly journeys: ObserverCore["journeys"];
  clusters(): readonly ClusterStatus[];
}

export interface PageSource {
  /** The time of the journeys: of this machine, or of a recording. */
  readonly clock: Clock;
  readonly timers: Pick<Timers, "after">;
  readonly mode: State["mode"];
  /** Undefined until it has started. */
  readonly observer: () => PageObserver | undefined;
  /** Requests are read from access logs. */
  readonly hasAccessLogs?: boolean;
  /** The names of clusters with copies of endpoints. */
  readonly accessClusters: () => readonly string[];
  /** The address of each cluster's API servers and its version, where they are known. */
  readonly servers?: (cluster: string) => ClusterServers;
  readonly replicas: () => readonly Replica[];
  /** Problems of Lockstep itself, each a sentence. */
  readonly notes: () => readonly string[];
  /** Charts of the control planes, and why others are missing, a sentence each; read every 2 s. */
  readonly controlPlane?: () => ControlPlaneCharts;
  /** The decision of a Lockstep replica about a service; undefined where there is none. */
  readonly decision?: (service: string, signal: AbortSignal) => Promise<PageDecision | undefined>;
}

export interface ClusterServers {
  readonly version: string | null;
  readonly apiServers: State["clusters"][number]["apiServers"];
}

export interface ControlPlaneCharts {
  readonly series: readonly SeriesValue[];
  readonly missing: readonly string[];
}

type RowState = NonNullable<TruthTable["rows"][number]["state"]>;

/** The truth of one Lockstep replica about one service, as its status page has it. */
export interface PageDecision {
  readonly follows: NonNullable<TruthTable["follows"]>;
  /** The objects that lead requests there, such as `HTTPRoute shop/web`. */
  readonly routes: readonly string[];
  readonly problems: readonly string[];
  readonly endpoints: readonly DecidedRow[];
}

export interface DecidedRow {
  readonly cluster: string;
  readonly address: string;
  readonly port: number;
  readonly podUid?: string | undefined;
  readonly podName?: string | undefined;
  readonly state: RowState;
  readonly reason: string;
  /** `ready`, `terminating`, `gone`. */
  readonly pod: string;
  /** `ready`, `not ready`, `absent`. */
  readonly published: string;
  /** The last probe; absent if it was not probed. */
  readonly probe?: "answers" | "silent" | undefined;
  /** Requests that the replica sent there; absent if it never did. */
  readonly use?: { readonly requests: number; readonly failures: number } | undefined;
}

/** A value of a series now; `id` names the series for as long as the server runs. */
export type SeriesValue = Omit<Series, "points"> & { readonly value: number | null };

/** The parts that only a demonstration has. Every answer is made at once, from memory. */
export interface PageLab {
  readonly story: () => State["story"];
  readonly incident: () => State["incident"];
  readonly requests: () => State["requests"];
  /** Of the control plane and of traffic; read every 2 s. */
  readonly series: () => readonly SeriesValue[];
  readonly incidents: () => Incidents;
  /** Starts and returns; the result is in `incidents`. Throws a `PageProblem` if it cannot. */
  readonly actOnIncident: (action: IncidentAction) => void;
  readonly whatIfInputs: () => WhatIfInputs;
  /** Throws a `PageProblem` for a question without an answer. */
  readonly askWhatIf: (question: WhatIfQuestion) => WhatIfAnswer | Promise<WhatIfAnswer>;
}

/** The doctor as the page sees it. */
export interface PageDoctor {
  readonly answer: () => Doctor;
  /** Starts an examination and returns; a second call while one runs does nothing. */
  readonly examine: () => void;
}

/** A request that cannot be answered, with the status and a sentence for the person. */
export class PageProblem extends Error {
  override readonly name = "PageProblem";
  readonly code = "PAGE_PROBLEM";
  readonly status: number;

  constructor(status: number, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.status = status;
  }
}
