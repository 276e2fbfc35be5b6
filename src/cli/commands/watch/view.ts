// The view of `lockstep watch` on clusters or on a recording: it counts events and builds the
// picture for the screen, plain lines or JSON.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import type { ObserverCore } from "../../../observe/observer-core.ts";
import type { ServiceBounds } from "../../../observe/service-filter.ts";
import type { WatchedRun } from "../../../recording/watched-run.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { ObserverRun } from "../../../timeline/journey-record.ts";
import type { OldestPending } from "../../../timeline/pending-changes.ts";
import type { ObservationCounts } from "../../../timeline/timeline.ts";
import type { Hop } from "../../../timeline/witness.ts";
import { JsonOutput } from "./json-output.ts";
import { lateHopNotes } from "./late-hop.ts";
import { PlainOutput } from "./plain-output.ts";
import { RunClock } from "./run-clock.ts";
import { ScreenOutput } from "./screen.ts";
import type { WatchSettings } from "./settings.ts";
import { WatchTally } from "./tally.ts";

/** Only the oldest changes, because refreshing all would be slow. */
const refreshedMost = 200;
/** With access logs: the changes of the last minutes, some milliseconds of work a second. */
const refreshedWithLogsMost = 2_000;
const refreshEveryMs = 1_000;

/** Enough to see whether one service is late or all. */
const stuckMost = 100;

/** The observer as the view needs it. */
interface ViewedObserver {
  readonly run: ObserverRun;
  readonly journeys: ObserverCore["journeys"];
  clusters(): readonly ClusterStatus[];
  isService(service: string): boolean;
}

interface WatchViewOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly terminal: Terminal;
  readonly settings: Pick<WatchSettings, "slowMs" | "utc" | "json">;
  readonly isScreen: boolean;
  readonly bounds: ServiceBounds;
  readonly observer: ViewedObserver;
  readonly accessClusters: readonly string[];
  readonly asked: WatchedRun["asked"];
  /** Other problems to show now. */
  readonly notes: () => readonly string[];
  /** The command that explains why a hop of the cluster is late. */
  readonly explain: (cluster: string) => string;
  /** Title of the live view; default `lockstep watch`. */
  readonly title?: () => string;
}

export class WatchView {
  readonly #options: WatchViewOptions;
  readonly #tally: WatchTally;
  readonly #output: WatchOutput;
  /** The observer's run on the current wall clock. */
  readonly run: RunClock;
  #refreshedAt: MonotonicMs | undefined;

  constructor(options: WatchViewOptions) {
    this.#options = options;
    const { settings, observer, isScreen } = options;
    this.#tally = new WatchTally(settings);
    this.run = new RunClock({ ...options, run: observer.run });
    const shared = {
      ...options,
      ...settings,
      run: this.run,
      picture: () => this.#picture(),
    };
    if (settings.json) this.#output = new JsonOutput(shared);
    else this.#output = isScreen ? new ScreenOutput(shared) : new PlainOutput(shared);
  }

  start(): void {
    this.#output.start();
  }

  /** Prints the summary. Idempotent. */
  end(): void {
    this.#output.end();
  }

  onEvent(event: JourneyEvent): void {
    this.count(event);
    this.#output.onEvent(event);
  }

  /** Counts an event without showing it. */
  count(event: JourneyEvent): void {
    this.run.follow();
    this.#tally.onEvent(event);
  }

  /** Redraws a screen. */
  redraw(): void {
    this.#output.redraw?.();
  }

  #refresh(now: MonotonicMs): void {
    const since = this.#refreshedAt;
    if (since !== undefined && elapsedMs(since, now) < refreshEveryMs) return;
    this.#refreshedAt = now;
    const { asked, observer } = this.#options;
    const most = asked.logs ? refreshedWithLogsMost : refreshedMost;
    this.#tally.refresh(observer.journeys.pending(most));
  }

  #picture(): Picture {
    const { observer, accessClusters, asked, bounds, clock, notes, explain, title } = this.#options;
    const now = clock.monotonicMs();
    const statuses = observer.clusters();
    const { journeys, run } = observer;
    this.run.follow();
    this.#refresh(now);
    return {
      now,
      startedAt: run.monotonicMs,
      run: this.run,
      tally: this.#tally,
      oldest: journeys.oldestPending(now),
      counts: journeys.counts,
      clusters: statuses,
      asked: [
        ...(asked.copies ? (["synced"] as const) : []),
        ...(asked.logs ? (["traffic"] as const) : []),
      ],
      unknown: unknownHops({
        clusters: statuses,
        accessClusters,
        hasProxies: asked.proxies,
        hasAccessLogs: asked.logs,
      }),
      notes: [
        ...absentNames({
          ...bounds,
          clusters: statuses,
          isService: (service) => observer.isService(service),
        }),
        ...lateHopNotes({
          stuck: this.#tally.inFlight.stuckOnes(stuckMost),
          clusters: statuses,
          explain,
        }),
        ...notes(),
      ],
      title: title?.(),
    };
  }
}

