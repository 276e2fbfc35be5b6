// Runs `lockstep serve`: the sources of `lockstep watch` and the page instead of a screen. It ends at a
// stop signal. It only reads from clusters.
import { HistoryError } from "../../../history/history-error.ts";
import { HistoryReader } from "../../../history/history-reader.ts";
import { parseJson } from "../../../kube/client/client.ts";
import { isRecord } from "../../../kube/kinds/fields.ts";
import type { ObservedCluster } from "../../../observe/observer.ts";
import type { Replica } from "../../../server/api.ts";
import { ControlPlaneWatch } from "../../../server/control-plane-watch.ts";
import { LivePageDoctor } from "../../../server/page-doctor.ts";
import type { PageSource } from "../../../server/page-source.ts";
import { replicaDecision } from "../../../server/replica-decision.ts";
import { wallAt } from "../../../timeline/journey-record.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import { errorsOnly } from "../../quiet-log.ts";
import { watchedClusters } from "../../watched-clusters.ts";
import { KeptJourneys } from "../watch/kept-journeys.ts";
import { Observation, type ObservationParts } from "../watch/observation.ts";
import { RunClock } from "../watch/run-clock.ts";
import type { SourceSettings } from "../watch/settings.ts";
import { refuseMissingLogs } from "../watch/sources.ts";
import { fixEffects } from "../whatif/fix-effect.ts";
import type { ServeFlags } from "./command.ts";
import { type StartedPage, startPage } from "./page.ts";

export async function runServe(
  context: CommandContext,
  flags: ServeFlags,
  settings: SourceSettings,
): Promise<ExitCode> {
  const environment = { ...context.environment, log: errorsOnly(context.environment.log) };
  await refuseMissingLogs(environment, settings);
  const clusters = await watchedClusters(
    environment,
    { ...settings, userAgent: "lockstep-serve" },
    context.stop,
  );
  const kept = await KeptJourneys.open({ environment, ...settings, ...noExport });
  try {
    const serving = new Serving({ context, environment, flags, settings, clusters, kept });
    try {
      await serving.run();
      return 0;
    } finally {
      await serving.stop();
    }
  } finally {
    await kept.close();
  }
}

/** Metrics and traces are for `lockstep watch`. */
const noExport = {
  otlp: undefined,
  metricsPort: undefined,
  metricsAddress: "",
  metricsHosts: [],
  serviceLabels: 0,
} as const;

interface ServingParts extends ObservationParts {
  readonly flags: ServeFlags;
}

const versionWithinMs = 30_000;

class Serving {
  readonly #parts: ServingParts;
  readonly #observation: Observation;
  readonly #run: RunClock;
  readonly #doctor: LivePageDoctor;
  readonly #controlPlanes: readonly ControlPlaneWatch[];
  /** Of Kubernetes, by cluster. */
  readonly #versions = new Map<string, string>();
  #page: StartedPage | undefined;
  #history: HistoryReader | undefined;

