// Changes and clusters as the tests of the view need them.

import { WatchTally } from "../../src/cli/commands/watch/tally.ts";
import type { Picture } from "../../src/cli/commands/watch/view.ts";
import { paintFor } from "../../src/cli/terminal/paint.ts";
import type { MonotonicMs, WallMs } from "../../src/environment/clock.ts";
import type { ClusterState, ClusterStatus } from "../../src/observe/cluster-status.ts";
import type { HopState, HopTime, Journey } from "../../src/timeline/journey.ts";
import type { ObserverRun } from "../../src/timeline/journey-record.ts";
import { noObservations } from "../../src/timeline/timeline.ts";
import type { Hop } from "../../src/timeline/witness.ts";

export const run: ObserverRun = {
  name: "run",
  wallMs: Date.UTC(2026, 10, 15, 20, 31, 0) as WallMs,
  monotonicMs: 0 as MonotonicMs,
};

export const uncoloured = paintFor({ colours: false });

/** So long after the start of the run. */
export function at(ms: number): MonotonicMs {
  return ms as MonotonicMs;
}

export interface ChangeFields
  extends Partial<Pick<Journey, "id" | "direction" | "cause" | "outcome" | "podName">> {
  readonly address?: string;
  readonly service?: string;
  readonly cluster?: string;
  readonly originMs?: number;
  readonly notBeforeMs?: number;
  /** A lag in milliseconds, or a state; a list for several witnesses, `r1`, `r2`, …. */
  readonly hops?: Partial<Record<Hop, HopField | readonly HopField[]>>;
}

type HopField = number | Exclude<HopState["type"], "shown">;

export function change(fields: ChangeFields = {}): Journey {
  const { cluster = "alpha", service = "shop/web", address = "10.0.0.7" } = fields;
  const { originMs = 7_000, notBeforeMs, hops = { pod: 0, published: 340 } } = fields;
  return {
    id: fields.id ?? 1,
    endpoint: { cluster, service, address, port: 8080, podUid: "uid" },
    podName: fields.podName ?? "web-1",
    direction: fields.direction ?? "leave",
    cause: "cause" in fields ? fields.cause : "terminating",
    origin: {
      at: at(originMs),
      notBefore: notBeforeMs === undefined ? undefined : at(notBeforeMs),
    },
    hops: Object.entries(hops).flatMap(([hop, said]) => witnesses(hop as Hop, said, cluster)),
    outcome: fields.outcome ?? "complete",
  };
}

function witnesses(hop: Hop, said: HopField | readonly HopField[], cluster: string): HopTime[] {
  const all: readonly HopField[] = typeof said === "object" ? said : [said];
  return all.map((one, index) => ({
    hop,
    witness: hop === "routed" ? `r${index + 1}` : cluster,
    state: typeof one === "number" ? { type: "shown", lagMs: one } : { type: one },
  }));
}

export function clusterOf(
  cluster: string,
  state: ClusterState = { type: "watching" },
): ClusterStatus {
  return { cluster, state, watches: [], lost: [], doubts: [] };
}

export function picture(fields: Partial<Picture> = {}): Picture {
  return {
    now: at(60_000),
    startedAt: at(0),
    run,
    tally: new WatchTally({ slowMs: 2_000 }),
    oldest: [],
    counts: noObservations,
    clusters: [clusterOf("alpha")],
    unknown: new Map(),
    asked: [],
    notes: [],
    ...fields,
  };
}

/** Everything that happens in a change, as the observer tells it. */
export function tell(tally: WatchTally, journey: Journey): void {
  for (const [index, hop] of journey.hops.entries()) {
    if (hop.state.type !== "shown") continue;
    const hops = journey.hops.map((one, other) =>
      other > index && one.state.type === "shown"
        ? { ...one, state: { type: "pending" } as const }
        : one,
    );
    tally.onEvent({ type: "shown", journey: { ...journey, hops, outcome: "pending" }, hop });
  }
  if (journey.outcome !== "pending") tally.onEvent({ type: "over", journey });
}