/** The input of live view, status lines and summary, at one instant. */
export interface Picture {
  readonly now: MonotonicMs;
  readonly startedAt: MonotonicMs;
  readonly run: ObserverRun;
  readonly tally: WatchTally;
  readonly oldest: readonly OldestPending[];
  readonly counts: ObservationCounts;
  readonly clusters: readonly ClusterStatus[];
  /** Why a hop is unknown, and the flag that would change it. */
  readonly unknown: ReadonlyMap<Hop, string>;
  /** Hops that a flag asks for; their columns are shown from the start. */
  readonly asked: readonly Hop[];
  /** Other problems to show now: a silent proxy, an unreadable log. */
  readonly notes: readonly string[];
  /** Title of the live view; default `lockstep watch`. */
  readonly title?: string | undefined;
}

/** The last state of a change. */
export function latestIn({ tally }: Pick<Picture, "tally">): (journey: Journey) => Journey {
  return (journey) => tally.inFlight.latest(journey);
}

export interface ViewOptions {
  readonly width: number;
  readonly rows: number;
  readonly slowMs: number;
  readonly utc: boolean;
}

/** The output: a live screen, plain lines or JSON lines. */
export interface WatchOutput {
  /** Called synchronously with every event, after it was counted. */
  onEvent(event: JourneyEvent): void;
  start(): void;
  /** Redraw a screen although no endpoint changed. */
  redraw?(): void;
  /** Prints the summary and nothing after it. Idempotent. */
  end(): void;
}

export interface WatchOutputOptions extends Pick<Environment, "clock" | "timers"> {
  readonly terminal: Terminal;
  readonly run: ObserverRun;
  /** Builds the picture, which costs more than a line. */
  readonly picture: () => Picture;
  readonly slowMs: number;
  readonly utc: boolean;
}

/** Why no source reports a hop, and the flag that would change it. */
interface Telling {
  readonly clusters: readonly ClusterStatus[];
  /** Clusters with copies. */
  readonly accessClusters: readonly string[];
  readonly hasProxies: boolean;
  readonly hasAccessLogs: boolean;
}

export function unknownHops(telling: Telling): ReadonlyMap<Hop, string> {
  const { clusters, accessClusters, hasProxies, hasAccessLogs } = telling;
  const lost = clusters.flatMap((one) => one.lost);
  const costOf = (hop: Hop) => lost.find((one) => one.hop === hop)?.sentence;
  const access = clusters.filter(({ cluster }) => accessClusters.includes(cluster));
  const unknown = new Map<Hop, string>([
    [
      "synced",
      costOf("synced") ??
        unreadText(access) ??
        `no copies of endpoints found in ${namesText(accessClusters)}`,
    ],
    [
      "routed",
      hasProxies ? "no proxy has reported a change yet" : "no proxy given: use --proxy URL",
    ],
    [
      "traffic",
      hasAccessLogs
        ? "no request to a changed endpoint yet"
        : "no access log given: use --access-log FILE",
    ],
  ]);
  for (const hop of ["pod", "published"] as const) {
    const why = costOf(hop) ?? unreadText(clusters);
    if (why !== undefined) unknown.set(hop, why);
  }
  return unknown;
}

/** It has never been listed and is not watched now. */
export function isUnread({ state, watches }: ClusterStatus): boolean {
  return state.type !== "watching" && watches.every(({ listed }) => !listed);
}

/** Without any listed cluster, missing numbers do not mean that all is well. */
function unreadText(clusters: readonly ClusterStatus[]): string | undefined {
  if (clusters.length === 0 || !clusters.every(isUnread)) return undefined;
  return `no data from ${namesText(clusters.map(({ cluster }) => cluster))}`;
}

const namesMost = 2;

function namesText(names: readonly string[]): string {
  return names.length <= namesMost ? names.join(", ") : `any of ${names.length} clusters`;
}

/**
 * Names in flags that no cluster has are probably misspelt; without a note the view would only stay
 * empty. Checked once everything is listed.
 */
interface AskedNames extends ServiceBounds {
  readonly clusters: readonly ClusterStatus[];
  readonly isService: (service: string) => boolean;
}

export function absentNames({
  clusters,
  namespaces = [],
  services = [],
  isService,
}: AskedNames): readonly string[] {
  const watches = clusters.flatMap((one) => one.watches);
  const lists = watches.filter(({ resource }) => resource === "services");
  if (lists.length === 0 || clusters.some(({ state }) => state.type !== "watching")) return [];
  if (lists.some(({ listed }) => !listed)) return [];
  const isEmpty = (namespace: string): boolean =>
    lists.every((one) => one.namespace !== namespace || one.objects === 0);
  return [
    ...namespaces
      .filter(isEmpty)
      .map(
        (name) =>
          `no cluster has a service in the namespace ${name} at the moment. Check the name.`,
      ),
    ...services
      .filter((name) => !isService(name))
      .map((name) => `no cluster has a service ${name} at the moment. Check the name.`),
  ];
}
