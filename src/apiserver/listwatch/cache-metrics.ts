// The metrics of watch caches and watches under the names of real API servers, so that dashboards
// and the doctor can read them. Events are counted in plain numbers, which the registry reads when
// it is scraped: a hundred watchers make a hundred counts.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";
import type { ResourceNames } from "./resource-names.ts";

/** Counted by one resource of the servers that share a registry. */
export interface CacheTally {
  eventsReceived: number;
  eventsDispatched: number;
  eventsSent: number;
  initialEvents: number;
  initializations: number;
  terminatedWatchers: number;
  revision: number;
}

export function emptyTally(): CacheTally {
  return {
    eventsReceived: 0,
    eventsDispatched: 0,
    eventsSent: 0,
    initialEvents: 0,
    initializations: 0,
    terminatedWatchers: 0,
    revision: 0,
  };
}

export interface CacheMetrics {
  tally(names: ResourceNames): CacheTally;
  readonly readWaitSeconds: Histogram<"group" | "resource">;
  readonly consistentReads: Counter<"group" | "resource" | "success" | "fallback">;
}

export const cacheMetrics = oncePerRegistry(makeMetrics);

interface Tallied {
  readonly names: ResourceNames;
  readonly tally: CacheTally;
}

function makeMetrics(registry: Registry): CacheMetrics {
  const tallies = new Map<string, Tallied>();
  const registers = [registry];
  for (const { name, help, read } of talliedCounters) {
    new Counter({
      name,
      help,
      registers,
      labelNames: ["group", "resource"],
      collect() {
        this.reset();
        for (const { names, tally } of tallies.values()) this.inc(labels(names), read(tally));
      },
    });
  }
  new Counter({
    name: "apiserver_watch_events_total",
    help: "Number of events sent in watch clients",
    registers,
    labelNames: ["group", "version", "resource"],
    collect() {
      this.reset();
      for (const { names, tally } of tallies.values()) {
        this.inc({ ...labels(names), version: names.version }, tally.eventsSent);
      }
    },
  });
  new Gauge({
    name: "apiserver_watch_cache_resource_version",
    help: "Current resource version of watch cache broken by resource type.",
    registers,
    labelNames: ["group", "resource"],
    collect() {
      for (const { names, tally } of tallies.values()) this.set(labels(names), tally.revision);
    },
  });
  return {
    tally: (names) => tallyOf(tallies, names),
    readWaitSeconds: new Histogram({
      name: "apiserver_watch_cache_read_wait_seconds",
      help: "Histogram of time spent waiting for a watch cache to become fresh.",
      registers,
      labelNames: ["group", "resource"],
      buckets: [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3],
    }),
    consistentReads: new Counter({
      name: "apiserver_watch_cache_consistent_read_total",
      help: "Counter for consistent reads from cache.",
      registers,
      labelNames: ["group", "resource", "success", "fallback"],
    }),
  };
}

const talliedCounters: readonly {
  readonly name: string;
  readonly help: string;
  readonly read: (tally: CacheTally) => number;
}[] = [
  {
    name: "apiserver_watch_cache_events_received_total",
    help: "Counter of events received in watch cache broken by resource type.",
    read: (tally) => tally.eventsReceived,
  },
  {
    name: "apiserver_watch_cache_events_dispatched_total",
    help: "Counter of events dispatched in watch cache broken by resource type.",
    read: (tally) => tally.eventsDispatched,
  },
  {
    name: "apiserver_init_events_total",
    help: "Counter of init events processed in watch cache broken by resource type.",
    read: (tally) => tally.initialEvents,
  },
  {
    name: "apiserver_watch_cache_initializations_total",
    help: "Counter of watch cache initializations broken by resource type.",
    read: (tally) => tally.initializations,
  },
  {
    name: "apiserver_terminated_watchers_total",
    help: "Counter of watchers closed due to unresponsiveness broken by resource type.",
    read: (tally) => tally.terminatedWatchers,
  },
];

function tallyOf(tallies: Map<string, Tallied>, names: ResourceNames): CacheTally {
  const key = `${names.group}/${names.version}/${names.resource}`;
  const known = tallies.get(key);
  if (known !== undefined) return known.tally;
  const tally = emptyTally();
  tallies.set(key, { names, tally });
  return tally;
}

function labels(names: ResourceNames): { group: string; resource: string } {
  return { group: names.group, resource: names.resource };
}
