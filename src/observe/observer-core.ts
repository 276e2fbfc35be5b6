// The observer without its watches: takes in what witnesses report and folds it into journeys. It has
// no clients and no timers, so the same core runs beside clusters and on a recording of them.
import type { Clock, MonotonicMs } from "../environment/clock.ts";
import type { Log } from "../environment/log.ts";
import type { EarlierChange } from "../timeline/earlier-changes.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import type { JourneyLimits } from "../timeline/journey-limits.ts";
import type { ObserverRun } from "../timeline/journey-record.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import { Timeline } from "../timeline/timeline.ts";
import type { Hop, TrafficReport } from "../timeline/witness.ts";
import { CopyMatches } from "./copy-matches.ts";
import { type RoutedEndpoint, type RoutedInput, RoutedWitness } from "./routed-witness.ts";
import { type ServiceBounds, ServiceFilter } from "./service-filter.ts";

export interface ObserverCoreOptions extends ServiceBounds {
  readonly clock: Clock;
  readonly log: Pick<Log, "info">;
  readonly run: ObserverRun;
  /** The names of the clusters in which pods run and are published. */
  readonly clusters: readonly string[];
  /** The watermark of a hop of a cluster; undefined where no watch reports it. */
  readonly watermark: (cluster: string, hop: Hop, service: string) => MonotonicMs | undefined;
  /** Called synchronously with every step of every journey. */
  readonly onEvent: (event: JourneyEvent) => void;
  readonly limits?: JourneyLimits | undefined;
}

export class ObserverCore {
  readonly #clock: Clock;
  readonly #timeline: Timeline;
  readonly #copyMatches: CopyMatches;
  readonly #sink: ServiceFilter;

  constructor(options: ObserverCoreOptions) {
    const { clock, log, onEvent, limits, run, watermark } = options;
    this.#clock = clock;
    this.#timeline = new Timeline({
      onEvent,
      watermark: ({ hop, name }, service) => watermark(name, hop, service),
      anchor: run,
      observesClusters: options.clusters.length > 0,
      ...limits,
    });
    this.#copyMatches = new CopyMatches({
      clock,
      log,
      sink: this.#timeline,
      clusters: new Set(options.clusters),
      locate: (endpoint) => this.#timeline.locate(endpoint),
      isService: (service) => this.#timeline.isService(service),
      hasEndpoints: (service) => this.#timeline.hasEndpoints(service),
    });
    this.#sink = new ServiceFilter(this.#copyMatches, options);
  }

  get journeys(): Pick<
    Timeline,
    | "counts"
    | "requestCounts"
    | "oldestPending"
    | "pending"
    | "clockSkew"
    | "endpointsOf"
    | "services"
  > {
    return this.#timeline;
  }

  /** Changes that an earlier run left in flight; to be called before anything is reported. */
  remember(changes: readonly EarlierChange[]): void {
    this.#timeline.remember(changes);
  }

  /** Where witnesses report to. */
  get sink(): ObservationSink {
    return this.#sink;
  }

  /** Whether some cluster has this service: names in proxies and logs can mean several. */
  isService(service: string): boolean {
    return this.#timeline.isService(service);
  }

  /** The services that have an endpoint there: a proxy may name a backend as it likes. */
  servicesAt(endpoint: RoutedEndpoint): readonly string[] {
    return this.#timeline.servicesAt(endpoint);
  }

  /** A proxy replica joins the witnesses. */
  replica(name: string, onInput?: (input: RoutedInput) => void): RoutedWitness {
    return new RoutedWitness({ replica: name, sink: this.#sink, ...(onInput && { onInput }) });
  }

  /** A request was sent to an address, as a proxy or its access log tells. */
  traffic(report: TrafficReport): void {
    if (report.service !== undefined && !this.#sink.has(report.service)) return;
    this.#timeline.traffic(report);
  }

  /** Time has passed: to be called every second or so, after the watches have been looked at. */
  look(): void {
    this.#copyMatches.look();
    this.#timeline.advance(this.#clock.monotonicMs());
  }

  /** Nothing more will be reported. */
  end(): void {
    this.#timeline.end(this.#clock.monotonicMs());
  }
}
