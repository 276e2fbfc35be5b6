// How long changes take at each hop, for Prometheus. Labels are cluster, hop and direction, and on
// request service, each with a bound; never an address, a pod or a replica. A histogram shows nothing
// of a change that never arrives: the age of the oldest pending one stands beside it, and beside that
// how old the observer's own knowledge is. docs/metrics.md names all of it.
import type { Registry } from "prom-client";
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";
import { isFirstReported } from "../timeline/first-reported.ts";
import { hasExactOrigin, type Journey, type Outcome } from "../timeline/journey.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import type { Timeline } from "../timeline/timeline.ts";
import { type Direction, type Hop, hops } from "../timeline/witness.ts";
import {
  createInstruments,
  type Instruments,
  type Place,
  type WatchAge,
} from "./journey-instruments.ts";
import { LabelBound, otherValues } from "./label-bound.ts";

export interface JourneyMetricsOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  /** How many services may have series of their own; 0, and no such label, unless given. */
  readonly serviceLabelsMax?: number;
}

/** The source of the values at every scrape; an `Observer` is one. */
export interface MeasuredObserver {
  readonly journeys: Pick<Timeline, "counts" | "oldestPending">;
  clusters?(): readonly MeasuredCluster[];
}

export interface MeasuredCluster {
  readonly cluster: string;
  /** None while it has not been asked what it offers. */
  readonly watches: readonly MeasuredWatch[];
}

export interface MeasuredWatch {
  /** Several watches of one resource count as one, as old as the oldest. */
  readonly resource: string;
  readonly state: "fresh" | "stale" | "refused";
  /** Everything that was true at this instant has been seen; undefined before the first list. */
  readonly currentAtMs: MonotonicMs | undefined;
}

/** An empty label is as good as none to Prometheus. */
const unknownCluster = "unknown";

/** Stands for the watches of a cluster of which none could be opened yet. */
const everyWatch = "all";

const directions: readonly Direction[] = ["join", "leave"];

const requestResults = ["answered", "failed"] as const;

const outcomes: readonly Outcome[] = [
  "complete",
  "superseded",
  "withdrawn",
  "abandoned",
  "dropped",
];

export class JourneyMetrics {
  readonly #instruments: Instruments;
  readonly #clock: Clock;
  /** By cluster and service together. */
  readonly #services: LabelBound | undefined;

  constructor({ registry, clock, serviceLabelsMax = 0 }: JourneyMetricsOptions) {
    this.#clock = clock;
    this.#services = serviceLabelsMax > 0 ? new LabelBound(serviceLabelsMax) : undefined;
    this.#instruments = this.#services === undefined ? plain(registry) : byService(registry);
  }

  /** For `JourneysOptions.onEvent`. */
  readonly onEvent = (event: JourneyEvent): void => {
    const { journey } = event;
    const labels = this.#labelsOf(journey);
    const { lag, intervalLags, stuck, over, shownHops } = this.#instruments;
    switch (event.type) {
      case "found":
        break;
      case "shown": {
        const { hop, state } = event.hop;
        if (state.type !== "shown") return;
        this.#beginHop(hop);
        shownHops.add(labels.cluster, hop, labels.direction);
        // An inexact hop of an exact origin counts as late as it can have been.
        const isKnown = hasExactOrigin(journey) && !isFirstReported(journey, event.hop);
        if (isKnown) lag.observe({ ...labels, hop }, state.lagMs / 1_000);
        else intervalLags.inc({ ...labels, hop });
        break;
      }
      case "stuck":
        shownHops.add(labels.cluster, event.hop.hop, labels.direction);
        stuck.inc({ ...labels, hop: event.hop.hop });
        break;
      case "over":
        over.inc({ ...labels, outcome: journey.outcome });
        this.#countRequests(journey, labels.cluster);
        break;
    }
  };

