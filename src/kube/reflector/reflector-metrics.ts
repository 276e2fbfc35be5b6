// The metrics of a reflector, labelled by cluster and resource. Ages are computed at each scrape: a
// gauge set by events would stop exactly when it matters.
import { Counter, Gauge, type Registry } from "prom-client";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import { oncePerRegistry } from "../metrics-of-registry.ts";
import type { FreshnessTracker } from "./freshness.ts";

export interface SourceLabels {
  readonly cluster: string;
  readonly resource: string;
}

/** The values that the gauges read at each scrape. */
export interface MeasuredSource {
  readonly labels: SourceLabels;
  readonly clock: Clock;
  readonly freshness: FreshnessTracker;
}

const labelNames = ["cluster", "resource"] as const;

export type ReflectorMetrics = ReturnType<typeof createMetrics>;

/** The metrics in this registry, shared by all its reflectors. */
export const reflectorMetrics = oncePerRegistry(createMetrics);

function createMetrics(registry: Registry) {
  const sources = new Set<MeasuredSource>();
  createGauges(registry, sources);
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const counterBy = <L extends string>(label: L, name: string, help: string) =>
    new Counter({ name, help, labelNames: [...labelNames, label], registers: [registry] });
  return {
    /** Running reflectors add themselves, and leave when they stop. */
    sources,
    lists: counter("lockstep_reflector_lists_total", "Lists that were completed."),
    pages: counter("lockstep_reflector_list_pages_total", "Pages of lists that were read."),
    relists: counterBy(
      "reason",
      "lockstep_reflector_relists_total",
      "Relists after the first list, by reason.",
    ),
    watches: counter("lockstep_reflector_watches_total", "Watches that the server accepted."),
    events: counterBy(
      "type",
      "lockstep_reflector_events_total",
      "Watch events that arrived, bookmarks included.",
    ),
    bytes: counter("lockstep_reflector_received_bytes_total", "Bytes of lists and watches."),
    decodeSeconds: counter(
      "lockstep_reflector_decode_seconds_total",
      "Time spent on decoding, converting, storing and delivering.",
    ),
    handlerFailures: counter(
      "lockstep_reflector_handler_failures_total",
      "Changes on which a handler failed.",
    ),
    malformed: counter(
      "lockstep_reflector_malformed_objects_total",
      "Malformed objects that were skipped.",
    ),
    doubtedLists: counter(
      "lockstep_reflector_doubted_lists_total",
      "Lists without half or more of the known objects; they were not applied.",
    ),
    quorumReads: counterBy(
      "result",
      "lockstep_reflector_quorum_reads_total",
      "Quorum reads that check if the watch is up to date, by result.",
    ),
  };
}

function createGauges(registry: Registry, sources: ReadonlySet<MeasuredSource>): void {
  const gauge = (
    name: string,
    help: string,
    measure: (source: MeasuredSource) => number | undefined,
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const source of sources) {
          const value = measure(source);
          if (value !== undefined) {
            this.set({ ...source.labels }, value);
          }
        }
      },
    });
  gauge("lockstep_reflector_fresh", "1 while the source is fresh.", ({ freshness }) =>
    freshness.freshness().fresh ? 1 : 0,
  );
  gauge(
    "lockstep_reflector_last_event_age_seconds",
    "Time since the last event or bookmark.",
    ({ freshness, clock }) => ageSeconds(clock, freshness.eventAt),
  );
  gauge(
    "lockstep_reflector_current_age_seconds",
    "Time since the source was last known to be up to date.",
    ({ freshness, clock }) => ageSeconds(clock, freshness.freshness().currentAtMs),
  );
  gauge(
    "lockstep_reflector_doubted_objects",
    "Known objects missing in the last list, kept until more lists agree.",
    ({ freshness: { doubt } }) => (doubt === undefined ? 0 : doubt.known - doubt.listed),
  );
}

/** Undefined, and so not shown, while there is nothing to measure from. */
function ageSeconds(clock: Clock, instant: MonotonicMs | undefined): number | undefined {
  return instant === undefined ? undefined : elapsedMs(instant, clock.monotonicMs()) / 1000;
}
