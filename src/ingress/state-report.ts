// Everything the ingress knows and has decided, as one JSON document: what each cluster's watches
// are worth, which host leads where, and the truth table with a reason for every endpoint.
import { describeOrigin } from "../decide/routing/route.ts";
import { type Clock, elapsedMs } from "../environment/clock.ts";
import { clusterWatches } from "../sources/cluster-source.ts";
import { askedWatches } from "../sources/ingress-source.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import type { DecisionLog } from "./decision-log.ts";
import type { IngressLoop } from "./ingress-loop.ts";
import type { LeadershipReport } from "./leadership.ts";
import type { LeftOutSource } from "./left-out.ts";
import type { Readiness } from "./readiness.ts";
import { portReport, type UseOf } from "./service-report.ts";
import type { ShadowSummary } from "./shadow-report.ts";

/** More are only counted, in the metrics. */
const maxLeftOut = 1_000;

export interface StateReportOptions {
  readonly clock: Clock;
  readonly loop: IngressLoop;
  readonly overrides: DecisionLog;
  /** As /readyz says it. */
  readonly readiness: () => Readiness;
  /** The state of the proxy; undefined when none serves. */
  readonly proxy: () => object | undefined;
  /** How much of the proxy's memory is used, and what does not fit. */
  readonly memory: Pick<LeftOutSource, "leftOut" | "memoryUse">;
  /** The leader, the start of its term, and locks that ghosts hold. */
  readonly leadership: () => LeadershipReport;
  /** The use of an endpoint by requests, by `endpointId`. */
  readonly useOf: UseOf;
  /** The counts of a shadow; undefined when this is none. */
  readonly shadow: () => ShadowSummary | undefined;
}

export function stateReport(options: StateReportOptions): object {
  const { clock, loop, overrides, readiness, proxy, leadership, useOf, shadow, memory } = options;
  const { routes, truths } = loop.decisions;
  const watch = (status: WatchStatus) => watchReport(clock, status);
  return {
    ready: readiness().problem === undefined,
    proxy: proxy() ?? null,
    leadership: leadership(),
    shadow: shadow() ?? null,
    clusters: loop.sources.map((source) => ({
      cluster: source.cluster,
      watches: Object.fromEntries(clusterWatches.map((name) => [name, watch(source.watch(name))])),
      ...(source.isUnreachable ? { unreachable: true } : {}),
      ...(source.lost.length === 0 ? {} : { lost: source.lost }),
    })),
    access: {
      cluster: loop.asked.cluster,
      watches: Object.fromEntries(
        askedWatches.map((name) => [name, watch(loop.asked.watch(name))]),
      ),
    },
    hosts: Object.fromEntries(routes.hosts),
    services: Object.fromEntries(
      [...truths].map(([key, { version, truth }]) => {
        const { endpoints } = portReport(key, loop.decisions, useOf);
        const { problems, probeRequests: doubts } = truth;
        return [key, { version, endpoints, problems, doubts }];
      }),
    ),
    problems: routes.problems.map(({ origin, message }) => ({
      object: describeOrigin(origin),
      message,
    })),
    memory: memory.memoryUse(),
    leftOut: memory
      .leftOut()
      .slice(0, maxLeftOut)
      .map(({ namespace, kind, name }) => ({ namespace, kind, name })),
    overrides: overrides.entries(),
  };
}

function watchReport(clock: Clock, { state, detail, currentAtMs }: WatchStatus): object {
  return {
    state,
    ...(detail === "" ? {} : { detail }),
    provedCurrentMsAgo:
      currentAtMs === undefined ? null : Math.round(elapsedMs(currentAtMs, clock.monotonicMs())),
  };
}
