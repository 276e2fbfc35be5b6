// The model of the page: takes every event of the observer and makes the answers from memory. One
// computation serves all pages: a state is made at most once a second, and encoded once.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { ClusterStatus } from "../observe/cluster-status.ts";
import type { LostHop } from "../observe/lost-hops.ts";
import type { Journey } from "../timeline/journey.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import { journeyRecord, type ObserverRun, wallAt } from "../timeline/journey-record.ts";
import {
  apiVersion,
  type Cluster,
  type Doctor,
  type Journey as JourneyAnswer,
  type JourneyBatch,
  type LagRow,
  type PointsBatch,
  type Reset,
  type SeriesAnswer,
  type State,
} from "./api.ts";
import { ClusterOutages } from "./cluster-outages.ts";
import { HopLags } from "./hop-lags.ts";
import { PageJourneys } from "./page-journeys.ts";
import type { PageDoctor, PageLab, PageObserver, PageSource, SeriesValue } from "./page-source.ts";
import { SeriesRings } from "./series-rings.ts";
import { verdictOf } from "./verdict.ts";

export interface PageModelOptions {
  readonly source: PageSource;
  /** Of Lockstep. */
  readonly version: string;
  /** Lags at or above this are late. */
  readonly slowMs: number;
  readonly doctor?: PageDoctor | undefined;
  readonly lab?: PageLab | undefined;
  /** A recording may be dropped onto the page. */
  readonly canReadRecordings: boolean;
}

/** A state is reused for this long. */
const stateEveryMs = 1_000;

/** Only the oldest changes, because refreshing all would be slow. */
const refreshedMost = 200;

/** More than a person reads in a quarter of a second. */
const batchMax = 100;

/** Of a `reset`; a page reads more by the list of journeys. */
const resetPendingMax = 500;
const resetOverMax = 200;

/** An open watch is alive all the time; a state is not another one for that. */
const aliveRoundedMs = 5_000;

export interface ComputedState {
  readonly value: State;
  /** All of it but the time, as JSON: another text is another state. */
  readonly facts: string;
  readonly json: string;
  readonly bytes: Buffer;
  readonly at: MonotonicMs;
}

export class PageModel {
  readonly #options: PageModelOptions;
  readonly journeys = new PageJourneys();
  readonly #lags: HopLags;
  readonly #rings = new SeriesRings();
  readonly #outages = new ClusterOutages();
  readonly #startedAt: number;
  #state: ComputedState | undefined;
  /** The kind of each replica, as it was when a state was last computed. */
  #kinds: ReadonlyMap<string, string> = new Map();
  /** Changes and requests at the last point, for rates. */
  #changesBefore = 0;
  #changesSeen = 0;
  /** States that were computed. */
  computed = 0;

  constructor(options: PageModelOptions) {
    this.#options = options;
    this.#startedAt = options.source.clock.wallMs();
    this.#lags = new HopLags({ kindOf: (replica) => this.#kindOf(replica) });
  }

  readonly onEvent = (event: JourneyEvent): void => {
    const { journey, type } = event;
    if (type !== "over" && !this.journeys.has(journey)) {
      this.#lags.began(journey);
      this.#changesSeen += 1;
    }
    this.journeys.onEvent(event);
    this.#lags.onEvent(event);
  };

  get state(): State {
    return this.#current().value;
  }

  /** The same, encoded. */
  get encodedState(): ComputedState {
    return this.#current();
  }

  /** New and changed journeys; undefined when there are none. */
  takeBatch(): JourneyBatch | undefined {
    const { journeys, leftOut } = this.journeys.takeChanged(batchMax);
    return journeys.length === 0 ? undefined : { journeys: this.answers(journeys), leftOut };
  }

  reset(): Reset {
    const pending: Journey[] = [];
    for (const journey of this.journeys.pending) {
      if (pending.length >= resetPendingMax) break;
      pending.push(journey);
    }
    const over = this.journeys.over.slice(-resetOverMax);
    return { state: this.state, journeys: this.answers([...over, ...pending]) };
  }

