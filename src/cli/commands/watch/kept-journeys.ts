// Keeps changes besides the view: history, traces, metrics. Each is opened before the observation
// starts, so that a problem is reported at once, and closed at its end.
import { Registry } from "prom-client";
import type { Environment } from "../../../environment/environment.ts";
import type { Listener } from "../../../environment/network.ts";
import { History } from "../../../history/history.ts";
import { HistoryError } from "../../../history/history-error.ts";
import type { StartHistoryThread } from "../../../history/history-port.ts";
import type { Retention } from "../../../history/history-retention.ts";
import type { Observer } from "../../../observe/observer.ts";
import { historyMetrics } from "../../../telemetry/history-metrics.ts";
import { JourneyMetrics } from "../../../telemetry/journey-metrics.ts";
import { OtlpExporter } from "../../../telemetry/otlp-exporter.ts";
import { OtlpTargetError, otlpTarget } from "../../../telemetry/otlp-target.ts";
import { type ShownReadiness, startStatusListener } from "../../../telemetry/status-listener.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import {
  type JourneyRecord,
  journeyRecord,
  type ObserverRun,
} from "../../../timeline/journey-record.ts";
import { asUsage, throwAsUsage } from "../../flags.ts";
import { namingPortFlags } from "../../taken-port.ts";
import { hostAndPort } from "../ingress/host-and-port.ts";

export interface KeepOptions {
  readonly environment: Environment;
  readonly historyPath: string | undefined;
  readonly retention: Partial<Retention>;
  readonly otlp: string | undefined;
  /** Undefined: no listener. */
  readonly metricsPort: number | undefined;
  readonly metricsAddress: string;
  readonly metricsHosts: readonly string[];
  readonly serviceLabels: number;
  /** Default: the thread of the history. */
  readonly startThread?: StartHistoryThread;
}

export class KeptJourneys {
  readonly #options: KeepOptions;
  readonly registry = new Registry();
  readonly #metrics: JourneyMetrics;
  #history: History | undefined;
  #exporter: OtlpExporter | undefined;
  #listener: Listener | undefined;
  #run: ObserverRun | undefined;

  private constructor(options: KeepOptions) {
    this.#options = options;
    const { serviceLabels: serviceLabelsMax, environment } = options;
    const { clock } = environment;
    this.#metrics = new JourneyMetrics({ registry: this.registry, clock, serviceLabelsMax });
  }

  /** Rejects with a `UsageError` for a wrong file or address. */
  static async open(options: KeepOptions): Promise<KeptJourneys> {
    const kept = new KeptJourneys(options);
    const { historyPath: path, environment, retention, startThread } = options;
    // A wrong address is refused before a file is created.
    kept.#target();
    if (path !== undefined) {
      const place = { ...environment, path, retention, ...(startThread && { startThread }) };
      kept.#history = await asUsage([HistoryError], () => History.open(place));
      historyMetrics(kept.registry).add(kept.#history);
    }
    return kept;
  }

  /** Changes that were in flight when an earlier run ended. */
  get earlier(): readonly JourneyRecord[] {
    return this.#history?.left ?? [];
  }

  readonly onEvent = (event: JourneyEvent): void => {
    this.#metrics.onEvent(event);
    this.#exporter?.onEvent(event);
    if (event.type !== "shown") this.#keep(event.journey);
  };

  /** Changes in flight at the end; their result stays unknown. */
  keepInFlight(journeys: readonly Journey[]): void {
    for (const journey of journeys) this.#keep(journey);
  }

  /** The observer is created with `onEvent` of this object. */
  async follow(observer: Observer, run: ObserverRun): Promise<void> {
    const { environment, metricsPort, metricsAddress, metricsHosts } = this.#options;
    this.#run = run;
    this.#metrics.measure(observer);
    const target = this.#target();
    if (target !== undefined) {
      const { registry: metrics } = this;
      this.#exporter = new OtlpExporter({ ...environment, target, run, metrics });
    }
    if (metricsPort === undefined) return;
    const flags = [{ flag: "--metrics-port", port: metricsPort }];
    this.#listener = await namingPortFlags(environment, flags, () =>
      startStatusListener({
        network: environment.network,
        host: metricsAddress,
        hostNames: metricsHosts,
        port: metricsPort,
        metrics: this.registry,
        readiness: () => readinessOf(observer),
      }),
    );
  }

  /** The URL of the metrics. */
  get metricsUrl(): string | undefined {
    const { metricsAddress } = this.#options;
    if (this.#listener === undefined) return undefined;
    return `http://${hostAndPort(metricsAddress, this.#listener.port)}/metrics`;
  }

  /** Problems to show now. */
  notes(): readonly string[] {
    const history = this.#history;
    if (history?.trouble === undefined) return [];
    const { trouble, waiting, counts } = history;
    const lost = `${waiting + counts.dropped} of ${counts.added} records are not saved`;
    return [`cannot write the history: ${trouble}; ${lost}`];
  }

  /** Writes and sends what is pending. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#history?.close(), this.#exporter?.stop(), this.#listener?.close()]);
  }

  #keep(journey: Journey): void {
    if (this.#run !== undefined) this.#history?.add(journeyRecord(journey, this.#run));
  }

  #target() {
    const { otlp, environment } = this.#options;
    try {
      return otlpTarget(otlp, environment.processes.variables);
    } catch (error) {
      return throwAsUsage([OtlpTargetError], error);
    }
  }
}

/** Ready when one cluster is watched; metrics show the others. */
function readinessOf(observer: Observer): ShownReadiness {
  const clusters = observer.clusters();
  const isHeard = clusters.some(({ state }) => state.type === "watching");
  return {
    problem: isHeard ? undefined : "no cluster is watched yet",
    notes: clusters.flatMap(({ cluster, state, doubts }) => [
      ...(state.type === "watching" ? [] : [`${cluster}: ${state.type}`]),
      ...doubts,
    ]),
  };
}