  /** Shows the ages and counts of these until the returned function is called. */
  measure(observer: MeasuredObserver): () => void {
    const measured = {
      counts: () => observer.journeys.counts,
      oldestPending: () =>
        observer.journeys
          .oldestPending(this.#clock.monotonicMs())
          .map((one) => ({ ...one, cluster: this.#clusterOf(one.cluster) })),
      watchAges: () => (observer.clusters?.() ?? []).flatMap((one) => this.#agesOf(one)),
    };
    this.#instruments.measured.add(measured);
    return () => void this.#instruments.measured.delete(measured);
  }

  #countRequests({ traffic }: Journey, cluster: string): void {
    if (traffic === undefined) return;
    const { requests } = this.#instruments;
    requests.inc({ cluster, result: "answered" }, traffic.requests - traffic.failed);
    requests.inc({ cluster, result: "failed" }, traffic.failed);
  }

  /** A watch that is refused and never was allowed is not stale: its hop has no source. */
  #agesOf({ cluster: named, watches }: MeasuredCluster): readonly WatchAge[] {
    const now = this.#clock.monotonicMs();
    const cluster = this.#clusterOf(named);
    if (this.#services === undefined) this.#begin({ cluster });
    const counted = watches.filter(
      ({ state, currentAtMs }) => state !== "refused" || currentAtMs !== undefined,
    );
    if (counted.length === 0) return [{ cluster, watch: everyWatch, ageMs: Infinity }];
    return counted.map(({ resource, currentAtMs }) => ({
      cluster,
      watch: resource,
      ageMs: currentAtMs === undefined ? Infinity : elapsedMs(currentAtMs, now),
    }));
  }

  #labelsOf({ endpoint, direction }: Journey) {
    const place = this.#placeOf(endpoint.cluster ?? "", endpoint.service);
    this.#begin(place);
    return { ...place, direction };
  }

  /** A proxy may report an address that no cluster has reported. */
  #clusterOf(named: string): string {
    return named === "" ? unknownCluster : this.#instruments.clusters.of(named);
  }

  #placeOf(namedCluster: string, service: string): Place {
    const cluster = this.#clusterOf(namedCluster);
    if (this.#services === undefined) return { cluster };
    const isShown = this.#services.of(`${cluster} ${service}`) !== otherValues;
    return { cluster, service: isShown ? service : otherValues };
  }

  /**
   * A series that appears with its first count hides that count from `rate()` and `increase()`. So
   * all series of a place exist from its first report.
   */
  #begin(place: Place): void {
    const { stuck, over, begun, measuredHops } = this.#instruments;
    const key = `${place.cluster} ${place.service ?? ""}`;
    if (begun.has(key)) return;
    begun.set(key, place);
    if (measuredHops.has("traffic")) this.#beginRequests(place);
    for (const hop of measuredHops) this.#beginLags(place, hop);
    for (const direction of directions) {
      for (const hop of hops) stuck.inc({ ...place, hop, direction }, 0);
      for (const outcome of outcomes) over.inc({ ...place, direction, outcome }, 0);
    }
  }

  #beginHop(hop: Hop): void {
    const { begun, measuredHops } = this.#instruments;
    if (measuredHops.has(hop)) return;
    measuredHops.add(hop);
    for (const place of begun.values()) {
      this.#beginLags(place, hop);
      if (hop === "traffic") this.#beginRequests(place);
    }
  }

  #beginLags(place: Place, hop: Hop): void {
    const { lag, intervalLags } = this.#instruments;
    for (const direction of directions) {
      lag.zero({ ...place, hop, direction });
      intervalLags.inc({ ...place, hop, direction }, 0);
    }
  }

  /** Not before an access log has reported some: zero failures differ from an unknown number. */
  #beginRequests({ cluster }: Place): void {
    for (const result of requestResults) this.#instruments.requests.inc({ cluster, result }, 0);
  }
}

const plain = oncePerRegistry((registry) => createInstruments(registry, []));

const byService = oncePerRegistry((registry) => createInstruments(registry, ["service"]));
