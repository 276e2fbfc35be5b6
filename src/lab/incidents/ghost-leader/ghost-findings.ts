// What the incident `ghost-leader` showed: figures, success measures, and what was chosen to fit.
// Pure but for the watchers that it reads.

import type { IncidentFindings, Measure } from "../incident.ts";
import { fixFigures, heldFigures } from "./figures.ts";
import type { Ghost, GhostMeasured } from "./ghost-measured.ts";
import type { GhostSettings } from "./settings.ts";
import type { StatusBoard } from "./status-watch.ts";

export function ghostFindings(
  measured: GhostMeasured,
  settings: GhostSettings,
): Omit<IncidentFindings, "timeline"> {
  const { boards } = measured;
  const series = (["stock", "lockstep"] as const).map((side) => ({
    id: `statuses-right-${side}`,
    text: "Ingresses whose status is right",
    unit: "count" as const,
    side,
    points: boards[side].points,
  }));
  return {
    figures: [...heldFigures(measured, settings), ...fixFigures(measured, settings)],
    measures: measuresOf(measured, settings),
    series,
    fitted: [
      `a lease of ${settings.electionTtlMs / 1_000} s, the default of the ingress controller`,
      `${settings.formerTransitions} earlier changes of the lock's holder, which the record keeps`,
      `${settings.replicas} replicas and ${settings.ingresses} Ingresses a class`,
      "the ghost has an older revision, so its labels match no pod; the report shows the empty " +
        "statuses, but not the reason",
    ],
  };
}

function measuresOf(measured: GhostMeasured, settings: GhostSettings): readonly Measure[] {
  const { ghosts, releasedAtMs, endedAtMs, boards, locks, named } = measured;
  const wrong = (board: StatusBoard) => board.wrongMs(releasedAtMs, endedAtMs);
  const namedMs = ({ identity, goneAtMs }: Ghost): number | undefined => {
    const first = named.find(({ report }) => report.holder === identity);
    return first && first.atMs - goneAtMs;
  };
  const { leaseDurationMs } = settings.lockstepTimes;
  const { identity, goneAtMs } = ghosts.lockstep;
  const leftAtMs = locks.lockstep.leftBy(identity, goneAtMs);
  const deposedMs = leftAtMs === undefined ? undefined : leftAtMs - goneAtMs;
  const lockstepWrongMs = wrong(boards.lockstep);
  return [
    measure("status-wrong", "time the statuses are wrong", {
      stock: wrong(boards.stock),
      lockstep: lockstepWrongMs,
      goal: "at most the time to name and depose a ghost",
      held: lockstepWrongMs <= slowestNaming * leaseDurationMs,
      isHeadline: true,
    }),
    measure("ghost-named", "from a ghost until Lockstep names it on its own lock", {
      stock: undefined,
      lockstep: namedMs(ghosts.lockstep),
      goal: "before two lease durations",
      held: isWithin(namedMs(ghosts.lockstep), slowestNaming * leaseDurationMs),
    }),
    measure("stock-ghost-named", "from stock's ghost until Lockstep names it", {
      stock: undefined,
      lockstep: namedMs(ghosts.stock),
      goal: "before two lease durations",
      held: isWithin(namedMs(ghosts.stock), slowestNaming * settings.electionTtlMs),
    }),
    measure("ghost-deposed", "from a ghost until a pod that exists leads", {
      stock: undefined,
      lockstep: deposedMs,
      goal: settings.deposeGhosts ? "before three lease durations" : undefined,
      held: !settings.deposeGhosts || isWithin(deposedMs, 3 * leaseDurationMs),
    }),
  ];
}

/** See `ghost-check.ts`: a ghost that renews in time is known before so many lease durations. */
const slowestNaming = 2;

function isWithin(ms: number | undefined, limitMs: number): boolean {
  return ms !== undefined && ms <= limitMs;
}

function measure(
  id: string,
  text: string,
  fields: Pick<Measure, "stock" | "lockstep" | "goal" | "held" | "isHeadline">,
): Measure {
  return { id, text, unit: "ms", ...fields };
}
