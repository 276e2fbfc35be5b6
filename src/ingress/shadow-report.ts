// Counts the differences between truth and the published slices as they happen: endpoints that had
// left while the slices still listed them, and endpoints that could have served before the slices
// listed them. With probes, the endpoints show which was right.

import { Histogram, type Registry } from "prom-client";
import { isRouted } from "../decide/decision.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { oncePerRegistry } from "../kube/metrics-of-registry.ts";
import { clusterEndpointId } from "../sources/endpoint-id.ts";
import { probeOnce } from "../sources/probe-once.ts";
import type { Override } from "./decision-log.ts";

/** `left`: the slices still listed it; `joined`: the slices did not list it yet. */
export type ShadowKind = "left" | "joined";

export interface ShadowSummary {
  /** Since when this counts. */
  readonly forMs: number;
  readonly left: ShadowCount;
  readonly joined: ShadowCount;
  /** Undefined without probes. */
  readonly probes: ShadowProbes | undefined;
  /** The longest, longest first; those that still stand, until now. */
  readonly longest: readonly Override[];
}

/** Counts pods: a pod that drains and then dies is one, and so is one with several ports. */
export interface ShadowCount {
  /** The slices were behind about so many, or still are. */
  readonly pods: number;
  /** They still are. */
  readonly standing: number;
  /** For longer than `worthMentionMs`; like all below with those that still stand, until now. */
  readonly late: number;
  readonly longestMs: number;
  /** Of all pods together: how long requests would have gone astray, or not been served. */
  readonly totalMs: number;
}

/** Results of probes of endpoints about which slices and truth had disagreed for a while. */
export interface ShadowProbes {
  /** Left and silent: requests that followed the slices would have failed. */
  readonly leftSilent: number;
  /** Left, and still finishing: such requests would have been answered, for now. */
  readonly leftAnswered: number;
  /** Joined and answering: it could have served. */
  readonly joinedAnswered: number;
  /** Joined and silent: truth would have been wrong. */
  readonly joinedSilent: number;
  /** Not asked, because too many were in question at once. */
  readonly notAsked: number;
}

export interface ShadowReportOptions
  extends Pick<Environment, "clock" | "timers" | "network" | "log"> {
  readonly probe: boolean;
  readonly metrics: Registry;
}

/** Slices that are behind for less are the ordinary case. */
export const worthMentionMs = 1_000;

/** A summary names the worst and not all. */
const longestKept = 10;

/** A rollout of many deployments is many questions; asking all would be load of our own. */
const probesAtOnce = 10;

/** From an ordinary second to the incidents' quarter of an hour. */
const behindBuckets = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800];

const shadowMetrics = oncePerRegistry((registry) => ({
  behind: new Histogram({
    name: "lockstep_shadow_behind_seconds",
    help: "How long EndpointSlices were behind the pods, for removed and added endpoints.",
    labelNames: ["kind"] as const,
    buckets: behindBuckets,
    registers: [registry],
  }),
}));

/** By pod, how long the slices were behind about each of its endpoints. */
type PodTimes = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Those of the largest rollouts; pods beyond them are in the metrics only. */
const podsMax = 100_000;

interface Standing {
  readonly override: Override;
  readonly sinceMs: MonotonicMs;
}

