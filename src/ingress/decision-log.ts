// The decision log: every time truth overrides the published slices, and for how long. It is what
// people look at before they believe it, so it can be read without a log file.

import type { TruthEndpoint } from "../decide/truth/judged.ts";
import { believeTraffic } from "../decide/truth/rules/believe-traffic.ts";
import { overridesSlices } from "../decide/truth/truth.ts";
import { type Clock, elapsedMs, type MonotonicMs, type WallMs } from "../environment/clock.ts";
import type { Log } from "../environment/log.ts";
import { clusterEndpointId } from "../sources/endpoint-id.ts";
import type { TruthChange } from "./decisions.ts";

export interface Override {
  readonly service: string;
  readonly endpoint: TruthEndpoint;
  readonly sinceWallMs: WallMs;
  /** How long the slices were behind; undefined while they still are. */
  readonly lastedMs: number | undefined;
}

/** A rollout of fifty deployments leaves a few hundred; these are the last of them. */
export const maxOverridesKept = 2_000;

/** When slices are behind about a whole cluster, one line each would be a flood. */
export const linesPerMinute = 30;

const minuteMs = 60_000;

/** Slices that are behind for less are the ordinary case, and no news. */
export const worthALineMs = 1_000;

interface Standing {
  readonly service: string;
  readonly endpoint: TruthEndpoint;
  readonly sinceMs: MonotonicMs;
  readonly sinceWallMs: WallMs;
}

export interface DecisionLogOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Truth begins to override the slices. */
  readonly onBegin?: (override: Override) => void;
  /** It no longer does. */
  readonly onEnd?: (override: Override) => void;
}

export class DecisionLog {
  readonly #options: DecisionLogOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Overrides that stand now, by service and endpoint. */
  readonly #standing = new Map<string, Map<string, Standing>>();
  /** When the lines of this minute were first counted, and how many there would be. */
  #minuteAt: MonotonicMs | undefined;
  #lines = 0;
  /** Those that are over, oldest first; at most `maxOverridesKept`. */
  #over: Override[] = [];

  constructor(options: DecisionLogOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  readonly note = ({ service, after }: TruthChange): void => {
    const before = this.#standing.get(service) ?? new Map<string, Standing>();
    const now = new Map<string, Standing>();
    for (const endpoint of after?.endpoints ?? []) {
      if (!overridesSlices(endpoint)) continue;
      const key = keyOf(endpoint);
      now.set(key, before.get(key) ?? this.#begin(service, endpoint));
      before.delete(key);
    }
    for (const standing of before.values()) this.#end(standing);
    if (now.size > 0) this.#standing.set(service, now);
    else this.#standing.delete(service);
  };

  /** Oldest first; those that still stand are last. */
  entries(): readonly Override[] {
    const standing = [...this.#standing.values()].flatMap((ones) => [...ones.values()]);
    return [
      ...this.#over,
      ...standing.map(({ service, endpoint, sinceWallMs }) => ({
        service,
        endpoint,
        sinceWallMs,
        lastedMs: undefined,
      })),
    ];
  }

  #begin(service: string, endpoint: TruthEndpoint): Standing {
    const { cluster, address, port, podName, state, reason, rule } = endpoint;
    this.#log.debug("routing of an endpoint differs from its EndpointSlice", {
      service,
      cluster,
      endpoint: `${address}:${port}`,
      pod: podName,
      state,
      rule,
      reason,
    });
    const sinceMs = this.#clock.monotonicMs();
    const sinceWallMs = this.#clock.wallMs();
    this.#options.onBegin?.({ service, endpoint, sinceWallMs, lastedMs: undefined });
    return { service, endpoint, sinceMs, sinceWallMs };
  }

  #end({ service, endpoint, sinceMs, sinceWallMs }: Standing): void {
    const lastedMs = elapsedMs(sinceMs, this.#clock.monotonicMs());
    const override = { service, endpoint, sinceWallMs, lastedMs };
    this.#over.push(override);
    this.#options.onEnd?.(override);
    if (this.#over.length > maxOverridesKept) this.#over = this.#over.slice(-maxOverridesKept);
    if (lastedMs < worthALineMs || !this.#mayWrite()) return;
    const place = {
      service,
      cluster: endpoint.cluster,
      endpoint: `${endpoint.address}:${endpoint.port}`,
    };
    const forMs = Math.round(lastedMs);
    const { reason } = endpoint;
    // The slice was right about its pod.
    if (endpoint.rule === believeTraffic.name) {
      this.#log.info("endpoint was silent", { ...place, silentMs: forMs, reason });
    } else this.#log.info("EndpointSlice was stale", { ...place, behindMs: forMs, reason });
  }

  /** Says how many lines there would have been once the next may be written. */
  #mayWrite(): boolean {
    const now = this.#clock.monotonicMs();
    if (this.#minuteAt === undefined || elapsedMs(this.#minuteAt, now) >= minuteMs) {
      const unwritten = this.#lines - linesPerMinute;
      if (unwritten > 0) {
        this.#log.info("more endpoints were stale in EndpointSlices, see /state", {
          endpoints: unwritten,
        });
      }
      this.#minuteAt = now;
      this.#lines = 0;
    }
    this.#lines += 1;
    return this.#lines <= linesPerMinute;
  }
}

function keyOf(endpoint: TruthEndpoint): string {
  return `${clusterEndpointId(endpoint)} ${endpoint.state}`;
}
