// A journey out of a history, as the lines of `lockstep watch` show it. Its times are wall times by
// the observer's clock; here they stand on one made of them, so that ages and lags come out right.
import type { MonotonicMs } from "../../../environment/clock.ts";
import type { HopState, HopTime, Journey, LagRange } from "../../../timeline/journey.ts";
import {
  type HopRecord,
  type JourneyRecord,
  monotonicAt,
  type ObserverRun,
  type RangeRecord,
} from "../../../timeline/journey-record.ts";

/** Wall time taken for monotonic time: nothing else is known of an observer that is no more. */
export const keptRun = {
  name: "",
  wallMs: 0,
  monotonicMs: 0,
} as ObserverRun;

export function keptJourney(record: JourneyRecord): Journey {
  const { originMs, originNotBeforeMs, podUid, podName, cause, cluster, traffic } = record;
  const { service, address, port, direction, outcome } = record;
  return {
    // Its own name is a text; nothing that shows a journey asks for its number.
    id: 0,
    endpoint: {
      cluster: cluster ?? undefined,
      service,
      address,
      port,
      podUid: podUid ?? undefined,
    },
    podName: podName ?? undefined,
    direction,
    cause: cause ?? undefined,
    origin: {
      at: monotonicAt(originMs, keptRun),
      notBefore: instant(originNotBeforeMs),
      ...(record.originBeforeStart && { beforeStart: true }),
    },
    hops: record.hops.map(keptHop),
    outcome,
    ...(traffic && {
      traffic: {
        requests: traffic.requests,
        failed: traffic.failed,
        lastFailedAt: instant(traffic.lastFailedMs),
      },
    }),
  };
}

function keptHop({ hop, witness, ...rest }: HopRecord): HopTime {
  return { hop, witness, state: keptState(rest) };
}

function keptState({ state, lagMs, lagRangeMs }: Omit<HopRecord, "hop" | "witness">): HopState {
  if (state !== "shown") return { type: state };
  return { type: "shown", lagMs: lagMs ?? 0, ...(lagRangeMs && { range: keptRange(lagRangeMs) }) };
}

function keptRange({ min, max }: RangeRecord): LagRange {
  return { minMs: min, maxMs: max ?? undefined };
}

function instant(wallMs: JourneyRecord["originMs"] | null): MonotonicMs | undefined {
  return wallMs === null ? undefined : monotonicAt(wallMs, keptRun);
}