  /** A point of every series; to be called every `pointEveryMs`. */
  takePoints(): PointsBatch {
    const { lab, source } = this.#options;
    return this.#rings.add(source.clock.wallMs(), [
      ...this.#ownSeries(),
      ...(source.controlPlane?.().series ?? []),
      ...(lab?.series() ?? []),
    ]);
  }

  series(): SeriesAnswer {
    const series = [...this.#rings.all()];
    const { source } = this.#options;
    const isControlPlane = series.some(({ chart }) => chart.startsWith("control-plane"));
    const missing = missingIn(source.mode);
    const { missing: gaps } = source.controlPlane?.() ?? { missing: undefined };
    const refused = this.#rings.refused;
    return {
      series,
      missing: [
        ...(gaps ?? (isControlPlane ? [] : [missing.controlPlane])),
        ...(series.some(({ chart }) => chart === "requests lost") ? [] : [missing.requests]),
        ...(refused === 0 ? [] : ["Some charts are left out: there are more than 500 series."]),
      ],
    };
  }

  /** As the page gets them. */
  answers(journeys: readonly Journey[]): JourneyAnswer[] {
    const observer = this.#observer;
    return observer === undefined ? [] : journeys.map((journey) => answerOf(journey, observer.run));
  }

  /** Wall time of an instant of the run; null without one. */
  wallAt(instant: MonotonicMs | undefined): number | null {
    const run = this.#observer?.run;
    return instant === undefined || run === undefined ? null : wallAt(instant, run);
  }

  /** Something beside the events has changed: the next state is computed. */
  changed(): void {
    this.#state = undefined;
  }

  get #observer(): PageObserver | undefined {
    return this.#options.source.observer();
  }

  #current(): ComputedState {
    const now = this.#options.source.clock.monotonicMs();
    const known = this.#state;
    if (known !== undefined && elapsedMs(known.at, now) < stateEveryMs) return known;
    this.computed += 1;
    const value = this.#compute(now);
    const { at, ...rest } = value;
    const facts = JSON.stringify(rest);
    const json = `{"at":${at},${facts.slice(1)}`;
    const made = { value, facts, json, bytes: Buffer.from(json, "utf8"), at: now };
    this.#state = made;
    return made;
  }

  #compute(now: MonotonicMs): State {
    const { source, version, slowMs, doctor, lab, canReadRecordings } = this.#options;
    const observer = this.#observer;
    const replicas = source.replicas();
    this.#kinds = new Map(replicas.map(({ name, kind }) => [name, kind]));
    this.journeys.refresh(observer?.journeys.pending(refreshedMost) ?? []);
    const clusters = observer === undefined ? [] : this.#clusters(observer);
    this.#outages.look(clusters, now);
    const lags = [...this.#lags.rows(this.journeys.pending, now)];
    const examined: Doctor | undefined = doctor?.answer();
    const findings = examined?.findings ?? [];
    const requests = lab?.requests() ?? { since: this.#startedAt, sides: [] };
    const places = this.#lags.places(this.journeys.pending, now);
    return {
      api: apiVersion,
      version,
      mode: source.mode,
      slowMs,
      startedAt: this.#startedAt,
      at: source.clock.wallMs(),
      verdict: verdictOf({
        clusters,
        places,
        lags,
        requests: requests.sides,
        findings,
        slowMs,
      }),
      clusters,
      replicas: [...replicas],
      lags,
      inFlight: this.journeys.inFlight,
      stuck: this.journeys.stuck,
      requests,
      toRemoved: source.hasAccessLogs === true ? this.journeys.toRemoved : null,
      changes: this.#lags.changes(now),
      findings: findings.length,
      story: lab?.story() ?? null,
      incident: lab?.incident() ?? null,
      notes: [...source.notes(), ...this.#outages.notes(now)],
      can: {
        incidents: lab !== undefined,
        whatif: lab !== undefined,
        doctor: doctor !== undefined,
        recordings: canReadRecordings,
      },
    };
  }

  #clusters(observer: PageObserver): Cluster[] {
    const { source } = this.#options;
    const access = new Set(source.accessClusters());
    return observer.clusters().map((status) => {
      const { cluster: name } = status;
      const lost = lostIn(status, access.has(name));
      const watches = status.watches.filter((watch) => !isAbsentIn(status, watch));
      const isBusiness = status.watches.some(({ purposes }) => !purposes.includes("synced"));
      const { version = null, apiServers = [] } = source.servers?.(name) ?? {};
      return {
        name,
        roles: [
          ...(isBusiness || !access.has(name) ? (["business"] as const) : []),
          ...(access.has(name) ? (["access"] as const) : []),
        ],
        ...this.#clusterState(status),
        version,
        apiServers: [...apiServers],
        watches: watches.map((watch) => ({
          resource:
            watch.namespace === undefined
              ? watch.resource
              : `${watch.resource} in ${watch.namespace}`,
          state: watch.listed || watch.state === "refused" ? watch.state : "connecting",
          aliveAt: rounded(this.wallAt(watch.aliveAtMs)),
          objects: watch.objects,
          detail: watch.detail === "" ? null : watch.detail,
        })),
        doubts: [...status.doubts, ...lost],
      };
    });
  }

  #clusterState({ state }: ClusterStatus): Pick<Cluster, "state" | "since" | "detail"> {
    switch (state.type) {
      case "connecting":
        return { state: "connecting", since: null, detail: "No answer yet." };
      case "listing":
        return {
          state: "listing",
          since: null,
          detail: `${state.listed} of ${state.of} watches are listed.`,
        };
      case "watching":
        return { state: "watching", since: null, detail: null };
      case "unreachable":
        return { state: "unreachable", since: this.wallAt(state.since), detail: state.detail };
      case "refused":
        return { state: "refused", since: null, detail: state.detail };
    }
  }

  #kindOf(replica: string): string {
    const known = this.#kinds.get(replica);
    if (known !== undefined) return known;
    const { source } = this.#options;
    return source.replicas().find(({ name }) => name === replica)?.kind ?? "other";
  }

  #ownSeries(): readonly SeriesValue[] {
    const about = { cluster: null, side: null, limit: null };
    const lags = this.#lags.takeLatest().map(({ hop, kind, direction, ms }): SeriesValue => {
      return {
        ...about,
        id: `lag ${hop} ${kind} ${direction}`,
        chart: "lag",
        title: `${placeText(hop, kind)}, ${direction === "leave" ? "removals" : "additions"}`,
        unit: "ms",
        side: kind === "lockstep" || kind === "stock" ? kind : null,
        hop,
        direction,
        value: ms,
      };
    });
    const seconds = 2;
    const changes = (this.#changesSeen - this.#changesBefore) / seconds;
    this.#changesBefore = this.#changesSeen;
    const counts = { ...about, hop: null, direction: null };
    return [
      ...lags,
      {
        ...counts,
        id: "changes",
        chart: "changes",
        title: "changes",
        unit: "per second",
        value: changes,
      },
      {
        ...counts,
        id: "in flight",
        chart: "in flight",
        title: "changes in flight",
        unit: "count",
        value: this.journeys.inFlight,
      },
    ];
  }
}

