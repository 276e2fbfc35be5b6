// Puts a watch together: the clusters, the observer, the view, what is kept beside it, and the
// proxies and logs that tell of the last hops. It ends when it is told to, after the time it was
// given, or when whoever reads its output has enough; and says then what it has seen.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { Observer } from "../../observe/observer.ts";
import type { JourneyEvent } from "../../timeline/journey-event.ts";
import { aborted, type CommandContext, type ExitCode } from "../command.ts";
import { errorsOnly, warningsOnly } from "../up/quiet-log.ts";
import { absentNames } from "./absent-names.ts";
import { AskedProxies } from "./asked-proxies.ts";
import { FollowedLogs, refuseMissingLogs } from "./followed-logs.ts";
import { JsonOutput } from "./json-output.ts";
import { KeptJourneys } from "./kept-journeys.ts";
import type { Picture } from "./picture.ts";
import { PlainOutput } from "./plain-output.ts";
import { RunClock } from "./run-clock.ts";
import { ScreenLog } from "./screen-log.ts";
import { ScreenOutput } from "./screen-output.ts";
import { unknownHops } from "./unknown-hops.ts";
import { type WatchedClusters, watchedClusters } from "./watch-clusters.ts";
import type { WatchOutput } from "./watch-output.ts";
import type { WatchSettings } from "./watch-settings.ts";
import { WatchTally } from "./watch-tally.ts";
import { whatComes } from "./what-comes.ts";

/** The oldest, of which the view shows some; looking at more would cost more than it shows. */
const refreshedMost = 200;
/** Where requests are counted: those of the last minutes, some milliseconds' work a second. */
const refreshedWithLogsMost = 2_000;
const refreshEveryMs = 1_000;

/** Said before it begins, when somebody wonders whether it is worth while. */
const managedText =
  "Lockstep only reads. On a managed cluster (EKS, GKE, AKS) it cannot see the controllers' " +
  "queues, rate limits, flags and logs. It sees everything else.";

export async function runWatch(
  context: CommandContext,
  settings: WatchSettings,
): Promise<ExitCode> {
  const { terminal } = context;
  const isScreen = terminal.interactive && !settings.json;
  const screenLog = isScreen ? new ScreenLog() : undefined;
  // To a person the lines themselves say how it stands with clusters and proxies.
  const quiet = settings.json ? warningsOnly : errorsOnly;
  const log = screenLog ?? quiet(context.environment.log);
  const environment = { ...context.environment, log };
  await refuseMissingLogs(environment, settings);
  const clusters = await watchedClusters(environment, settings, context.stop);
  const kept = await KeptJourneys.open({ environment, ...settings });
  try {
    const watch = new Watch({ context, environment, settings, clusters, kept, screenLog });
    try {
      return await watch.run();
    } finally {
      await watch.stop();
    }
  } finally {
    await kept.close();
  }
}

interface WatchParts {
  readonly context: CommandContext;
  readonly environment: Environment;
  readonly settings: WatchSettings;
  readonly clusters: WatchedClusters;
  readonly kept: KeptJourneys;
  /** There when the view is a screen. */
  readonly screenLog: ScreenLog | undefined;
}

