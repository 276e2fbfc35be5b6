// What `lockstep watch` shows of an observer, whether it observes clusters or a recording of them: the
// tally of what was seen, and the screen, the lines or the JSON that are made from it.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import type { ObserverCore } from "../../../observe/observer-core.ts";
import type { ServiceBounds } from "../../../observe/service-filter.ts";
import type { WatchedRun } from "../../../recording/watched-run.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { ObserverRun } from "../../../timeline/journey-record.ts";
import { absentNames } from "./absent-names.ts";
import { JsonOutput } from "./json-output.ts";
import type { Picture } from "./picture.ts";
import { PlainOutput } from "./plain-output.ts";
import { RunClock } from "./run-clock.ts";
import { ScreenOutput } from "./screen-output.ts";
import { unknownHops } from "./unknown-hops.ts";
import type { WatchOutput } from "./watch-output.ts";
import type { WatchSettings } from "./watch-settings.ts";
import { WatchTally } from "./watch-tally.ts";

/** The oldest, of which the view shows some; looking at more would cost more than it shows. */
const refreshedMost = 200;
/** Where requests are counted: those of the last minutes, some milliseconds' work a second. */
const refreshedWithLogsMost = 2_000;
const refreshEveryMs = 1_000;

/** What the view asks of an observer. */
export interface ViewedObserver {
  readonly run: ObserverRun;
  readonly journeys: ObserverCore["journeys"];
  clusters(): readonly ClusterStatus[];
  isService(service: string): boolean;
}

export interface WatchViewOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly terminal: Terminal;
  readonly settings: Pick<WatchSettings, "slowMs" | "utc" | "json">;
  readonly isScreen: boolean;
  readonly bounds: ServiceBounds;
  readonly observer: ViewedObserver;
  readonly accessClusters: readonly string[];
  readonly asked: WatchedRun["asked"];
  /** What else somebody should know now. */
  readonly notes: () => readonly string[];
  /** Of a live view; `lockstep watch` unless given. */
  readonly title?: () => string;
}

export class WatchView {
  readonly #options: WatchViewOptions;
  readonly #tally: WatchTally;
  readonly #output: WatchOutput;
  /** The observer's run, by the wall clock as it stands. */
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

  /** Says what was seen in all. Idempotent. */
  end(): void {
    this.#output.end();
  }

  onEvent(event: JourneyEvent): void {
    this.count(event);
    this.#output.onEvent(event);
  }

  /** Takes it into the figures without showing it. */
  count(event: JourneyEvent): void {
    this.run.follow();
    this.#tally.onEvent(event);
  }

  /** A screen is drawn again. */
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
    const { observer, accessClusters, asked, bounds, clock, notes, title } = this.#options;
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
        ...notes(),
      ],
      title: title?.(),
    };
  }
}