  constructor(parts: ServingParts) {
    this.#parts = parts;
    const { environment, settings, clusters } = parts;
    this.#observation = new Observation({
      ...parts,
      onEvent: (event) => this.#page?.server.onEvent(event),
    });
    this.#run = new RunClock({ ...environment, run: this.#observation.observer.run });
    this.#doctor = new LivePageDoctor({
      ...environment,
      clusters: clusters.clusters,
      maxQps: settings.bounds.maxQps,
      predict: fixEffects(environment),
      journeys: (cluster) => this.#journeysOf(cluster),
      onChange: () => this.#page?.server.notify("doctor"),
    });
    this.#controlPlanes = clusters.clusters.map((one) => this.#watchControlPlane(one));
  }

  #watchControlPlane({ cluster, client }: ObservedCluster): ControlPlaneWatch {
    const { environment, flags, clusters } = this.#parts;
    const names = new Set(clusters.clusters.map((one) => one.cluster));
    const metricsUrls = flags.metrics.flatMap(({ cluster: of, url }) => {
      const isOwn = of === undefined ? clusters.clusters[0]?.cluster === cluster : of === cluster;
      return isOwn ? [url] : [];
    });
    const unknown = flags.metrics.find(({ cluster: of }) => of !== undefined && !names.has(of));
    if (unknown !== undefined) {
      throw new UsageError(`--metrics names the cluster ${unknown.cluster}, which is not watched.`);
    }
    const version = () => this.#versions.get(cluster);
    return new ControlPlaneWatch({ ...environment, cluster, client, version, metricsUrls });
  }

  /** Resolves when it is stopped. */
  async run(): Promise<void> {
    const { context, flags, settings, kept, clusters, environment } = this.#parts;
    const { historyPath: path } = settings;
    const { terminal, stop } = context;
    await kept.follow(this.#observation.observer, this.#run);
    if (path !== undefined) {
      const { files } = environment;
      this.#history = await asUsage([HistoryError], () => HistoryReader.open({ files, path }));
    }
    const source = this.#source();
    this.#page = await startPage(context, flags, {
      source,
      doctor: this.#doctor,
      history: this.#history,
    });
    const names = this.#observation.observer.clusters().map(({ cluster }) => cluster);
    for (const sentence of clusters.leftOut) terminal.writeError(`! ${sentence}\n`);
    terminal.write(`Page: ${this.#page.address}\n`);
    terminal.writeError(`Reads ${names.join(", ")}; writes nothing there. Ctrl-C stops.\n`);
    this.#observation.start();
    for (const one of this.#controlPlanes) one.start();
    await Promise.all([aborted(stop), ...clusters.clusters.map((one) => this.#readVersion(one))]);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#page?.server.stop();
    await this.#doctor.stop();
    await Promise.all(this.#controlPlanes.map((one) => one.stop()));
    await this.#observation.stop();
    this.#history?.close();
  }

  #source(): PageSource {
    const { environment, clusters, settings } = this.#parts;
    const { clock } = environment;
    const observer = this.#observation.observer;
    const followed = {
      journeys: observer.journeys,
      clusters: () => observer.clusters(),
      run: this.#run,
    };
    return {
      clock,
      timers: environment.timers,
      mode: "clusters",
      observer: () => {
        this.#run.follow();
        return followed;
      },
      hasAccessLogs: settings.accessLogs.length > 0,
      // Without the flag copies are looked for in every cluster, and none is for access.
      accessClusters: () =>
        settings.accessContexts.length === 0
          ? []
          : clusters.accessClusters.map(({ cluster }) => cluster),
      servers: (name) => this.#serverOf(name),
      replicas: () => this.#replicas(),
      notes: () => [...this.#observation.notes(), ...this.#parts.kept.notes()],
      controlPlane: () => {
        const charts = this.#controlPlanes.map((one) => one.charts());
        return {
          series: charts.flatMap(({ series }) => series),
          missing: charts.flatMap(({ missing }) => missing),
        };
      },
      decision: (service, signal) => this.#decision(service, signal),
    };
  }

  /** Once; a cluster that does not answer shows no version. */
  async #readVersion({ cluster, client }: ObservedCluster): Promise<void> {
    const { stop: signal } = this.#parts.context;
    const deadlineMs = versionWithinMs;
    try {
      const request = { verb: "get", method: "GET", path: "/version", deadlineMs, signal } as const;
      const version = parseJson(await client.request(request));
      const { gitVersion } = isRecord(version) ? version : {};
      if (typeof gitVersion === "string") this.#versions.set(cluster, gitVersion);
    } catch (error) {
      this.#parts.environment.log.debug("the version of a cluster is not known", {
        cluster,
        error,
      });
    }
  }

  /** The API server that the kubeconfig names; there may be others behind it. */
  #serverOf(name: string) {
    const address = this.#parts.clusters.servers.get(name);
    const version = this.#versions.get(name) ?? null;
    if (address === undefined) return { version, apiServers: [] };
    const state = this.#observation.observer
      .clusters()
      .find(({ cluster }) => cluster === name)?.state;
    const isUp =
      state?.type === "watching" || state?.type === "listing" || state?.type === "refused";
    const isDown = state?.type === "unreachable";
    return {
      version,
      apiServers: [
        {
          address,
          state: isUp ? ("up" as const) : isDown ? ("down" as const) : ("unknown" as const),
          detail: isDown ? state.detail : null,
        },
      ],
    };
  }

  #replicas(): readonly Replica[] {
    return this.#observation.proxies.all().map(({ status }) => ({
      name: status.name,
      kind: status.kind ?? "other",
      state:
        status.state === "connected"
          ? "connected"
          : status.state === "lost"
            ? "down"
            : "connecting",
      reportedAt: status.answeredAt === undefined ? null : wallAt(status.answeredAt, this.#run),
      problem: status.problem ?? null,
    }));
  }

  /** Of the first Lockstep replica that answers: all of them decide alike. */
  async #decision(service: string, signal: AbortSignal) {
    const lockstep = this.#observation.proxies.all().find(({ status }) => {
      return status.kind === "lockstep" && status.state === "connected";
    });
    if (lockstep === undefined) return undefined;
    return await replicaDecision(lockstep.ask, service, signal);
  }

  #journeysOf(cluster: string) {
    const { journeys } = this.#page?.server.model ?? {};
    const all = journeys === undefined ? [] : [...journeys.over, ...journeys.pending];
    return all.filter(({ endpoint }) => endpoint.cluster === cluster);
  }
}
