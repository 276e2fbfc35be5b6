// The parts of the benchmark of peers, one after the other, in a network of its own (peers.ts makes it).
// Reports each part as it begins, and all results at the end.
import { execFileSync } from "node:child_process";
import { type CostPlan, measureCost } from "./peers-cost.ts";
import type { PartName, PeersResults } from "./peers-figures.ts";
import {
  type LagPlan,
  measureLag,
  measureRollouts,
  measureRoutes,
  measureSilence,
  type RolloutPlan,
  type SilentPlan,
} from "./peers-situations.ts";

export interface PeersOptions {
  readonly parts: readonly PartName[];
  readonly quick: boolean;
  readonly folder: string;
}

export type PeersMessage =
  | { readonly kind: "progress"; readonly step: string }
  | { readonly kind: "results"; readonly results: PeersResults };

interface Plan {
  readonly lag: LagPlan;
  readonly rollout: RolloutPlan;
  readonly lateLag: LagPlan;
  readonly lateRollout: RolloutPlan;
  readonly silent: SilentPlan;
  readonly routeChanges: number;
  readonly cost: Omit<CostPlan, "folder">;
}

const lateMs = 30_000;
/** Each deletion is over before the next: two within it would share a write of the slices. */
const lateBetweenMs = [36_000, 44_000] as const;

/** About 13 minutes on an idle machine with two cores; the late ones take half of a minute each time. */
const wholeRun: Plan = {
  lag: { lateMs: 0, deletions: 30, betweenMs: [500, 5_000] },
  rollout: { lateMs: 0, rollouts: 4 },
  lateLag: { lateMs, deletions: 2, betweenMs: lateBetweenMs },
  lateRollout: { lateMs, rollouts: 1 },
  silent: { episodes: 6, silentMs: 15_000 },
  routeChanges: 10,
  cost: { routes: 1_000, changes: 60, perSecond: 2 },
};

const quickRun: Plan = {
  lag: { lateMs: 0, deletions: 8, betweenMs: [500, 5_000] },
  rollout: { lateMs: 0, rollouts: 1 },
  lateLag: { lateMs, deletions: 1, betweenMs: lateBetweenMs },
  lateRollout: { lateMs, rollouts: 1 },
  silent: { episodes: 2, silentMs: 12_000 },
  routeChanges: 3,
  cost: { routes: 1_000, changes: 30, perSecond: 2 },
};

const manyRoutes = 5_000;

const { parts, quick, folder }: PeersOptions = JSON.parse(process.argv[2] ?? "{}");
const plan = quick ? quickRun : wholeRun;
const manyPlan = { ...plan.cost, routes: manyRoutes };

const parentEnded = (): void => process.exit(1);
process.once("disconnect", parentEnded);
letPacketsBeDropped();
const results: PeersResults = {
  lag: await part("lag", "pods leave and join", () => measureLag(plan.lag)),
  rollout: await part("rollout", "rolling restarts", () => measureRollouts(plan.rollout)),
  silent: await part("silent", "pods and nodes fall silent", () => measureSilence(plan.silent)),
  lateLag: await part("late-lag", "pods leave and join, slices 30 s late", () =>
    measureLag(plan.lateLag),
  ),
  lateRollout: await part("late-rollout", "rolling restarts, slices 30 s late", () =>
    measureRollouts(plan.lateRollout),
  ),
  routes: await part("routes", "routes change", () => measureRoutes(plan.routeChanges)),
  cost: await part("cost", "1,000 routes", () => measureCost({ ...plan.cost, folder })),
  manyCost: await part("cost-5000", "5,000 routes", () => measureCost({ ...manyPlan, folder })),
};
process.off("disconnect", parentEnded);
tell({ kind: "results", results });
process.disconnect();

async function part<Result>(
  name: PartName,
  step: string,
  measure: () => Promise<Result>,
): Promise<Result | undefined> {
  if (!parts.includes(name)) return undefined;
  tell({ kind: "progress", step });
  return await measure();
}

/** Usually packets from local addresses pass before any rule. The network is of this process alone. */
function letPacketsBeDropped(): void {
  execFileSync("ip", ["rule", "add", "pref", "100", "lookup", "local"]);
  execFileSync("ip", ["rule", "del", "pref", "0"]);
}

function tell(message: PeersMessage): void {
  process.send?.(message);
}
