// Runs `lockstep watch`: clusters, observer, view, history, metrics, proxies and access logs. It
// ends at a stop signal, after --for, or when its output is closed, and prints a summary.
import { FilesError } from "../../../environment/files.ts";
import { ObserverRecording } from "../../../recording/observer-recording.ts";
import type { WatchedRun } from "../../../recording/watched-run.ts";
import type { ObserverRun } from "../../../timeline/journey-record.ts";
import { aborted, type CommandContext, type ExitCode } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import { readPreview } from "../../preview.ts";
import { errorsOnly, warningsOnly } from "../../quiet-log.ts";
import { typedCommand } from "../../typed-command.ts";
import { watchedClusters } from "../../watched-clusters.ts";
import { refuseRecording } from "../record/refused-recording.ts";
import { KeptJourneys } from "./kept-journeys.ts";
import { Observation, type ObservationParts } from "./observation.ts";
import { ScreenLog } from "./screen.ts";
import type { WatchSettings } from "./settings.ts";
import { refuseMissingLogs } from "./sources.ts";
import { WatchView } from "./view.ts";

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
  // The lines show the state of clusters and proxies, so a person needs no log for that.
  const quiet = settings.json ? warningsOnly : errorsOnly;
  const log = screenLog ?? quiet(context.environment.log);
  const environment = { ...context.environment, log };
  await refuseMissingLogs(environment, settings);
  if (settings.recordPath !== undefined) await refuseRecording(environment, settings.recordPath);
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

interface WatchParts extends ObservationParts {
  readonly settings: WatchSettings;
  /** Defined when the view is a screen. */
  readonly screenLog: ScreenLog | undefined;
}

class Watch {
  readonly #parts: WatchParts;
  readonly #observation: Observation;
  readonly #recording: ObserverRecording | undefined;
  readonly #view: WatchView;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    const { environment, settings, clusters, kept, context } = parts;
    const { clock, random } = environment;
    const run = {
      name: random.uuid(),
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
    };
    const asked = {
      copies: settings.accessContexts.length > 0,
      proxies: settings.proxies.length > 0,
      logs: settings.accessLogs.length > 0,
    };
    const recording = recordingOf(parts, run, asked);
    this.#recording = recording;
    this.#observation = new Observation({
      ...parts,
      run,
      metrics: kept.registry,
      onEvent: (event) => this.#view.onEvent(event),
      ...(recording && {
        tap: recording.tape,
        onInput: (name, input) => recording.tape.traffic(name, input),
      }),
    });
    this.#view = new WatchView({
      ...environment,
      settings,
      terminal: context.terminal,
      isScreen: parts.screenLog !== undefined,
      bounds: settings.bounds,
      observer: this.#observation.observer,
      accessClusters: clusters.accessClusters.map(({ cluster }) => cluster),
      asked,
      notes: () => this.#notes(),
      explain: (cluster) => this.#explain(cluster),
    });
  }

  async run(): Promise<ExitCode> {
    const { kept, context, environment, settings } = this.#parts;
    await kept.follow(this.#observation.observer, this.#view.run);
    await asUsage([FilesError], async () => this.#recording?.start());
    const ending = new AbortController();
    const { durationMs } = settings;
    const cancel =
      durationMs === undefined
        ? undefined
        : environment.timers.after(durationMs, () => ending.abort(new Error("its time is over")));
    const stop = AbortSignal.any([context.stop, ending.signal]);
    try {
      await this.#printPreview(stop);
      this.#recording?.tape.started();
      this.#observation.start();
      this.#view.start();
      await aborted(stop);
    } finally {
      cancel?.();
      this.#view.end();
      this.#recording?.tape.ended();
    }
    return this.#observation.observer
      .clusters()
      .some(({ watches }) => watches.some((one) => one.listed))
      ? 0
      : 1;
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#observation.stop();
    await this.#recording?.stop();
  }

  async #printPreview(stop: AbortSignal): Promise<void> {
    const { context, environment, settings, clusters, kept } = this.#parts;
    const { terminal } = context;
    const lines = await readPreview({
      ...environment,
      leftOut: clusters.leftOut,
      servers: clusters.servers,
      terminal,
      stop,
      preview: (signal) => this.#observation.observer.preview(signal),
      permissions: (signal) => this.#observation.observer.permissions(signal),
      clusters: this.#observation.observer.clusters().length,
      closing: managedText,
    });
    if (stop.aborted) return;
    const { metricsUrl } = kept;
    const metrics = metricsUrl === undefined ? [] : [`  Metrics: ${metricsUrl}`];
    const { historyPath } = settings;
    const history = historyPath === undefined ? [] : [`  History: ${historyPath}`];
    const { recordPath } = settings;
    const recording = recordPath === undefined ? [] : [`  Recording: ${recordPath}`];
    const kinds = [...lines, ...metrics, ...history, ...recording];
    terminal.writeError(`${kinds.join("\n")}\n\n`);
  }

  /** A cluster may have another name than its context. */
  #explain(cluster: string): string {
    const { context, settings } = this.#parts;
    const renamed = settings.contexts.find((one) => one.startsWith(`${cluster}=`));
    const name = renamed?.slice(cluster.length + 1) ?? cluster;
    return typedCommand(context.environment.processes, `doctor --context ${name}`);
  }

  #notes(): readonly string[] {
    const { kept, screenLog } = this.#parts;
    const notes = this.#observation.notes();
    this.#recording?.tape.noted(notes);
    const dropped = this.#recording?.dropped ?? 0;
    return [
      ...notes,
      ...kept.notes(),
      ...(dropped === 0 ? [] : [`cannot write the recording: ${dropped} lines are lost`]),
      ...(screenLog?.errors ?? []),
    ];
  }
}

/** Undefined without --record. */
function recordingOf(
  { environment, settings, clusters }: WatchParts,
  { name, monotonicMs, wallMs }: ObserverRun,
  asked: WatchedRun["asked"],
): ObserverRecording | undefined {
  const { recordPath: path, recordMaxBytes: maxBytes, bounds } = settings;
  if (path === undefined) return undefined;
  const { clusters: business, accessClusters: access } = clusters;
  const all = new Map([...business, ...access].map((one) => [one.cluster, one]));
  const isIn = (list: typeof business, name: string) => list.some((one) => one.cluster === name);
  const watched = [...all.values()].map(({ cluster, aliases = [] }) => ({
    cluster,
    aliases,
    isBusiness: isIn(business, cluster),
    isAccess: isIn(access, cluster),
  }));
  const { namespaces, services } = bounds;
  return new ObserverRecording({
    ...environment,
    path,
    maxBytes,
    anonymize: settings.anonymize,
    run: {
      name,
      watched: { monotonicMs, wallMs, clusters: watched, namespaces, services, asked },
    },
  });
}