/** Slices that a server does not have can only be missed where copies are expected. */
function lostIn({ lost }: ClusterStatus, isAccess: boolean): readonly string[] {
  return lost.flatMap(({ sentence, isAbsent }) => (isAbsent && !isAccess ? [] : sentence));
}

function isAbsentIn({ lost }: ClusterStatus, { resource }: Pick<LostHop, "resource">): boolean {
  return lost.some((one) => one.isAbsent && one.resource === resource);
}

const hopTexts = {
  pod: "pod watch",
  published: "EndpointSlices",
  synced: "copies",
  traffic: "requests",
} as const;

const kindTexts: Readonly<Record<string, string>> = {
  lockstep: "Lockstep proxies",
  stock: "stock proxies (model)",
  "": "proxies",
};

function placeText(hop: LagRow["hop"], kind: string): string {
  return hop === "routed" ? (kindTexts[kind] ?? `${kind} proxies`) : hopTexts[hop];
}

function missingIn(mode: State["mode"]): Readonly<Record<"controlPlane" | "requests", string>> {
  if (mode === "lab") {
    return {
      controlPlane:
        "The charts of the control plane begin when the clusters of the lab have started.",
      requests:
        "The chart of requests begins with the traffic of the lab. Without nginx it has none.",
    };
  }
  return {
    controlPlane: "No charts of the control plane: a recording has no metrics of controllers.",
    requests: "No chart of requests: this server sends no traffic of its own.",
  };
}

function rounded(atMs: number | null): number | null {
  return atMs === null ? null : Math.floor(atMs / aliveRoundedMs) * aliveRoundedMs;
}

/** The record has readonly arrays; the answer is only encoded. */
function answerOf(journey: Journey, run: ObserverRun): JourneyAnswer {
  const { hops, ...record } = journeyRecord(journey, run);
  return { ...record, hops: [...hops] };
}