class Watch {
  readonly #parts: WatchParts;
  readonly #tally: WatchTally;
  readonly #observer: Observer;
  readonly #run: RunClock;
  readonly #output: WatchOutput;
  readonly #proxies: AskedProxies;
  readonly #logs: FollowedLogs;
  #refreshedAt: MonotonicMs | undefined;
  /** Nothing that is heard from then on counts. */
  #isOver = false;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    const { environment, settings, clusters, kept, context } = parts;
    this.#tally = new WatchTally(settings);
    this.#observer = new Observer({
      ...environment,
      ...clusters,
      ...settings.bounds,
      metrics: kept.registry,
      onEvent: (event) => this.#onEvent(event),
    });
    this.#run = new RunClock({ ...environment, run: this.#observer.run });
    this.#proxies = new AskedProxies({
      environment,
      observer: this.#observer,
      proxies: settings.proxies,
      clusters: clusters.clusters.map(({ cluster }) => cluster),
    });
    this.#logs = new FollowedLogs({
      ...settings,
      environment,
      stdin: context.stdin,
      target: this.#observer,
      clusters: clusters.clusters,
    });
    const shared = {
      ...environment,
      ...settings,
      terminal: context.terminal,
      run: this.#run,
      picture: () => this.#picture(),
    };
    if (settings.json) this.#output = new JsonOutput(shared);
    else this.#output = parts.screenLog ? new ScreenOutput(shared) : new PlainOutput(shared);
  }

  async run(): Promise<ExitCode> {
    const { kept, context, environment, settings } = this.#parts;
    await kept.follow(this.#observer, this.#run);
    const ending = new AbortController();
    const { durationMs } = settings;
    const cancel =
      durationMs === undefined
        ? undefined
        : environment.timers.after(durationMs, () => ending.abort(new Error("its time is over")));
    const stop = AbortSignal.any([context.stop, ending.signal]);
    try {
      await this.#sayWhatComes(stop);
      this.#observer.start();
      this.#proxies.start();
      this.#logs.start();
      this.#output.start();
      await aborted(stop);
    } finally {
      cancel?.();
      this.#output.end();
    }
    return this.#observer.clusters().some(({ watches }) => watches.some((one) => one.listed))
      ? 0
      : 1;
  }

  /**
   * Idempotent. Logs end first, because no more requests are waited for. Proxies end when nothing is
   * taken in any more: that they are asked no longer does not show what they have yet to show.
   */
  async stop(): Promise<void> {
    await this.#logs.stop();
    await this.#observer.stop();
    this.#leaveInFlight();
    await this.#proxies.stop();
  }

  async #sayWhatComes(stop: AbortSignal): Promise<void> {
    const { context, environment, settings, clusters, kept } = this.#parts;
    const { terminal } = context;
    const lines = await whatComes({
      ...environment,
      leftOut: clusters.leftOut,
      servers: clusters.servers,
      terminal,
      stop,
      preview: (signal) => this.#observer.preview(signal),
      permissions: (signal) => this.#observer.permissions(signal),
      clusters: this.#observer.clusters().length,
      closing: managedText,
    });
    if (stop.aborted) return;
    const { metricsUrl } = kept;
    const metrics = metricsUrl === undefined ? [] : [`  Metrics: ${metricsUrl}`];
    const { historyPath } = settings;
    const history = historyPath === undefined ? [] : [`  History: ${historyPath}`];
    terminal.writeError(`${[...lines, ...metrics, ...history].join("\n")}\n\n`);
  }

  #leaveInFlight(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.kept.keepInFlight(this.#observer.journeys.pending());
  }

  #onEvent(event: JourneyEvent): void {
    if (this.#isOver) return;
    this.#run.follow();
    this.#logs.onEvent(event);
    this.#tally.onEvent(event);
    this.#parts.kept.onEvent(event);
    this.#output.onEvent(event);
  }

  #refresh(now: MonotonicMs): void {
    const since = this.#refreshedAt;
    if (since !== undefined && elapsedMs(since, now) < refreshEveryMs) return;
    this.#refreshedAt = now;
    const { accessLogs } = this.#parts.settings;
    const most = accessLogs.length > 0 ? refreshedWithLogsMost : refreshedMost;
    this.#tally.refresh(this.#observer.journeys.pending(most));
  }

  #picture(): Picture {
    const { clusters, settings, kept, screenLog, environment } = this.#parts;
    const now = environment.clock.monotonicMs();
    const statuses = this.#observer.clusters();
    const { journeys, run } = this.#observer;
    this.#run.follow();
    this.#refresh(now);
    return {
      now,
      startedAt: run.monotonicMs,
      run: this.#run,
      tally: this.#tally,
      oldest: journeys.oldestPending(now),
      counts: journeys.counts,
      clusters: statuses,
      asked: [
        ...(settings.accessContexts.length > 0 ? (["synced"] as const) : []),
        ...(settings.accessLogs.length > 0 ? (["traffic"] as const) : []),
      ],
      unknown: unknownHops({
        clusters: statuses,
        accessClusters: clusters.accessClusters.map(({ cluster }) => cluster),
        hasProxies: settings.proxies.length > 0,
        hasAccessLogs: settings.accessLogs.length > 0,
      }),
      notes: [
        ...absentNames({
          ...settings.bounds,
          clusters: statuses,
          isService: (service) => this.#observer.isService(service),
        }),
        ...this.#proxies.notes(),
        ...this.#logs.notes(),
        ...kept.notes(),
        ...(screenLog?.errors ?? []),
      ],
    };
  }
}
