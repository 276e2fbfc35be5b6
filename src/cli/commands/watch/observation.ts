// One run of an observer with its proxies, access logs and kept journeys, as `lockstep watch` and `serve`
// have it: in which order an event reaches them, and in which order they stop.
import type { Environment } from "../../../environment/environment.ts";
import { Observer, type ObserverOptions } from "../../../observe/observer.ts";
import type { TrafficInput } from "../../../observe/traffic/traffic-witness.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { CommandContext } from "../../command.ts";
import type { WatchedClusters } from "../../watched-clusters.ts";
import type { KeptJourneys } from "./kept-journeys.ts";
import type { SourceSettings } from "./settings.ts";
import { AskedProxies, FollowedLogs } from "./sources.ts";

export interface ObservationParts {
  readonly context: CommandContext;
  readonly environment: Environment;
  readonly settings: SourceSettings;
  readonly clusters: WatchedClusters;
  readonly kept: KeptJourneys;
}

interface ObservationOptions
  extends ObservationParts,
    Pick<ObserverOptions, "run" | "tap" | "metrics" | "onEvent"> {
  /** Called with each input from a log and the name of the log. */
  readonly onInput?: (name: string, input: TrafficInput) => void;
}

export class Observation {
  readonly observer: Observer;
  readonly proxies: AskedProxies;
  readonly #options: ObservationOptions;
  readonly #logs: FollowedLogs;
  /** Later events are ignored. */
  #isOver = false;

  /** Throws a `UsageError` for an invalid proxy or log. */
  constructor(options: ObservationOptions) {
    this.#options = options;
    const { context, environment, settings, clusters, kept, run, tap, metrics, onInput } = options;
    this.observer = new Observer({
      ...environment,
      ...clusters,
      ...settings.bounds,
      ...(run && { run }),
      ...(tap && { tap }),
      ...(metrics && { metrics }),
      earlier: kept.earlier,
      onEvent: (event) => this.#onEvent(event),
    });
    this.proxies = new AskedProxies({
      environment,
      observer: this.observer,
      proxies: settings.proxies,
      clusters: clusters.clusters.map(({ cluster }) => cluster),
      namespaces: settings.bounds.namespaces,
    });
    this.#logs = new FollowedLogs({
      ...settings,
      environment,
      stdin: context.stdin,
      target: this.observer,
      clusters: clusters.clusters,
      ...(onInput && { onInput }),
    });
  }

  start(): void {
    this.observer.start();
    this.proxies.start();
    this.#logs.start();
  }

  /** Problems that make a hop unknown. */
  notes(): readonly string[] {
    return [...this.proxies.notes(), ...this.#logs.notes()];
  }

  /**
   * Idempotent. Logs stop first, because no more requests are needed. Proxies stop last: a proxy
   * that is no longer read must not look as if it had shown its pending changes.
   */
  async stop(): Promise<void> {
    await this.#logs.stop();
    await this.observer.stop();
    this.#leaveInFlight();
    await this.proxies.stop();
  }

  #leaveInFlight(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.kept.keepInFlight(this.observer.journeys.pending());
  }

  #onEvent(event: JourneyEvent): void {
    if (this.#isOver) return;
    this.#logs.onEvent(event);
    this.#options.kept.onEvent(event);
    this.#options.onEvent(event);
  }
}