export class ShadowReport {
  readonly #options: ShadowReportOptions;
  readonly #clock: Clock;
  readonly #startedAt: MonotonicMs;
  /** Of what is over; `podsMax` of each kind at the most. */
  readonly #over: Readonly<Record<ShadowKind, Map<string, Map<string, number>>>> = {
    left: new Map(),
    joined: new Map(),
  };
  /** Those that are over; at most `longestKept`. */
  #longest: readonly Override[] = [];
  /** By endpoint, those that are not over. */
  readonly #standing = new Map<string, Standing>();
  readonly #probes = {
    leftSilent: 0,
    leftAnswered: 0,
    joinedAnswered: 0,
    joinedSilent: 0,
    notAsked: 0,
  };
  readonly #stopped = new AbortController();
  /** By endpoint, those that are asked unless the slices catch up before. */
  readonly #toAsk = new Map<string, CancelTimer>();
  readonly #asking = new Set<Promise<void>>();

  constructor(options: ShadowReportOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#startedAt = options.clock.monotonicMs();
  }

  readonly begins = (override: Override): void => {
    const key = keyOf(override);
    this.#standing.set(key, { override, sinceMs: this.#clock.monotonicMs() });
    const { probe, timers } = this.#options;
    if (!probe || this.#stopped.signal.aborted) return;
    const ask = () => {
      this.#toAsk.delete(key);
      this.#ask(override);
    };
    this.#toAsk.set(key, timers.after(worthMentionMs, ask));
  };

  readonly ends = (override: Override): void => {
    const key = keyOf(override);
    this.#toAsk.get(key)?.();
    this.#toAsk.delete(key);
    this.#standing.delete(key);
    const lastedMs = override.lastedMs ?? 0;
    this.#add(override, lastedMs);
    if (lastedMs >= worthMentionMs) this.#longest = longestOf([...this.#longest, override]);
    const { behind } = shadowMetrics(this.#options.metrics);
    behind.observe({ kind: kindOf(override) }, lastedMs / 1_000);
  };

  summary(): ShadowSummary {
    const now = this.#clock.monotonicMs();
    const standing = [...this.#standing.values()].map(({ override, sinceMs }) => ({
      ...override,
      lastedMs: elapsedMs(sinceMs, now),
    }));
    const late = standing.filter(({ lastedMs }) => lastedMs >= worthMentionMs);
    return {
      forMs: elapsedMs(this.#startedAt, now),
      left: countOf(this.#over.left, standing, "left"),
      joined: countOf(this.#over.joined, standing, "joined"),
      probes: this.#options.probe ? { ...this.#probes } : undefined,
      longest: longestOf([...this.#longest, ...late]),
    };
  }

  /** Ends all probes. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the shadow was stopped"));
    for (const cancel of this.#toAsk.values()) cancel();
    this.#toAsk.clear();
    await Promise.all(this.#asking);
  }

  #add(override: Override, lastedMs: number): void {
    const pods = this.#over[kindOf(override)];
    const pod = podKey(override);
    if (!pods.has(pod) && pods.size >= podsMax) return;
    const times = pods.get(pod) ?? new Map<string, number>();
    const endpoint = endpointKey(override);
    pods.set(pod, times.set(endpoint, (times.get(endpoint) ?? 0) + lastedMs));
  }

  #ask(override: Override): void {
    if (this.#asking.size >= probesAtOnce) {
      this.#probes.notAsked += 1;
      return;
    }
    const asking = this.#probe(override).finally(() => this.#asking.delete(asking));
    this.#asking.add(asking);
  }

  async #probe(override: Override): Promise<void> {
    const { signal } = this.#stopped;
    const { endpoint, service } = override;
    try {
      const outcome = await probeOnce(this.#options, endpoint, signal);
      const isAnswered = outcome === "answered";
      if (kindOf(override) === "left")
        this.#probes[isAnswered ? "leftAnswered" : "leftSilent"] += 1;
      else this.#probes[isAnswered ? "joinedAnswered" : "joinedSilent"] += 1;
      this.#options.log.debug("probed an endpoint whose EndpointSlice differs from its pod", {
        service,
        endpoint: `${endpoint.address}:${endpoint.port}`,
        truth: endpoint.state,
        published: endpoint.published,
        outcome,
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

export function kindOf({ endpoint }: Pick<Override, "endpoint">): ShadowKind {
  return isRouted(endpoint) ? "joined" : "left";
}

function keyOf({ service, endpoint }: Override): string {
  return `${service} ${clusterEndpointId(endpoint)} ${endpoint.state}`;
}

function longestOf(overrides: readonly Override[]): readonly Override[] {
  const longestFirst = (a: Override, b: Override) => (b.lastedMs ?? 0) - (a.lastedMs ?? 0);
  return [...overrides].sort(longestFirst).slice(0, longestKept);
}

/** An open case has lasted until now, and may be the longest of all. */
function countOf(over: PodTimes, all: readonly Override[], kind: ShadowKind): ShadowCount {
  const standing = all.filter((one) => kindOf(one) === kind);
  const pods = new Map([...over].map(([pod, times]) => [pod, new Map(times)]));
  for (const override of standing) {
    const times = pods.get(podKey(override)) ?? new Map<string, number>();
    const endpoint = endpointKey(override);
    times.set(endpoint, (times.get(endpoint) ?? 0) + (override.lastedMs ?? 0));
    pods.set(podKey(override), times);
  }
  // Of a pod's ports, which are behind at the same time, the longest counts.
  const lasted = [...pods.values()].map((times) => Math.max(...times.values()));
  return {
    pods: pods.size,
    standing: new Set(standing.map(podKey)).size,
    late: lasted.filter((ms) => ms >= worthMentionMs).length,
    longestMs: lasted.reduce((longest, ms) => Math.max(longest, ms), 0),
    totalMs: lasted.reduce((sum, ms) => sum + ms, 0),
  };
}

/** An endpoint without a pod counts as one. */
function podKey({ endpoint }: Override): string {
  const { cluster, podUid } = endpoint;
  return podUid === undefined ? clusterEndpointId(endpoint) : `${cluster} ${podUid}`;
}

function endpointKey({ service, endpoint }: Override): string {
  return `${service} ${endpoint.port}`;
}
